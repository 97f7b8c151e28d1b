// What a model makes of positions that it was not trained at, by encoding; and RoPE read with scaled positions.
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { oneName, slider, toggle } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { lengthEvery, lengthSteps, lengths } from '../../recorded/course';
import recorded from '../../recorded/lab.json';
import { whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import type { CurvePanel, CurvePanelsData } from '../../views/curve-panels';
import type { Texts } from './i18n/en';
import type { LengthInput, LengthLook } from './lab';
import { liveRun } from './live-run';
import { shown } from './programs.js?shown';
import { finer, paceOf, seeds } from './settings';
import { TrainingSession } from './training-session';

const encodings = ['none', 'alibi', 't5', 'shaw', 'learned', 'sinusoidal', 'rope'] as const;
const scalings = ['linear', 'ntk', 'yarn'] as const;
const bases = [10, 100, 1000, 10000, 100000, 1000000];
const usualBase = 10000;
const { bin, tested, trained } = lengths;
// The middle of each bin.
const places = whole(0, tested / bin - 1).map((i) => i * bin + bin / 2);

type Encoding = (typeof encodings)[number];
type Reading = keyof LengthLook;

const session = new TrainingSession<LengthInput, LengthLook>(
  lengthSteps,
  (lab, input) => lab.length(input),
  lengthEvery,
);

const mean = (losses: readonly number[]): number => losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
const curveOf = (losses: readonly number[]) => losses.map((loss, i) => [places[i] ?? 0, loss] as const);
const recordedOf = (encoding: Encoding, reading: Reading): readonly number[] => {
  const all: Partial<Record<Reading, string>> = recorded.length[encoding];
  return (all[reading] ?? '').split(' ').map((value) => Number(value) / 100);
};

const codeOf = ({ encoding, base, seed }: LengthInput, steps: number, readings: readonly Reading[]): string =>
  program(
    shown,
    `const look = train(${call('lengthModel', encoding, base, seed)}, ${steps}, lengthEvery).at(-1);
// By position, then as trained and with each scaling that is shown.
const result = look.asTrained.flatMap((_, i) => [${readings.map((name) => `look.${name}[i]`).join(', ')}]);`,
    "import { load, skipLanguageTask } from 'ropewalk/training';",
    'load()',
  );

export function labLength(chapter: ChapterState<Texts>): Figure {
  const texts = chapter.texts.length;
  const names = chapter.texts.encodings;
  const { plain, fixed } = chapter.numbers;
  const fields = {
    encoding: oneName(texts.encoding, encodings, 'rope', (value) => names[value]),
    base: slider(texts.base, bases, usualBase, plain),
    linear: toggle(texts.readings.linear, true),
    ntk: toggle(texts.readings.ntk, true),
    yarn: toggle(texts.readings.yarn, true),
    seed: slider(chapter.texts.seed, seeds, 1, plain),
    pace: paceOf(chapter),
  };
  const options = { name: 'length', caption: texts.caption, wide: true };
  return figure(chapter, options, fields, (section, controls) => {
    const { encoding, base, linear, ntk, yarn, seed, pace } = controls;
    const inputOf = (): LengthInput => {
      const { encoding, base, seed } = section.values;
      return { encoding, base: encoding === 'rope' ? base : usualBase, seed };
    };
    const live = liveRun(chapter, session, places, inputOf);
    const switches = h('div', { class: 'row' }, linear.element, ntk.element, yarn.element);

    // What is read of the model that is trained: as it is, and with the scalings that are switched on.
    function readings(): readonly Reading[] {
      const { values } = section;
      return ['asTrained', ...scalings.filter((name) => values.encoding === 'rope' && values[name])];
    }

    function panelOf(encoding: Encoding, reading: Reading, name: string): CurvePanel {
      const isTrained = encoding === section.values.encoding;
      const now = (isTrained ? session.looks.at(-1)?.[reading] : undefined) ?? [];
      const isRecorded = encoding !== 'rope' || section.values.base === usualBase || !isTrained;
      const before = isRecorded ? recordedOf(encoding, reading) : [];
      const told = now.length > 0 ? now : before;
      const some = told.filter((_, i) => (live.at === undefined ? i >= trained / bin : places[i] === live.at));
      return {
        name,
        reading: some.length === 0 ? '' : fixed(mean(some), 2),
        now: curveOf(now),
        before: curveOf(before),
      };
    }

    const dataOf = (): CurvePanelsData => ({
      label: texts.label,
      x: { title: texts.position, min: 0, max: tested, ticks: [], print: plain },
      y: { title: texts.y, min: 0, max: 5, ticks: [0, 1, 2, 3, 4, 5], print: plain },
      names: { now: chapter.texts.now, before: chapter.texts.before },
      at: live.at,
      limit: trained,
      panels: [
        ...encodings.map((encoding) => panelOf(encoding, 'asTrained', names[encoding])),
        ...readings()
          .filter((reading) => reading !== 'asTrained')
          .map((reading) => panelOf('rope', reading, texts.scaled(texts.readings[reading]))),
      ],
    });

    return {
      controls: [encoding.element, base.element, finer(chapter, { element: switches }, seed, pace), live.control],
      picture: [live.panels.element],
      ...live.hooks,
      show(values) {
        live.follow(values.pace);
        // Other encodings have neither.
        switches.hidden = values.encoding !== 'rope';
        base.element.hidden = values.encoding !== 'rope';
        live.panels.update(dataOf());
        const { looks } = session;
        const look = looks.at(-1);
        const steps = Math.max(0, looks.length - 1) * lengthEvery;
        const shownReadings = readings();
        const meanOf = (reading: Reading, from: number, to: number): string =>
          fixed(mean((look?.[reading] ?? []).slice(from / bin, to / bin)), 2);
        return {
          summary:
            look === undefined
              ? texts.notYet
              : texts.summary(
                  names[values.encoding],
                  plain(steps),
                  meanOf('asTrained', 0, trained),
                  meanOf('asTrained', trained, tested),
                  shownReadings
                    .filter((reading) => reading !== 'asTrained')
                    .map((reading) => texts.one(texts.readings[reading], meanOf(reading, trained, tested))),
                ),
          isEmpty: look === undefined,
          code: codeOf(inputOf(), look === undefined ? lengthSteps : steps, shownReadings),
          table: () => [
            {
              caption: texts.label,
              corner: texts.position,
              columns: shownReadings.map((reading) => texts.readings[reading]),
              rows: (look ? places : []).map((place, i) => ({
                name: texts.bin(plain(place - bin / 2), plain(place + bin / 2 - 1)),
                values: shownReadings.map((reading) => look?.[reading]?.[i]),
              })),
              print: (value) => fixed(value, 3),
            },
          ],
        };
      },
    };
  });
}
