// How far some work is that began by itself, and a way to end it.
import { button } from '../ui/controls';
import { h } from '../ui/dom';

export interface WorkBar {
  readonly element: HTMLElement;
  /** The share that is done; undefined: there is no work. */
  show(share: number | undefined): void;
}

export interface WorkBarTexts {
  readonly cancel: string;
  readonly progress: (percent: string) => string;
}

/** @param label what the work is. */
export function workBar(
  texts: WorkBarTexts,
  label: string,
  print: (value: number) => string,
  cancelled: () => void,
): WorkBar {
  const bar = h('progress', { max: 1, value: 0, 'aria-label': label });
  const said = h('span', { role: 'status' });
  const element = h('div', { class: 'work' }, button(texts.cancel, cancelled), bar, said);
  element.hidden = true;
  let told = 0;
  return {
    element,
    show(share) {
      const hadFocus = share === undefined && element.contains(document.activeElement);
      element.hidden = share === undefined;
      // Who ended it by keyboard gets the focus on the button that may begin it again.
      if (hadFocus) element.parentElement?.querySelector<HTMLElement>('button, input')?.focus();
      bar.value = share ?? 0;
      // Each quarter is told; more would talk over the reader.
      const quarter = Math.floor((share ?? 0) * 4) / 4;
      if (quarter === 0) said.textContent = '';
      else if (quarter !== told) said.textContent = texts.progress(print(quarter * 100));
      told = quarter;
    },
  };
}
