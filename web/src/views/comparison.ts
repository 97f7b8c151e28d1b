// Rows that are compared: words, numbers with a small curve above them, or both. Scrolls where it has no room.
import { h, svg } from '../ui/dom';
import { richText } from '../ui/rich-text';

export interface ComparedCell {
  /** With the markup of prose. */
  readonly text: string;
  readonly look?: 'yes' | 'partly' | 'no' | 'words' | 'best' | undefined;
  readonly curve?: Curve | undefined;
}

export interface Curve {
  /** At even distances. */
  readonly values: readonly number[];
  /** The value at the top; 0 is at the bottom. */
  readonly top: number;
  /** Where a line is drawn across, as a share of the width. */
  readonly limit?: number | undefined;
}

export interface ComparisonData {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: readonly { readonly name: string; readonly cells: readonly ComparedCell[] }[];
}

export interface Comparison {
  readonly element: HTMLElement;
  update(data: ComparisonData): void;
}

const [wide, high] = [100, 40];

function drawing({ values, top, limit }: Curve): SVGElement {
  const points = values.map((value, i) => {
    const y = high - (Math.min(value, top) / top) * high;
    return `${((i / (values.length - 1)) * wide).toFixed(2)} ${y.toFixed(2)}`;
  });
  const edge = limit === undefined ? [] : [svg('path', { class: 'limit', d: `M${limit * wide} 0V${high}` })];
  return svg(
    'svg',
    { class: 'small-curve', viewBox: `0 0 ${wide} ${high}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    ...edge,
    svg('path', { class: 'line', d: `M${points.join('L')}` }),
  );
}

export function comparison(): Comparison {
  const table = h('table');
  const element = h('div', { class: 'scroller comparison', tabindex: 0, role: 'region' }, table);
  return {
    element,
    update({ label, columns, rows }) {
      element.setAttribute('aria-label', label);
      table.replaceChildren(
        h('thead', {}, h('tr', {}, h('td'), ...columns.map((name) => h('th', { scope: 'col' }, name)))),
        h(
          'tbody',
          {},
          ...rows.map(({ name, cells }) =>
            h(
              'tr',
              {},
              h('th', { scope: 'row' }, name),
              ...cells.map(({ text, look, curve }) =>
                h('td', { class: look }, ...(curve === undefined ? [] : [drawing(curve)]), ...richText(text)),
              ),
            ),
          ),
        ),
      );
    },
  };
}
