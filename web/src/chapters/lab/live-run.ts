// A training that a figure shows: what begins it, pauses it, takes it on step by step and gives it up, how far it is, and
// its curves.
import type { ChapterState } from '../../figure/chapter';
import { button } from '../../ui/controls';
import { h } from '../../ui/dom';
import { type CurvePanels, curvePanels } from '../../views/curve-panels';
import type { Texts } from './i18n/en';
import { intervalOf } from './settings';
import type { TrainingSession } from './training-session';

interface RunControl {
  readonly element: HTMLElement;
  /** Shows the session as it is. */
  show(): void;
}

function runControl<I, L>(
  texts: Texts['run'],
  print: (value: number) => string,
  session: TrainingSession<I, L>,
  input: () => I,
): RunControl {
  const toggle = button('', () => (session.isRunning ? session.pause() : session.start(input())));
  const step = button(texts.step(print(session.every)), () => session.step(input()), 'button quiet');
  const over = button(texts.over, () => session.reset(), 'button quiet');
  const bar = h('progress', { max: session.total - 1, 'aria-label': texts.progress });
  const said = h('span', { role: 'status' });
  return {
    element: h('div', { class: 'run' }, toggle, step, over, bar, said),
    show() {
      const { isRunning, isDone, looks, failure } = session;
      const { length } = looks;
      // What failed begins anew.
      const goesOn = length > 0 && !failure;
      toggle.textContent = isRunning ? texts.pause : isDone ? texts.again : goesOn ? texts.goOn : texts.start;
      bar.value = length && length - 1;
      said.textContent = failure ? texts.failed(failure.message) : isDone ? texts.done : '';
    },
  };
}

export interface LiveRun {
  readonly control: HTMLElement;
  readonly panels: CurvePanels;
  /** The place that is pointed at. */
  readonly at: number | undefined;
  /** Goes on with what is to be trained now, at a pace, and shows how far it is. */
  follow(pace: number): void;
  /** For the figure: what it is shown anew by, and its ends. */
  readonly hooks: { again(show: () => void): void; reset(): void; end(): void };
}

/**
 * @param places where its curves can be pointed at.
 * @param input what is to be trained now.
 */
export function liveRun<I, L>(
  { texts, numbers }: ChapterState<Texts>,
  session: TrainingSession<I, L>,
  places: readonly number[],
  input: () => I,
): LiveRun {
  let at: number | undefined;
  let showAgain: () => void = () => undefined;
  const control = runControl(texts.run, numbers.plain, session, input);
  const panels = curvePanels(places, (place) => {
    at = place;
    showAgain();
  });
  return {
    control: control.element,
    panels,
    get at() {
      return at;
    },
    follow(pace) {
      session.interval = intervalOf(pace, session.every);
      session.follow(input());
      control.show();
    },
    hooks: {
      again(show) {
        showAgain = show;
      },
      reset: () => session.reset(),
      end: session.subscribe(() => showAgain()),
    },
  };
}
