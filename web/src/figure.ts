// The frame that every figure has: controls, the picture or its table, what it shows in words, the program behind it.

import { type CodeBlock, codeBlock } from './code-block';
import { button } from './controls';
import { copyButton } from './copy-button';
import { h } from './dom';
import type { Dictionary } from './i18n/dictionary';

export interface Figure {
  readonly element: HTMLElement;
  readonly code: CodeBlock;
  /** What the picture shows, in a sentence or two; told to screen readers when it changes. */
  summarize(text: string): void;
  /** The picture, or the same numbers as a table. */
  showTable(table: boolean): void;
}

export interface FigureParts {
  readonly texts: Dictionary['figure'];
  readonly caption: string;
  readonly controls: readonly Node[];
  readonly picture: readonly Node[];
  readonly table: Node;
  readonly link: () => string;
  readonly reset: () => void;
  readonly toggleTable: () => void;
}

export function figure({ texts, caption, controls, picture, table, link, reset, toggleTable }: FigureParts): Figure {
  const summary = h('p', { class: 'summary', role: 'status' });
  const code = codeBlock(texts);
  const pictureBox = h('div', { class: 'picture' }, ...picture);
  const tableBox = h('div', { class: 'table' }, table);
  const tableButton = button(texts.table, toggleTable, 'button quiet table-button');
  const element = h(
    'figure',
    {},
    h(
      'div',
      { class: 'panel' },
      h('div', { class: 'controls' }, ...controls),
      pictureBox,
      tableBox,
      summary,
      h(
        'div',
        { class: 'tools' },
        tableButton,
        copyButton(texts.copyLink, texts, link),
        button(texts.reset, reset, 'button quiet'),
      ),
    ),
    h('figcaption', { 'data-label': texts.label }, caption),
    code.element,
  );
  return {
    element,
    code,
    summarize(text) {
      if (summary.textContent !== text) summary.textContent = text;
    },
    showTable(wanted) {
      pictureBox.hidden = wanted;
      tableBox.hidden = !wanted;
      tableButton.textContent = wanted ? texts.picture : texts.table;
    },
  };
}
