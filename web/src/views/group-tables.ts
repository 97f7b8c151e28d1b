// Tables beside each other whose cells belong to groups. One group is marked in all of them: the one that is pointed at,
// otherwise the one that is chosen.
import { h } from '../ui/dom';

export interface TableCell {
  readonly text: string;
  readonly group?: number | undefined;
  /** Whose colour it has; default: that of its group, as a pair of coordinates. With neither it stands back. */
  readonly look?: 'query' | 'key' | 'third' | 'quiet';
}

export interface GroupTable {
  readonly title: string;
  readonly note: string;
  readonly columns: readonly { readonly name: string; readonly span: number }[];
  readonly rows: readonly { readonly name: string; readonly cells: readonly TableCell[] }[];
}

export interface GroupTables {
  readonly element: HTMLElement;
  /** @param chosen the group that is marked while none is pointed at. */
  update(chosen: number, tables: readonly GroupTable[]): void;
}

// More cells in a row than this need smaller letters.
const dense = 8;

function box({ title, note, columns, rows }: GroupTable): HTMLElement {
  const head = columns.map(({ name, span }) => h('th', { scope: span > 1 ? 'colgroup' : 'col', colspan: span }, name));
  const cell = ({ text, group, look }: TableCell): HTMLElement =>
    h('td', { class: look ?? (group === undefined ? undefined : `pair-${group}`), 'data-group': group }, text);
  return h(
    'div',
    {},
    h('p', { class: 'strip-title' }, title),
    h(
      'div',
      { class: 'scroller', tabindex: 0, role: 'region', 'aria-label': title },
      h(
        'table',
        { class: (rows[0]?.cells.length ?? 0) > dense ? 'dense' : undefined },
        h('thead', {}, h('tr', {}, h('td'), ...head)),
        h(
          'tbody',
          {},
          ...rows.map(({ name, cells }) => h('tr', {}, h('th', { scope: 'row' }, name), ...cells.map(cell))),
        ),
      ),
    ),
    h('p', { class: 'strip-note' }, note),
  );
}

/** @param picked is given the group of a cell that was clicked. */
export function groupTables(picked: (group: number) => void): GroupTables {
  const element = h('div', { class: 'group-tables' });
  let chosen = 0;
  const mark = (group: number): void => {
    for (const cell of element.querySelectorAll<HTMLElement>('[data-group]')) {
      cell.classList.toggle('marked', cell.dataset.group === String(group));
    }
  };
  const groupAt = ({ target }: Event): number | undefined => {
    const cell = target instanceof Element ? target.closest<HTMLElement>('[data-group]') : null;
    return cell === null ? undefined : Number(cell.dataset.group);
  };
  element.addEventListener('pointerover', (event) => mark(groupAt(event) ?? chosen));
  element.addEventListener('pointerleave', () => mark(chosen));
  element.addEventListener('click', (event) => {
    const group = groupAt(event);
    if (group !== undefined) picked(group);
  });
  return {
    element,
    update(next, tables) {
      chosen = next;
      element.replaceChildren(...tables.map(box));
      mark(chosen);
    },
  };
}
