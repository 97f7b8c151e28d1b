// Linear attention with RoPE in different places: how well each model learns the language of skips.
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { linearEvery, linearSteps } from '../../recorded/course';
import recorded from '../../recorded/lab.json';
import { whole } from '../../ui/controls';
import type { Texts } from './i18n/en';
import type { LinearInput } from './lab';
import { liveRun } from './live-run';
import { shown } from './programs.js?shown';
import { paceOf, recordedPoints, seeds } from './settings';
import { TrainingSession } from './training-session';

const forms = ['none', 'sinusoidal', 'numerator', 'both', 'cosine', 'softmax'] as const;
const steps = whole(0, linearSteps, linearEvery);

const session = new TrainingSession<LinearInput, readonly number[]>(
  linearSteps,
  (lab, input) => lab.linear(input),
  linearEvery,
);

const codeOf = ({ seed }: LinearInput, trained: number): string =>
  program(
    shown,
    `const forms = ['${forms.join("', '")}'];
const curves = forms.map((form) => train(${call('linearModel', 'FORM', seed).replace("'FORM'", 'form')}, ${trained}, ${linearEvery}));
// By step, then by form.
const result = curves[0].flatMap((_, i) => curves.map((losses) => losses[i]));`,
    "import { load, skipLanguageTask } from 'ropewalk/training';",
    'load()',
  );

export function labLinear(chapter: ChapterState<Texts>): Figure {
  const texts = chapter.texts.linear;
  const { plain, fixed } = chapter.numbers;
  const fields = { seed: slider(chapter.texts.seed, seeds, 1, plain), pace: paceOf(chapter) };
  const options = { name: 'linear', caption: texts.caption, wide: true };
  return figure(chapter, options, fields, (section, { seed, pace }) => {
    const inputOf = (): LinearInput => ({ forms, seed: section.values.seed });
    const live = liveRun(chapter, session, steps, inputOf);
    return {
      controls: [together(seed, pace), live.control],
      picture: [live.panels.element],
      ...live.hooks,
      show({ pace }) {
        live.follow(pace);
        const { looks } = session;
        const last = Math.max(0, looks.length - 1);
        const told = live.at === undefined ? last : Math.min(live.at / linearEvery, last);
        const losses = looks[told];
        live.panels.update({
          label: texts.label,
          x: { title: chapter.texts.steps, min: 0, max: linearSteps, ticks: [], print: plain },
          y: { title: texts.y, min: 1, max: 3, ticks: [1, 2, 3], print: plain },
          names: { now: chapter.texts.now, before: chapter.texts.before },
          at: live.at,
          panels: forms.map((form, i) => ({
            name: texts.forms[form],
            reading: losses === undefined ? '' : fixed(losses[i] ?? 0, 2),
            now: looks.map((look, n) => [n * linearEvery, look[i] ?? 0]),
            before: recordedPoints(recorded.linear[form], linearSteps),
          })),
        });
        return {
          summary:
            losses === undefined
              ? texts.notYet
              : texts.summary(
                  plain(told * linearEvery),
                  forms.map((form, i) => texts.one(texts.forms[form], fixed(losses[i] ?? 0, 2))),
                ),
          isEmpty: losses === undefined,
          code: codeOf(inputOf(), losses === undefined ? linearSteps : last * linearEvery),
          table: () => [
            {
              caption: texts.label,
              corner: chapter.texts.steps,
              columns: forms.map((form) => texts.forms[form]),
              rows: looks.map((look, n) => ({ name: plain(n * linearEvery), values: look })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
    };
  });
}
