// Heat maps of the same words side by side, one for each head: one colour scale, one current cell in all of them, one
// line that reads it out, and the same numbers as tables.
import { tellIn } from '../ui/announce';
import { h, observeWidth } from '../ui/dom';
import { paintScale } from './color-scale';
import { type Cell, type HeatMap, heatMap } from './heat-map';

export interface HeatGridTexts {
  readonly hint: string;
  readonly legend: string;
  readonly hiddenLegend: string;
  title(map: number): string;
  label(map: number): string;
  /** The text of a cell. */
  tell(map: number, cell: Cell, value: number): string;
  print(value: number): string;
}

export interface HeatGridData {
  readonly words: readonly string[];
  /** For each map [words, words] row major. */
  readonly maps: readonly Float32Array[];
  readonly hidden: (cell: Cell) => boolean;
  readonly hasHidden: boolean;
  readonly onDark: boolean;
}

export interface HeatGrid {
  readonly picture: HTMLElement;
  update(data: HeatGridData): void;
  /** Lets the current cell go along with its words when these change places; entry i came from order[i]. */
  follow(order: readonly number[]): void;
  destroy(): void;
}

const largestCell = 56;
const comfortableCell = 16;
const gap = 28;
const fonts = { min: 9.5, narrow: 11, max: 13 };

// Widths of words as the labels will have them.
const ruler = document.createElement('canvas').getContext('2d');
function widthsOf(words: readonly string[], font: number, fontFamily: string): number[] {
  if (ruler !== null) ruler.font = `${font}px ${fontFamily}`;
  return words.map((word) => Math.ceil(ruler?.measureText(word).width ?? font * word.length));
}

// As many maps in a row as leave cells that are still easy to hit, two up to four maps and four above.
function layOut(width: number, words: readonly string[], maps: number, fontFamily: string) {
  // A quarter more, for readers who space letters apart.
  const gutterFor = (font: number): number =>
    Math.min(
      Math.ceil(Math.max(...widthsOf(words, font, fontFamily)) * 1.25) + 8,
      Math.floor(Math.min(110, width * 0.26)),
    );
  const cellFor = (columns: number, gutter: number): number =>
    Math.max(1, Math.min(Math.floor(((width - gap * (columns - 1)) / columns - gutter) / words.length), largestCell));
  let columns = Math.min(maps, maps > 4 ? 4 : 2);
  while (columns > 1 && cellFor(columns, gutterFor(fonts.max)) < comfortableCell) columns /= 2;
  const largest = Math.min(Math.max(cellFor(columns, gutterFor(fonts.max)), fonts.min), fonts.max);
  const sizesAt = (font: number) => {
    const gutter = gutterFor(font);
    const cell = cellFor(columns, gutter);
    // All words have one direction.
    return {
      columns,
      cell,
      gutter,
      font,
      upright: widthsOf(words, font, fontFamily).every((wide) => wide <= cell - 2),
    };
  };
  // Rather somewhat smaller than sideways.
  const smaller = sizesAt(Math.min(largest, fonts.narrow));
  return smaller.upright && !sizesAt(largest).upright ? smaller : sizesAt(largest);
}

export function heatGrid(texts: HeatGridTexts): HeatGrid {
  const maps: HeatMap[] = [];
  const box = h('div', { class: 'heat-grid' });
  const readout = h('p', { class: 'readout', role: 'status' });
  const scale = h('canvas', { width: 128, height: 1, 'aria-hidden': 'true' });
  const least = h('span');
  const most = h('span');
  const hiddenKey = h('span', { class: 'hidden-key' }, texts.hiddenLegend);
  const legend = h('div', { class: 'legend' }, h('span', {}, texts.legend), least, scale, most, hiddenKey);
  const picture = h('div', {}, h('div', { class: 'heat-bar' }, readout, legend), box);
  let data: HeatGridData | undefined;
  let current: { readonly map: number; readonly cell: Cell } | undefined;
  let width = 0;

  function point(map: number, cell: Cell | undefined): void {
    const same = current?.map === map && current.cell.row === cell?.row && current.cell.column === cell.column;
    if (same || (cell === undefined && current?.map !== map)) return;
    current = cell && { map, cell };
    show();
  }

  function tell(): string {
    if (data === undefined || current === undefined) return texts.hint;
    const { row, column } = current.cell;
    const value = data.maps[current.map]?.[row * data.words.length + column] ?? 0;
    return texts.tell(current.map, current.cell, value);
  }

  function show(): void {
    const shown = data;
    if (shown === undefined || shown.words.length === 0 || width === 0) return;
    const family = getComputedStyle(box).fontFamily;
    const { columns, ...sizes } = layOut(width, shown.words, shown.maps.length, family);
    box.style.setProperty('--columns', String(columns));
    const top = shown.maps.reduce((max, map) => map.reduce((a, b) => Math.max(a, b), max), 0);
    const max = Math.max(0.1, Math.ceil(top * 10 - 1e-6) / 10);
    least.textContent = texts.print(0);
    most.textContent = texts.print(max);
    hiddenKey.hidden = !shown.hasHidden;
    paintScale(scale, shown.onDark, 'sequential');
    for (const [i, values] of shown.maps.entries()) {
      maps[i]?.update({
        ...sizes,
        title: texts.title(i),
        label: texts.label(i),
        words: shown.words,
        values,
        max,
        hidden: shown.hidden,
        print: texts.print,
        current: current?.cell,
        onDark: shown.onDark,
      });
    }
    readout.classList.toggle('idle', current === undefined);
    tellIn(box, readout, tell());
  }

  const stop = observeWidth(box, (now) => {
    width = now;
    show();
  });

  return {
    picture,
    update(next) {
      data = next;
      const last = next.words.length - 1;
      if (current && Math.max(current.cell.row, current.cell.column) > last) current = undefined;
      if (current && current.map >= next.maps.length) current = undefined;
      // Only what is too much or too little is taken out or put in: an element that moved would lose the focus.
      while (maps.length > next.maps.length) {
        maps.pop()?.element.remove();
      }
      while (maps.length < next.maps.length) {
        const map = maps.length;
        const made = heatMap((cell) => point(map, cell));
        maps.push(made);
        box.append(made.element);
      }
      show();
    },
    follow(order) {
      if (current === undefined) return;
      const { row, column } = current.cell;
      current = { map: current.map, cell: { row: order.indexOf(row), column: order.indexOf(column) } };
    },
    destroy: stop,
  };
}
