// Settings that few want: they come after the others, and are closed at first.
import type { FrameTexts } from '../i18n/texts';
import { h } from '../ui/dom';

/** What is set in them stays in force when they are closed. */
export function more({ figure }: FrameTexts, ...controls: readonly Element[]): HTMLElement {
  return h('details', { class: 'more' }, h('summary', {}, figure.more), h('div', { class: 'controls' }, ...controls));
}
