// The score of two arrows in large digits, and the arrows' coordinates before and after turning.
import { h } from '../ui/dom';
import { math } from '../ui/rich-text';
import type { ArrowName } from './plane';

export interface ScorePanelTexts {
  readonly score: string;
  readonly vector: string;
  readonly before: string;
  readonly after: string;
  readonly query: string;
  readonly key: string;
}

export interface ScorePanelData {
  readonly score: number;
  readonly printed: string;
  /** Lines below the score; empty ones are left out. */
  readonly notes: readonly string[];
  /** For each arrow, its coordinates in print, before and after turning. */
  readonly vectors: Readonly<Record<ArrowName, readonly string[]>>;
}

export interface ScorePanel {
  readonly element: HTMLElement;
  update(data: ScorePanelData): void;
}

export function scorePanel(texts: ScorePanelTexts): ScorePanel {
  const score = h('output', { class: 'score-value', 'aria-live': 'off' });
  const notes = h('div', { class: 'score-notes' });
  const rows = h('tbody');
  const titles = [texts.vector, texts.before, texts.after].map((title) => h('th', { scope: 'col' }, title));
  const element = h(
    'div',
    { class: 'score' },
    h('p', { class: 'score-name' }, texts.score, ' ', math('(R_m q) · (R_n k)')),
    score,
    notes,
    h('table', { class: 'vectors', 'aria-label': texts.vector }, h('thead', {}, h('tr', {}, ...titles)), rows),
  );
  return {
    element,
    update(data) {
      score.value = data.printed;
      score.dataset.value = String(data.score);
      notes.replaceChildren(...data.notes.filter(Boolean).map((note) => h('p', {}, note)));
      const row = (name: ArrowName) =>
        h(
          'tr',
          { class: name },
          h('th', { scope: 'row' }, texts[name]),
          ...data.vectors[name].map((v) => h('td', {}, v)),
        );
      rows.replaceChildren(row('query'), row('key'));
    },
  };
}
