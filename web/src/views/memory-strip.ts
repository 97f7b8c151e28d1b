// Numbers as they lie in memory, one box each, with an arc between the two of each pair.
import { h, svg } from '../ui/dom';

export interface Strip {
  readonly title: string;
  readonly note: string;
  /** What is printed in each box. */
  readonly numbers: readonly string[];
  /** Which pair each box belongs to. */
  readonly pairs: readonly number[];
  readonly wrong: boolean;
}

export interface MemoryStrips {
  readonly element: HTMLElement;
  update(strips: readonly Strip[]): void;
}

const box = { width: 70, height: 34 };
const arcs = 52;

function drawing({ title, numbers, pairs }: Strip): SVGElement {
  const width = numbers.length * box.width;
  const middle = (i: number): number => (i + 0.5) * box.width;
  const links = [...new Set(pairs)].map((pair) => {
    const first = pairs.indexOf(pair);
    const second = pairs.lastIndexOf(pair);
    const rise = Math.min(arcs - 6, 18 + (second - first) * 7);
    return svg('path', {
      class: `pair-${pair % 4}`,
      d: `M${middle(first)} ${arcs}C${middle(first)} ${arcs - rise} ${middle(second)} ${arcs - rise} ${middle(second)} ${arcs}`,
    });
  });
  const boxes = numbers.flatMap((text, i) => [
    svg('rect', {
      class: `pair-${(pairs[i] ?? 0) % 4}`,
      x: i * box.width + 2,
      y: arcs,
      width: box.width - 4,
      height: box.height,
      rx: 5,
    }),
    svg('text', { x: middle(i), y: arcs + box.height / 2 + 6 }, text),
    svg('text', { class: 'index', x: middle(i), y: arcs + box.height + 20 }, String(i)),
  ]);
  return svg(
    'svg',
    { viewBox: `0 0 ${width} ${arcs + box.height + 26}`, role: 'img', 'aria-label': `${title}: ${numbers.join(', ')}` },
    ...links,
    ...boxes,
  );
}

export function memoryStrips(): MemoryStrips {
  const element = h('div', { class: 'strips' });
  return {
    element,
    update(strips) {
      element.replaceChildren(
        ...strips.map((strip) =>
          h(
            'div',
            { class: strip.wrong ? 'wrong' : undefined },
            h('p', { class: 'strip-title' }, strip.title),
            drawing(strip),
            h('p', { class: 'strip-note' }, strip.note),
          ),
        ),
      );
    },
  };
}
