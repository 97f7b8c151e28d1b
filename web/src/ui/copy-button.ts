// A button that copies a text, and reports that it did.

import type { FrameTexts } from '../i18n/texts';
import { button } from './controls';
import { h } from './dom';

const shownFor = 2000;

/** @param source is selected where the page may not write to the clipboard, so that the reader can copy it. */
export function copyButton(texts: FrameTexts['figure'], source: HTMLElement): HTMLElement {
  const said = h('span', { class: 'said', role: 'status' });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(source.textContent ?? '');
      said.textContent = texts.copied;
    } catch {
      getSelection()?.selectAllChildren(source);
      said.textContent = texts.copyFailed;
    }
    clearTimeout(timer);
    timer = setTimeout(() => said.replaceChildren(), shownFor);
  };
  return h(
    'span',
    { class: 'copy' },
    button(texts.copyCode, () => void copy(), 'button quiet'),
    said,
  );
}
