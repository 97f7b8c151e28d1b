// A row of dials: hands that point to an angle, and marked parts of the rim.
import { h, svg } from '../ui/dom';

export interface Hand {
  /** Where it points, right and up. */
  readonly x: number;
  readonly y: number;
  readonly look: 'query' | 'key' | 'third';
}

export interface Dial {
  readonly name: string;
  readonly note: string;
  readonly hands: readonly Hand[];
  /** Angles in radians, counterclockwise from the right; a whole turn or more is the whole rim. */
  readonly arcs?: readonly { readonly from: number; readonly to: number; readonly look: 'seen' | 'unseen' }[];
  readonly look?: 'warn' | undefined;
  /** All of it in words. */
  readonly spoken: string;
}

export interface Dials {
  readonly element: HTMLElement;
  update(label: string, dials: readonly Dial[]): void;
}

const rim = 44;

function arcPath(from: number, to: number, radius: number): string {
  if (to - from >= 2 * Math.PI - 1e-6)
    return `M${radius} 0A${radius} ${radius} 0 1 0 ${-radius} 0A${radius} ${radius} 0 1 0 ${radius} 0`;
  const point = (angle: number): string =>
    `${(radius * Math.cos(angle)).toFixed(2)} ${(-radius * Math.sin(angle)).toFixed(2)}`;
  return `M${point(from)}A${radius} ${radius} 0 ${to - from > Math.PI ? 1 : 0} 0 ${point(to)}`;
}

function handShape({ x, y, look }: Hand): SVGElement {
  const tip = { x2: (x * (rim - 6)).toFixed(2), y2: (-y * (rim - 6)).toFixed(2) };
  return svg('line', { class: `hand ${look}`, ...tip });
}

export function dials(): Dials {
  const element = h('ul', { class: 'dials' });
  return {
    element,
    update(label, shown) {
      element.setAttribute('aria-label', label);
      element.replaceChildren(
        ...shown.map((dial) =>
          h(
            'li',
            { class: dial.look },
            svg(
              'svg',
              { viewBox: '-50 -50 100 100', role: 'img', 'aria-label': dial.spoken },
              svg('circle', { class: 'rim', r: rim }),
              ...(dial.arcs ?? []).map(({ from, to, look }) =>
                svg('path', { class: `arc ${look}`, d: arcPath(from, to, look === 'seen' ? rim : rim - 7) }),
              ),
              ...dial.hands.map(handShape),
              svg('circle', { class: 'pin', r: 2.5 }),
            ),
            h('span', { class: 'dial-name', 'aria-hidden': 'true' }, dial.name),
            h('span', { class: 'dial-note', 'aria-hidden': 'true' }, dial.note),
          ),
        ),
      );
    },
  };
}
