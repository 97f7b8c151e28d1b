// Numbers as a table that scrolls when it has no room: what a picture shows, for those who would rather read it.
// Each cell carries its whole number beside the rounded one that it shows.
import { h } from '../dom';

export interface NumberTableData {
  readonly caption: string;
  readonly corner: string;
  readonly columns: readonly string[];
  /** undefined: there is no number here. */
  readonly rows: readonly { readonly name: string; readonly values: readonly (number | undefined)[] }[];
  readonly print: (value: number) => string;
}

export interface NumberTable {
  readonly element: HTMLElement;
  update(data: NumberTableData): void;
}

export function numberTable(look = ''): NumberTable {
  const table = h('table');
  const element = h('div', { class: `scroller ${look}`, tabindex: 0, role: 'region' }, table);
  const heading = (scope: string, name: string) => h('th', { scope }, h('bdi', {}, name));
  return {
    element,
    update({ caption, corner, columns, rows, print }) {
      element.setAttribute('aria-label', caption);
      const cell = (value: number | undefined) =>
        value === undefined ? h('td', {}, '–') : h('td', {}, h('data', { value }, print(value)));
      table.replaceChildren(
        h('caption', {}, caption),
        h('thead', {}, h('tr', {}, h('td', {}, corner), ...columns.map((name) => heading('col', name)))),
        h('tbody', {}, ...rows.map(({ name, values }) => h('tr', {}, heading('row', name), ...values.map(cell)))),
      );
    },
  };
}
