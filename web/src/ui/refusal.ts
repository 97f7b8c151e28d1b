// The message of an error of the package, which is English in every language of the page.

import type { FrameTexts } from '../i18n/texts';
import { h } from './dom';

export interface Refusal {
  readonly element: HTMLElement;
  /** Shows a message, or nothing. */
  show(message: string | undefined): void;
}

export function refusal(texts: FrameTexts['figure']): Refusal {
  const element = h('p', { class: 'notice', role: 'status' });
  return {
    element,
    show(message) {
      if (message === undefined) element.replaceChildren();
      else element.replaceChildren(texts.refused, h('span', { lang: 'en' }, message));
    },
  };
}
