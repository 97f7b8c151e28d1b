// A program, with colours for its words and a button that copies it.

import type { FrameTexts } from '../i18n/texts';
import { copyButton } from '../ui/copy-button';
import { h } from '../ui/dom';

const script =
  /(\/\/[^\n]*)|('(?:[^'\\\n]|\\.)*')|\b(import|from|const|let|for|of|await|return|new|true|false)\b|\b(\d[\w.]*)\b/g;
const kinds = ['comment', 'string', 'keyword', 'number'] as const;

function coloured(code: string, token: RegExp): (Node | string)[] {
  const pieces: (Node | string)[] = [];
  let end = 0;
  for (const match of code.matchAll(token)) {
    const kind = kinds[match.slice(1).findIndex((group) => group !== undefined)];
    pieces.push(code.slice(end, match.index), h('span', { class: kind ?? '' }, match[0]));
    end = match.index + match[0].length;
  }
  return [...pieces, code.slice(end)];
}

export interface CodeBlock {
  readonly element: HTMLDetailsElement;
  show(code: string): void;
}

export interface CodeBlockOptions {
  /** Default: that it is the call of the picture. */
  readonly title?: string;
  /** Above the program. */
  readonly above?: readonly Node[];
  /** What gets a colour, in four groups: comments, strings, keywords, numbers. Default: that of JavaScript. */
  readonly token?: () => RegExp | undefined;
}

export function codeBlock(
  texts: FrameTexts['figure'],
  label: string,
  { title = texts.code, above = [], token }: CodeBlockOptions = {},
): CodeBlock {
  const text = h('code');
  // It may have to be scrolled sideways, so the keyboard has to reach it.
  const box = h('pre', { tabindex: 0, role: 'region', 'aria-label': label }, text);
  const copy = copyButton(texts, box);
  const element = h('details', { class: 'code' }, h('summary', {}, title), h('div', {}, ...above, box, copy));
  let shown = '';
  // Colours are for what can be seen: of all programs of the page they would be a thousand elements.
  const write = (): void => text.replaceChildren(...(element.open ? coloured(shown, token?.() ?? script) : [shown]));
  element.addEventListener('toggle', write);
  return {
    element,
    show(code) {
      if (code === shown) return;
      shown = code;
      write();
    },
  };
}
