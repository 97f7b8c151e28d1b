// Eight models that differ in their position encoding alone, trained side by side: which of them can tell the token before?
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { oneName, slider } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { lookEvery, orderSteps } from '../../recorded/course';
import recorded from '../../recorded/lab.json';
import { whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import type { CurvePanelsData } from '../../views/curve-panels';
import type { Texts } from './i18n/en';
import type { OrderInput, OrderLook } from './lab';
import { liveRun } from './live-run';
import { shown } from './programs.js?shown';
import { finer, paceOf, recordedPoints, seeds } from './settings';
import { TrainingSession } from './training-session';

const encodings = ['none', 'alibi', 't5', 'shaw', 'learned', 'sinusoidal', 'rope', 'pope'] as const;
const tasks = ['previous', 'reverse'] as const;
const measures = ['share', 'loss'] as const;
const steps = whole(0, orderSteps, lookEvery);

type Measure = (typeof measures)[number];

const session = new TrainingSession<OrderInput, OrderLook>(orderSteps, (lab, input) => lab.order(input));

const codeOf = ({ task, seed }: OrderInput, trained: number, measure: Measure): string =>
  program(
    shown,
    `const curves = ${JSON.stringify(encodings).replaceAll('"', "'").replaceAll(',', ', ')}
  .map((encoding) => train(${call('orderModel', 'ENCODING', task, seed).replace("'ENCODING'", 'encoding')}, ${trained}));
// By step, then by encoding.
const result = curves[0].flatMap((_, i) => curves.map((looks) => looks[i].${measure}));`,
    "import { copyTask, load, reverseTask } from 'ropewalk/training';",
    'load()',
  );

export function labOrder(chapter: ChapterState<Texts>): Figure {
  const texts = chapter.texts.order;
  const names = chapter.texts.encodings;
  const { plain, fixed } = chapter.numbers;
  const fields = {
    task: oneName(texts.task, tasks, 'previous', (value) => texts.tasks[value]),
    measure: oneName(texts.measure, measures, 'share', (value) => texts.measures[value]),
    seed: slider(chapter.texts.seed, seeds, 1, plain),
    pace: paceOf(chapter),
  };
  const options = { name: 'order', caption: texts.caption, wide: true };
  return figure(chapter, options, fields, (section, { task, measure, seed, pace }) => {
    const inputOf = (): OrderInput => ({ encodings, task: section.values.task, seed: section.values.seed });
    const live = liveRun(chapter, session, steps, inputOf);

    function dataOf(measure: Measure, task: OrderInput['task']): CurvePanelsData {
      const { looks } = session;
      const digits = measure === 'share' ? 0 : 2;
      const print = (value: number | undefined): string =>
        value === undefined ? '' : measure === 'share' ? `${fixed(100 * value, digits)}%` : fixed(value, digits);
      return {
        label: texts.label,
        x: { title: chapter.texts.steps, min: 0, max: orderSteps, ticks: [], print: plain },
        y:
          measure === 'share'
            ? { title: texts.y[measure], min: 0, max: 1, ticks: [0, 0.5, 1], print: plain }
            : { title: texts.y[measure], min: 0, max: 3, ticks: [0, 1, 2, 3], print: plain },
        names: { now: chapter.texts.now, before: chapter.texts.before },
        at: live.at,
        panels: encodings.map((encoding, i) => ({
          name: names[encoding],
          reading: print((live.at === undefined ? looks.at(-1) : looks[live.at / lookEvery])?.[measure][i]),
          now: looks.map((look, n) => [n * lookEvery, look[measure][i] ?? 0]),
          before: recordedPoints(recorded.order[task][encoding][measure], orderSteps),
        })),
      };
    }

    return {
      controls: [h('div', { class: 'row' }, task.element, measure.element), finer(chapter, seed, pace), live.control],
      picture: [live.panels.element],
      ...live.hooks,
      show({ task, measure, pace }) {
        live.follow(pace);
        const { looks } = session;
        live.panels.update(dataOf(measure, task));
        const trained = Math.max(0, looks.length - 1) * lookEvery;
        const told = live.at !== undefined && live.at <= trained ? live.at : trained;
        const shares = looks[told / lookEvery]?.share ?? [];
        const ranked = encodings
          .map((encoding, i) => [names[encoding], shares[i] ?? 0] as const)
          .toSorted((a, b) => b[1] - a[1]);
        const percent = (share: number): string => fixed(100 * share, 0);
        return {
          summary:
            looks.length === 0
              ? texts.notYet
              : texts.summary(
                  plain(told),
                  ranked.map(([name, share]) => texts.one(name, percent(share))),
                ),
          isEmpty: looks.length === 0,
          code: codeOf(inputOf(), looks.length === 0 ? orderSteps : trained, measure),
          table: () => [
            {
              caption: texts.label,
              corner: chapter.texts.steps,
              columns: encodings.map((encoding) => names[encoding]),
              rows: looks.map((look, n) => ({ name: plain(n * lookEvery), values: look[measure] })),
              print: (value) => fixed(value, measure === 'share' ? 3 : 4),
            },
          ],
        };
      },
    };
  });
}
