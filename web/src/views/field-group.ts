// One field or several, with one line that reads out the current cell and the colour scale of each. Fields of the same
// size have the current cell together.
import { tellIn } from '../ui/announce';
import { h } from '../ui/dom';
import { isDark } from '../ui/theme';
import { colorOf, paintScale } from './color-scale';
import { type FieldData, type FieldView, field, shareOf } from './field';
import type { Cell } from './heat-map';

export interface GroupedField extends Omit<FieldData, 'current' | 'onDark'> {
  /** The name of the colour scale; empty where that of the field before it serves both. */
  readonly legend: string;
  /** Where values are kinds and not amounts: the name of each, in place of a scale. */
  readonly kinds?: readonly { readonly value: number; readonly name: string }[];
}

export interface FieldGroupData {
  readonly fields: readonly GroupedField[];
  /** The text of a cell, in the field that is pointed at. */
  readonly tell: (cell: Cell, field: number) => string;
  /** How numbers at the ends of a scale are written. */
  readonly print: (value: number) => string;
}

export interface FieldGroup {
  readonly element: HTMLElement;
  update(data: FieldGroupData): void;
  destroy(): void;
}

interface Member {
  readonly view: FieldView;
  readonly strip: HTMLCanvasElement;
  readonly bar: HTMLElement;
  readonly legend: HTMLElement;
  readonly least: HTMLElement;
  readonly most: HTMLElement;
  readonly zero: HTMLElement;
  readonly scale: HTMLElement;
  readonly kinds: HTMLElement;
  readonly box: HTMLElement;
}

function showKinds(element: HTMLElement, each: GroupedField, onDark: boolean): void {
  element.replaceChildren(
    ...(each.kinds ?? []).map(({ value, name }) => {
      const swatch = h('span', { class: 'swatch' });
      swatch.style.setProperty('background', colorOf(shareOf(value, each), onDark, each.scale));
      return h('span', { class: 'kind' }, swatch, name);
    }),
  );
}

/** @param picked is told the cell that was chosen. */
export function fieldGroup(hint: string, picked?: (cell: Cell, field: number) => void): FieldGroup {
  const readout = h('p', { class: 'readout', role: 'status' });
  const box = h('div', { class: 'field-group' });
  const element = h('div', {}, readout, box);
  const members: Member[] = [];
  let data: FieldGroupData | undefined;
  let current: { readonly cell: Cell; readonly field: number } | undefined;

  function point(index: number, cell: Cell | undefined): void {
    const same = current?.field === index && current.cell.row === cell?.row && current.cell.column === cell?.column;
    if (same || (cell === undefined && current?.field !== index)) return;
    current = cell && { cell, field: index };
    show();
  }

  function member(index: number): Member {
    const view = field({
      pointed: (cell) => point(index, cell),
      ...(picked && { picked: (cell: Cell) => picked(cell, index) }),
    });
    const strip = h('canvas', { width: 129, height: 1, 'aria-hidden': 'true' });
    const [legend, least, most] = [h('span'), h('span'), h('span')];
    const zero = h('span', { class: 'zero' }, '0');
    const scale = h('span', { class: 'strip' }, strip, zero);
    const kinds = h('span', { class: 'kinds' });
    const bar = h('div', { class: 'legend' }, legend, least, scale, most, kinds);
    return {
      view,
      strip,
      bar,
      legend,
      least,
      most,
      zero,
      scale,
      kinds,
      box: h('div', { class: 'field-box' }, view.element, bar),
    };
  }

  function show(): void {
    if (data === undefined) return;
    const onDark = isDark();
    for (const [i, each] of data.fields.entries()) {
      const made = members[i];
      if (made === undefined) continue;
      const pointed = data.fields[current?.field ?? i];
      const isAlike = pointed?.rows === each.rows && pointed.columns === each.columns;
      made.view.update({ ...each, current: isAlike ? current?.cell : undefined, onDark });
      made.bar.hidden = each.legend === '';
      made.legend.textContent = each.legend;
      made.least.textContent = data.print(each.scale === 'diverging' ? -each.limit : 0);
      made.most.textContent = each.limit === 0 ? '' : data.print(each.limit);
      made.zero.hidden = each.scale !== 'diverging';
      paintScale(made.strip, onDark, each.scale, each.whole ? each.limit + 1 : undefined);
      for (const part of [made.least, made.scale, made.most]) part.hidden = each.kinds !== undefined;
      showKinds(made.kinds, each, onDark);
    }
    readout.classList.toggle('idle', current === undefined);
    tellIn(box, readout, current === undefined ? hint : data.tell(current.cell, current.field));
  }

  return {
    element,
    update(next) {
      data = next;
      const pointed = next.fields[current?.field ?? 0];
      const fits = pointed && current && current.cell.row < pointed.rows && current.cell.column < pointed.columns;
      if (!fits) current = undefined;
      while (members.length > next.fields.length) {
        const last = members.pop();
        last?.view.destroy();
        last?.box.remove();
      }
      while (members.length < next.fields.length) {
        const made = member(members.length);
        members.push(made);
        box.append(made.box);
      }
      box.style.setProperty('--fields', String(next.fields.length));
      show();
    },
    destroy() {
      for (const { view } of members) view.destroy();
    },
  };
}
