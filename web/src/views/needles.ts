// Rows of needles, one row for each word: how far every pair of coordinates is turned at the word's place.
import { h, svg } from '../ui/dom';

const radius = 9;
const cell = 2 * radius + 3;
const calm = matchMedia('(prefers-reduced-motion: reduce)');

const middleOf = (column: number): number => cell * (column + 0.5);

// The discs under all needles of a row.
function discs(count: number): SVGElement {
  const arc = `a${radius} ${radius} 0 1 0`;
  const disc = (_: unknown, column: number): string =>
    `M${middleOf(column) - radius} ${cell / 2}${arc} ${2 * radius} 0${arc} ${-2 * radius} 0`;
  return svg('path', { d: Array.from({ length: count }, disc).join('') });
}

function needle(turn: number, column: number): SVGElement {
  const [x, y, length] = [middleOf(column), cell / 2, radius - 1.5];
  const tip = { x2: (x + length * Math.cos(turn)).toFixed(2), y2: (y - length * Math.sin(turn)).toFixed(2) };
  const line = svg('line', { x1: x, y1: y, ...tip });
  if (!calm.matches) {
    // Once, at the beginning: every needle goes its whole way from level, and the later the word, the longer.
    const transformOrigin = `${x}px ${y}px`;
    const from = { transform: `rotate(${turn}rad)`, transformOrigin };
    line.animate([from, { transform: 'rotate(0rad)', transformOrigin }], {
      duration: 2400,
      easing: 'cubic-bezier(0.3, 0, 0.3, 1)',
    });
  }
  return line;
}

/** @param frequencies by how many radians the needle of each pair is turned from word to word. */
export function needles(label: string, words: readonly string[], frequencies: readonly number[]): HTMLElement {
  const rows = words.map((word, place) => {
    const picture = svg(
      'svg',
      { viewBox: `0 0 ${cell * frequencies.length} ${cell}`, 'aria-hidden': 'true' },
      discs(frequencies.length),
      ...frequencies.map((frequency, column) => needle(place * frequency, column)),
    );
    return h('div', { class: 'needle-row' }, h('span', {}, word.trim()), picture);
  });
  return h('div', { class: 'needles', role: 'img', 'aria-label': label }, ...rows);
}
