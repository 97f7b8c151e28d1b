// Rows of needles, one row for each word: how far every pair of coordinates is turned at the word's place.
import { h, svg } from '../dom';

export interface NeedlesData {
  readonly words: readonly string[];
  /** For each word, for each pair, the angle of its needle in radians, all rounds of it. */
  readonly turns: readonly (readonly number[])[];
}

const radius = 9;
const cell = 2 * radius + 3;

function needle(turn: number, column: number): SVGElement {
  const degrees = (-turn * 180) / Math.PI;
  return svg(
    'g',
    { transform: `translate(${cell * (column + 0.5)} ${cell / 2})` },
    svg('circle', { r: radius }),
    // The style sheet lets it turn there from level.
    svg('path', { d: `M0 0H${radius - 1.5}`, transform: `rotate(${degrees.toFixed(2)})` }),
  );
}

export function needles(label: string, { words, turns }: NeedlesData): HTMLElement {
  const rows = words.map((word, i) => {
    const row = turns[i] ?? [];
    const picture = svg(
      'svg',
      { viewBox: `0 0 ${cell * row.length} ${cell}`, 'aria-hidden': 'true' },
      ...row.map(needle),
    );
    return h('div', { class: 'needle-row' }, h('span', {}, word), picture);
  });
  return h('div', { class: 'needles', role: 'img', 'aria-label': label }, ...rows);
}
