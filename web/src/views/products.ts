// Products of matrices, one below the other, as boxes drawn to one scale with their sizes below them.
import { h } from '../ui/dom';
import { richText } from '../ui/rich-text';

export interface Factor {
  readonly name: string;
  readonly size: string;
  readonly rows: number;
  readonly columns: number;
  /** Operands are quiet; what two orders make on their way has the colour of its curve. */
  readonly look: 'operand' | 'query' | 'key';
}

export interface ProductsData {
  /** Each has a name, what it costs in the markup of prose, and its steps: factors with the signs between them. */
  readonly orders: readonly {
    readonly title: string;
    readonly note: string;
    readonly steps: readonly (readonly (Factor | string)[])[];
  }[];
  /** Rows or columns that the longest side has. */
  readonly longest: number;
}

export interface Products {
  readonly element: HTMLElement;
  update(data: ProductsData): void;
}

export function products(): Products {
  const element = h('div', { class: 'products' });
  const box = ({ name, size, rows, columns, look }: Factor, longest: number): HTMLElement => {
    const shape = h('span', { class: `matrix ${look}` });
    shape.style.setProperty('--across', String(columns / longest));
    shape.style.setProperty('--down', String(rows / longest));
    return h(
      'span',
      { class: 'factor' },
      h('span', { class: 'room' }, shape),
      h('span', { class: 'factor-name' }, name),
      h('span', { class: 'factor-size' }, size),
    );
  };
  return {
    element,
    update({ orders, longest }) {
      element.replaceChildren(
        ...orders.map(({ title, note, steps }) =>
          h(
            'div',
            { class: 'product' },
            h('p', { class: 'strip-title' }, title),
            ...steps.map((parts) =>
              h(
                'div',
                { class: 'factors' },
                ...parts.map((part) =>
                  typeof part === 'string' ? h('span', { class: 'sign' }, part) : box(part, longest),
                ),
              ),
            ),
            h('p', { class: 'strip-note' }, ...richText(note)),
          ),
        ),
      );
    },
  };
}
