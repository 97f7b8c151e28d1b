// Numbers as a table that scrolls when it has no room: what a picture shows, for those who would rather read it.
// Each cell carries its whole number beside the rounded one that it shows.
import { h } from '../ui/dom';
import { soon } from '../work/soon';

export interface NumberTableData {
  readonly caption: string;
  readonly corner: string;
  readonly columns: readonly string[];
  /** undefined: there is no number here. */
  readonly rows: readonly { readonly name: string; readonly values: readonly (number | undefined)[] }[];
  readonly print: (value: number) => string;
  /** Its numbers are shown as `print` gives them, in files too. */
  readonly isNamed?: boolean;
}

export interface NumberTable {
  readonly element: HTMLElement;
  update(data: NumberTableData): void;
}

// So many cells are made and laid out at once; a larger table grows slice by slice, with room for the reader between.
const cellsAtOnce = 300;

export function numberTable(look = ''): NumberTable {
  const table = h('table');
  const element = h('div', { class: `scroller ${look}`, tabindex: 0, role: 'region' }, table);
  const heading = (scope: string, name: string) => h('th', { scope }, h('bdi', {}, name));
  let latest = 0;
  return {
    element,
    update({ caption, corner, columns, rows, print }) {
      latest += 1;
      const turn = latest;
      element.setAttribute('aria-label', caption);
      const cell = (value: number | undefined) =>
        value === undefined ? h('td', {}, '–') : h('td', { 'data-value': value }, print(value));
      const body = h('tbody');
      table.replaceChildren(
        h('caption', {}, caption),
        h('thead', {}, h('tr', {}, h('td', {}, corner), ...columns.map((name) => heading('col', name)))),
        body,
      );
      const slice = Math.ceil(cellsAtOnce / (columns.length + 1));
      const grow = (): void => {
        if (turn !== latest) return;
        const from = body.rows.length;
        const more = rows.slice(from, from + slice);
        body.append(...more.map(({ name, values }) => h('tr', {}, heading('row', name), ...values.map(cell))));
        const isBusy = body.rows.length < rows.length;
        element.ariaBusy = isBusy ? 'true' : null;
        if (isBusy) soon(grow);
      };
      element.ariaBusy = 'true';
      // Several large tables of one figure would be too much together.
      if (rows.length <= slice) grow();
      else soon(grow);
    },
  };
}
