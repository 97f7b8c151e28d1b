// Two heads that learn to work together: one looks at the token before, the other finds what followed the same token.
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { oneName, slider } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { inductionSteps, lookEvery, repeats } from '../../recorded/course';
import recorded from '../../recorded/lab.json';
import { whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import type { CurvePanelsData } from '../../views/curve-panels';
import { type FieldGroupData, fieldGroup } from '../../views/field-group';
import type { Texts } from './i18n/en';
import type { InductionInput, InductionLook } from './lab';
import { liveRun } from './live-run';
import { shown } from './programs.js?shown';
import { finer, paceOf, recordedPoints, seeds } from './settings';
import { TrainingSession } from './training-session';

const encodings = ['none', 't5', 'shaw', 'learned', 'rope'] as const;
const depths = ['1', '2'] as const;
const measures = ['share', 'previous', 'followed'] as const;
const heads = 2;
const steps = whole(0, inductionSteps, lookEvery);
const { tokens } = repeats;

const session = new TrainingSession<InductionInput, InductionLook>(inductionSteps, (lab, input) =>
  lab.induction(input),
);

// Each of 32 tokens as a letter; before training there is none.
const letterOf = (id?: number): string =>
  id === undefined ? '·' : String.fromCharCode(id < 26 ? 65 + id : 97 + id - 26);

// The maps of all heads; hidden keys have no number. Before anything is trained they are empty.
function mapsOf(
  texts: Texts['induction'],
  look: InductionLook | undefined,
  layers: number,
  fixed: (v: number) => string,
) {
  const name = (position: number): string => letterOf(look?.ids[position]);
  const fields = whole(0, layers * heads - 1).map((map) => ({
    title: texts.head(String(1 + Math.floor(map / heads)), String(1 + (map % heads))),
    label: texts.head(String(1 + Math.floor(map / heads)), String(1 + (map % heads))),
    legend: map === layers * heads - 1 ? texts.legend : '',
    rows: tokens,
    columns: tokens,
    values: Float32Array.from({ length: tokens * tokens }, (_, i) =>
      i % tokens > Math.floor(i / tokens) ? Number.NaN : (look?.maps[map * tokens * tokens + i] ?? 0),
    ),
    scale: 'sequential' as const,
    limit: 1,
    rowTitle: texts.query,
    columnTitle: texts.key,
    rowName: name,
    columnName: name,
    print: fixed,
  }));
  return {
    fields,
    print: String,
    tell({ row, column }, field) {
      if (column > row) return texts.later;
      const weight = fixed(fields[field]?.values[row * tokens + column] ?? 0);
      return texts.cell(name(row), String(row), name(column), String(column), weight);
    },
  } satisfies FieldGroupData;
}

const codeOf = ({ encoding, layers, seed }: InductionInput, trained: number): string =>
  program(
    shown,
    `const looks = train(${call('inductionModel', encoding, layers, seed)}, ${trained});
const result = looks.flatMap(({ share, previous, followed }) => [share, previous, followed]);`,
    "import { inductionTask, load } from 'ropewalk/training';",
    'load()',
  );

export function labInduction(chapter: ChapterState<Texts>): Figure {
  const texts = chapter.texts.induction;
  const names = chapter.texts.encodings;
  const { plain, fixed } = chapter.numbers;
  const fields = {
    encoding: oneName(texts.encoding, encodings, 'rope', (value) => names[value]),
    layers: oneName(texts.layers, depths, '2', (value) => value),
    seed: slider(chapter.texts.seed, seeds, 2, plain),
    pace: paceOf(chapter),
  };
  const options = { name: 'induction', caption: texts.caption, wide: true };
  return figure(chapter, options, fields, (section, { encoding, layers, seed, pace }) => {
    const inputOf = (): InductionInput => {
      const { encoding, layers, seed } = section.values;
      return { encoding, layers: Number(layers), seed };
    };
    const live = liveRun(chapter, session, steps, inputOf);
    const maps = fieldGroup(chapter.frame.figure.cells);
    maps.element.classList.add('head-maps');
    // What is read out: the step that is pointed at, or the last one.
    const seen = (): number => {
      const trained = Math.max(0, session.looks.length - 1);
      return live.at === undefined ? trained : Math.min(live.at / lookEvery, trained);
    };

    function dataOf(): CurvePanelsData {
      const { looks } = session;
      const { encoding, layers } = section.values;
      const look = looks[seen()];
      return {
        label: texts.label,
        x: { title: chapter.texts.steps, min: 0, max: inductionSteps, ticks: [], print: plain },
        y: { title: texts.y, min: 0, max: 1, ticks: [0, 0.5, 1], print: plain },
        names: { now: chapter.texts.now, before: chapter.texts.before },
        at: live.at,
        panels: measures.map((measure) => ({
          name: texts.measures[measure],
          reading: look === undefined ? '' : fixed(look[measure], 2),
          now: looks.map((each, n) => [n * lookEvery, each[measure]]),
          before: recordedPoints(recorded.induction[layers][encoding][measure], inductionSteps),
        })),
      };
    }

    return {
      controls: [
        h('div', { class: 'row' }, encoding.element, layers.element),
        finer(chapter, seed, pace),
        live.control,
      ],
      picture: [live.panels.element, maps.element],
      ...live.hooks,
      show({ layers, pace }) {
        live.follow(pace);
        const { looks } = session;
        const look = looks[seen()];
        live.panels.update(dataOf());
        maps.update(mapsOf(texts, look, Number(layers), (value) => fixed(value, 2)));
        const trained = Math.max(0, looks.length - 1) * lookEvery;
        const [share, previous, followed] = measures.map((measure) => fixed(look?.[measure] ?? 0, 2));
        return {
          summary:
            look === undefined
              ? texts.notYet
              : texts.summary(plain(seen() * lookEvery), share ?? '', previous ?? '', followed ?? '', layers),
          isEmpty: look === undefined,
          code: codeOf(inputOf(), look === undefined ? inductionSteps : trained),
          table: () => [
            {
              caption: texts.label,
              corner: chapter.texts.steps,
              columns: measures.map((measure) => texts.measures[measure]),
              rows: looks.map((each, n) => ({
                name: plain(n * lookEvery),
                values: measures.map((measure) => each[measure]),
              })),
              print: (value) => fixed(value, 3),
            },
          ],
        };
      },
      end() {
        live.hooks.end();
        maps.destroy();
      },
    };
  });
}
