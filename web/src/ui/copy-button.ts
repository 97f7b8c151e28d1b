// A button that copies a text, and reports that it did.

import type { FrameTexts } from '../i18n/texts';
import { button } from './controls';
import { h } from './dom';

const shownFor = 2000;

/** @param source is selected where the page may not write to the clipboard, so that the reader can copy it. */
export function copyButton(
  label: string,
  texts: FrameTexts['figure'],
  text: () => string,
  source?: Element,
): HTMLElement {
  const said = h('span', { class: 'said', role: 'status' });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const say = (what: string): void => {
    said.textContent = what;
    clearTimeout(timer);
    timer = setTimeout(() => said.replaceChildren(), shownFor);
  };
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text());
      say(texts.copied);
    } catch {
      if (source !== undefined) {
        getSelection()?.selectAllChildren(source);
        say(texts.copyFailed);
      } else {
        // A page may write to the clipboard only over a safe connection, and where it is allowed to: here is the link.
        clearTimeout(timer);
        said.replaceChildren(h('a', { href: text() }, texts.copyHere));
      }
    }
  };
  return h(
    'span',
    { class: 'copy' },
    button(label, () => void copy(), 'button quiet'),
    said,
  );
}
