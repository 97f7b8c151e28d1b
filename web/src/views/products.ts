// A product of matrices as boxes drawn to one scale, with the sizes written below each.
import { h } from '../dom';

export interface Factor {
  readonly name: string;
  readonly size: string;
  readonly rows: number;
  readonly columns: number;
  /** Operands are quiet, what they make stands out. */
  readonly look: 'operand' | 'made';
}

export interface ProductsData {
  /** Each a line: its name, and factors with the signs between them. */
  readonly lines: readonly {
    readonly title: string;
    readonly note: string;
    readonly parts: readonly (Factor | string)[];
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
    return h('span', { class: 'factor' }, shape, h('span', { class: 'factor-name' }, name), h('span', {}, size));
  };
  return {
    element,
    update({ lines, longest }) {
      element.replaceChildren(
        ...lines.map(({ title, note, parts }) =>
          h(
            'div',
            { class: 'product' },
            h('p', { class: 'strip-title' }, title),
            h(
              'div',
              { class: 'factors' },
              ...parts.map((part) =>
                typeof part === 'string' ? h('span', { class: 'sign' }, part) : box(part, longest),
              ),
            ),
            h('p', { class: 'strip-note' }, note),
          ),
        ),
      );
    },
  };
}
