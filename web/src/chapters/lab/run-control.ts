// Begins a training, pauses it, takes it on step by step and gives it up; shows how far it is.
import { button } from '../../ui/controls';
import { h } from '../../ui/dom';
import type { Texts } from './i18n/en';
import type { TrainingSession } from './training-session';

export interface RunControl {
  readonly element: HTMLElement;
  /** Shows the session as it is. */
  show(): void;
}

/** @param input what is to be trained now. */
export function runControl<I, L>(
  texts: Texts['run'],
  print: (value: number) => string,
  session: TrainingSession<I, L>,
  input: () => I,
): RunControl {
  const toggle = button('', () => (session.isRunning ? session.pause() : session.start(input())));
  const step = button(texts.step(print(session.every)), () => session.step(input()), 'button quiet');
  const over = button(texts.over, () => session.reset(), 'button quiet');
  const bar = h('progress', { max: session.total - 1, value: 0, 'aria-label': texts.progress });
  const said = h('span', { role: 'status' });
  return {
    element: h('div', { class: 'run' }, toggle, step, over, bar, said),
    show() {
      const { isRunning, isDone, looks, failure } = session;
      const begun = looks.length > 0;
      toggle.textContent = isRunning ? texts.pause : isDone ? texts.again : begun ? texts.goOn : texts.start;
      bar.value = Math.max(0, looks.length - 1);
      said.textContent = failure ? texts.failed(failure.message) : isDone ? texts.done : '';
    },
  };
}
