// RoPE with each scaling, before a short training at the longer text and after it.
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program } from '../../programs/program';
import recorded from '../../recorded/further.json';
import { tuning } from '../../recorded/further-course';
import { whole } from '../../ui/controls';
import { shown } from './further-programs.js?shown';
import type { FurtherState, Shared } from './further-state';
import type { TuningInput, TuningLook } from './lab';
import type { TrainingSession } from './training-session';

const readings = ['asTrained', 'linear', 'ntk', 'yarn'] as const;
const total = tuning.before + tuning.steps;
const steps = whole(0, total, tuning.every);
// The short training is drawn as wide as the long one before it.
const placeOf = (step: number): number =>
  step <= tuning.before ? step / tuning.before : 1 + (step - tuning.before) / tuning.steps;
const places = steps.map(placeOf);

// It outlives its figure, which is made anew for each language.
let session: TrainingSession<TuningInput, TuningLook> | undefined;

export const pauseTuning = (): void => session?.pause();

const codeOf = ({ seed }: TuningInput, trained: number): string =>
  program(
    shown,
    `const looks = train(${call('tuningModel', seed)}, ${trained}, ${tuning.every});
// By step, then by scaling.
const result = looks.flatMap((look) => Object.values(look));`,
    "import { load, skipLanguageTask } from 'ropewalk/training';",
    'load()',
  );

export function labTuning(chapter: FurtherState, { liveRun, paceOf, seeds, TrainingSession }: Shared): Figure {
  const texts = chapter.texts.tuning;
  const names = chapter.texts.length.readings;
  const { plain, fixed } = chapter.numbers;
  session ??= new TrainingSession(total, (lab, input) => lab.tuning(input), tuning.every);
  const own = session;
  const fields = { seed: slider(chapter.texts.seed, seeds, 1, plain), pace: paceOf(chapter) };
  const options = { name: 'tuning', caption: texts.caption, wide: true };
  return figure(chapter, options, fields, (section, { seed, pace }) => {
    const inputOf = (): TuningInput => ({ seed: section.values.seed });
    const live = liveRun(chapter, own, places, inputOf);
    return {
      controls: [together(seed, pace), live.control],
      picture: [live.panels.element],
      ...live.hooks,
      show({ pace }) {
        live.follow(pace);
        const { looks } = own;
        const last = Math.max(0, looks.length - 1);
        const told = live.at === undefined ? last : Math.min(places.indexOf(live.at), last);
        const look = looks[told];
        const step = steps[told] ?? 0;
        live.panels.update({
          label: texts.label,
          x: {
            title: chapter.texts.steps,
            min: 0,
            max: 2,
            ticks: [],
            print: (place) => (place === 0 ? '0' : texts.end(plain(tuning.before), plain(tuning.steps))),
          },
          y: { title: texts.y, min: 0, max: 5, ticks: whole(0, 5), print: plain },
          names: { now: chapter.texts.now, before: chapter.texts.before },
          at: live.at,
          limit: placeOf(tuning.before),
          panels: readings.map((reading) => ({
            name: names[reading],
            reading: look === undefined ? '' : fixed(look[reading], 2),
            now: looks.map((each, n) => [places[n] ?? 0, each[reading]]),
            before: recorded.tuning[reading].split(' ').map((value, n) => [places[n] ?? 0, Number(value) / 100]),
          })),
        });
        return {
          summary:
            look === undefined
              ? texts.notYet
              : texts.summary(
                  plain(Math.min(step, tuning.before)),
                  plain(Math.max(0, step - tuning.before)),
                  readings.map((reading) => texts.one(names[reading], fixed(look[reading], 2))),
                ),
          isEmpty: look === undefined,
          code: codeOf(inputOf(), look === undefined ? total : (steps[last] ?? 0)),
          table: () => [
            {
              caption: texts.label,
              corner: chapter.texts.steps,
              columns: readings.map((reading) => names[reading]),
              rows: looks.map((each, n) => ({
                name: plain(steps[n] ?? 0),
                values: readings.map((reading) => each[reading]),
              })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
    };
  });
}
