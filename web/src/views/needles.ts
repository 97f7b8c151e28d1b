// Rows of needles, one row for each word: how far every pair of coordinates is turned at the word's place.
import { h, svg } from '../dom';

export interface NeedlesData {
  readonly words: readonly string[];
  /** For each word, for each pair, where the needle points. */
  readonly directions: readonly (readonly (readonly [x: number, y: number])[])[];
}

const radius = 9;
const cell = 2 * radius + 3;

function needle([x, y]: readonly [number, number], column: number): SVGElement {
  const centre = cell * (column + 0.5);
  return svg(
    'g',
    { transform: `translate(${centre} ${cell / 2})` },
    svg('circle', { r: radius }),
    svg('path', { d: `M0 0L${(x * (radius - 1.5)).toFixed(2)} ${(-y * (radius - 1.5)).toFixed(2)}` }),
  );
}

export function needles(label: string, { words, directions }: NeedlesData): HTMLElement {
  const rows = words.map((word, i) => {
    const row = directions[i] ?? [];
    const picture = svg('svg', { viewBox: `0 0 ${cell * row.length} ${cell}` }, ...row.map(needle));
    return h('div', { class: 'needle-row' }, h('span', {}, word), picture);
  });
  return h('div', { class: 'needles', role: 'img', 'aria-label': label }, ...rows);
}
