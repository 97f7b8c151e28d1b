// A matrix of numbers as coloured cells with numbered rows and columns. The cells can be walked with the arrow keys and
// one of them picked; the caller shows the text of the current one.
import { h, observeWidth } from '../ui/dom';
import { inkOn, pixelOf, type Scale } from './color-scale';
import { type Cell, moved } from './heat-map';
import { lettersFor, paintCells, styleOf } from './paint';

export interface FieldData {
  readonly title?: string;
  /** The name of the field for screen readers. */
  readonly label: string;
  readonly rows: number;
  readonly columns: number;
  /** [rows, columns] row major; NaN: no number here. */
  readonly values: ArrayLike<number>;
  readonly scale: Scale;
  /** The number at the far end of the scale, below zero too; where it diverges also the other end's, negative. */
  readonly limit: number;
  /** Whether all numbers are whole, or stand for names: then they are always in their cells. */
  readonly whole?: boolean;
  readonly rowTitle: string;
  readonly columnTitle: string;
  readonly rowName: (row: number) => string;
  readonly columnName: (column: number) => string;
  /** Written into cells that have room, while one of the field is pointed at. */
  readonly print: (value: number) => string;
  /** Pixels; default 44. */
  readonly largestCell?: number;
  /** The largest height of all rows together, in pixels; cells are flatter than wide then. */
  readonly tallest?: number;
  /** Cells with a frame: what the prose or a control speaks of. */
  readonly framed?: (cell: Cell) => boolean;
  /** A column with a frame around all of it. */
  readonly framedColumn?: number;
  /** A frame around all columns from the first to the last. */
  readonly framedColumns?: readonly [first: number, last: number];
  readonly current: Cell | undefined;
  readonly onDark: boolean;
}

export interface FieldEvents {
  /** The cell under the pointer or the keyboard, or undefined when both are gone. */
  pointed(cell: Cell | undefined): void;
  /** The cell that was clicked, or chosen with Enter. */
  picked?(cell: Cell): void;
}

export interface FieldView {
  readonly element: HTMLElement;
  update(data: FieldData): void;
  destroy(): void;
}

const roomForNumber = { width: 12, height: 14 };
// Pixels; smaller digits cannot be read.
const digits = { least: 9.5, most: 12 };
const labelHeight = 15;
// So few rows are never flatter than their names.
const few = 8;

/** The share of the scale that a value has. */
export function shareOf(value: number, { scale, limit }: Pick<FieldData, 'scale' | 'limit'>): number {
  return scale === 'diverging' ? (value / limit + 1) / 2 : value / (limit || 1);
}

/** The width of a small text in pixels, about: Chinese characters are twice as wide as digits. */
function textWidth(text: string): number {
  return Array.from(text, (letter) => (letter > '\u2e80' ? 13 : 7)).reduce((a, b) => a + b, 0);
}

// How much larger than usual the reader wants letters.
const enlarged = (): number => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 17;

// Every how many rows or columns there is room for a name: 1, 2, 4, 8, ... so that names stay round.
function nameStep(cell: number, room: number): number {
  const wanted = room * enlarged();
  let step = 1;
  while (step * cell < wanted) step *= 2;
  return step;
}

/** Pixels for the names of the rows, where there is room for all; a quarter more, for letters spaced apart. */
export function gutterFor(rows: number, rowName: (row: number) => string): number {
  const widest = Math.max(...Array.from({ length: rows }, (_, i) => textWidth(rowName(i))));
  return Math.ceil(12 + 1.25 * enlarged() * widest);
}

interface Sizes {
  readonly gutter: number;
  readonly width: number;
  readonly height: number;
}

function draw(canvas: HTMLCanvasElement, data: FieldData, { width, height }: Sizes): void {
  const { rows, columns, values, onDark } = data;
  const pixels = Math.ceil(devicePixelRatio);
  canvas.width = width * pixels;
  canvas.height = height * pixels;
  const context = canvas.getContext('2d');
  if (context === null) return;
  const { ink, ground, fontFamily } = styleOf(canvas, onDark);
  const [cellWidth, cellHeight] = [width / columns, height / rows];
  // Whole pixels, so that thin cells have no seams; a gap only where cells are large enough to lose one.
  const edge = (i: number, size: number): number => Math.round(i * size * pixels);
  const gap = Math.min(cellWidth, cellHeight) >= 6 ? pixels : 0;
  const isWanted = data.whole || data.current !== undefined;
  const isRoomy = isWanted && cellWidth >= roomForNumber.width && cellHeight >= roomForNumber.height;
  const font = `${Math.min(Math.max(cellWidth / 2.6, digits.least), digits.most) * pixels}px ${fontFamily}`;
  const letters = isRoomy ? lettersFor(context, font) : undefined;
  const room = (cellWidth - 5) * pixels;
  const fits = (value: number): boolean => (letters?.measureText(data.print(value)).width ?? Number.NaN) <= room;
  // All cells have their numbers, or none has.
  const hasNumbers = letters && Array.from(values).every((value) => Number.isNaN(value) || fits(value));
  paintCells(context, {
    rows,
    columns,
    top: (row) => edge(row, cellHeight),
    left: (column) => edge(column, cellWidth),
    gap,
    pixel(cell) {
      const value = values[cell] ?? Number.NaN;
      return Number.isNaN(value) ? 0 : pixelOf(shareOf(value, data), onDark, data.scale);
    },
  });
  // The ink within the ground, so that a frame can be seen on any cell.
  const stroke = (x: number, y: number, w: number, h: number): void => {
    for (const [color, width] of [
      [ground, 4],
      [ink, 2],
    ] as const) {
      context.strokeStyle = color;
      context.lineWidth = width * pixels;
      context.strokeRect(x, y, w, h);
    }
  };
  const dots = new Path2D();
  for (let row = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) {
      const value = values[row * columns + column] ?? Number.NaN;
      const [x, y] = [edge(column, cellWidth), edge(row, cellHeight)];
      const [w, hgt] = [edge(column + 1, cellWidth) - x - gap, edge(row + 1, cellHeight) - y - gap];
      if (Number.isNaN(value)) {
        dots.rect(x + w / 2 - pixels, y + hgt / 2 - pixels, 2 * pixels, 2 * pixels);
        continue;
      }
      const share = shareOf(value, data);
      if (data.framed?.({ row, column })) {
        stroke(x + 2 * pixels, y + 2 * pixels, w - 4 * pixels, hgt - 4 * pixels);
      }
      if (!hasNumbers) continue;
      letters.fillStyle = inkOn(share, onDark, data.scale);
      letters.fillText(data.print(value), x + w / 2, y + hgt / 2 + pixels / 2);
    }
  }
  if (hasNumbers) context.drawImage(letters.canvas, 0, 0);
  context.fillStyle = ink;
  context.globalAlpha = 0.25;
  context.fill(dots);
  context.globalAlpha = 1;
}

// Tells what is pointed at, touched, walked to and picked.
function listen(plot: HTMLElement, events: FieldEvents, dataOf: () => FieldData | undefined): void {
  const cellAt = (event: PointerEvent): Cell | undefined => {
    const data = dataOf();
    if (data === undefined) return undefined;
    const box = plot.getBoundingClientRect();
    const index = (share: number, count: number): number => Math.min(Math.max(Math.floor(share * count), 0), count - 1);
    return {
      row: index((event.clientY - box.top) / box.height, data.rows),
      column: index((event.clientX - box.left) / box.width, data.columns),
    };
  };
  plot.addEventListener('pointermove', (event) => events.pointed(cellAt(event)));
  plot.addEventListener('pointerdown', (event) => events.pointed(cellAt(event)));
  plot.addEventListener('click', (event) => {
    const cell = cellAt(event as PointerEvent);
    if (cell) events.picked?.(cell);
  });
  plot.addEventListener('pointerleave', (event) => {
    // A finger that leaves has not lost interest: what it touched stays readable.
    if (event.pointerType === 'mouse' && document.activeElement !== plot) events.pointed(undefined);
  });
  plot.addEventListener('focus', () => events.pointed(dataOf()?.current ?? { row: 0, column: 0 }));
  plot.addEventListener('blur', () => events.pointed(undefined));
  plot.addEventListener('keydown', (event) => {
    const data = dataOf();
    if (data === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const here = data.current ?? { row: 0, column: 0 };
    if ((event.key === 'Enter' || event.key === ' ') && events.picked) {
      event.preventDefault();
      events.picked(here);
      return;
    }
    const next = moved(event.key, here, data.rows - 1, data.columns - 1);
    if (next === undefined) return;
    event.preventDefault();
    events.pointed(next);
  });
}

export function field(events: FieldEvents): FieldView {
  const title = h('div', { class: 'field-title' });
  const rowTitle = h('span', { class: 'axis-title' });
  const columnTitle = h('div', { class: 'axis-title columns' });
  const rowNames = h('div', { class: 'field-rows', 'aria-hidden': 'true' });
  const columnNames = h('div', { class: 'field-columns', 'aria-hidden': 'true' });
  const canvas = h('canvas');
  const frame = h('div', { class: 'field-frame' });
  const mark = h('div', { class: 'field-mark' });
  // Arrow keys have to reach us, so this is an application to a screen reader; the table is there for reading.
  const plot = h('div', { class: 'field-plot', tabindex: 0, role: 'application' }, canvas, frame, mark);
  const element = h('div', { class: 'field' }, title, rowTitle, rowNames, plot, columnNames, columnTitle);
  let data: FieldData | undefined;
  let room = 0;

  listen(plot, events, () => data);

  function sizes({ rows, columns, rowName, largestCell = 44, tallest = 1e9 }: FieldData): Sizes {
    const gutter = Math.min(gutterFor(rows, rowName), Math.floor(room * 0.4));
    const width = Math.max(1, Math.min(room - gutter, largestCell * columns));
    const cell = width / columns;
    return {
      gutter,
      width,
      height: Math.max(
        rows * (rows <= few ? Math.ceil((labelHeight + 1) * enlarged()) : 1),
        Math.min(Math.round(rows * cell), tallest),
      ),
    };
  }

  function showNames(shown: FieldData, { width, height }: Sizes): void {
    const rowStep = nameStep(height / shown.rows, labelHeight);
    const widest = Math.max(...Array.from({ length: shown.columns }, (_, i) => textWidth(shown.columnName(i))));
    const columnStep = nameStep(width / shown.columns, 8 + widest);
    // One track for each name, as wide as the step and around the middle of its row or column. Places of their own would
    // be as many styles, all to be made anew with every change of letters or colours.
    const lay = (list: HTMLElement, side: 'rows' | 'columns', count: number, step: number, size: number): void => {
      const cell = size / count;
      const on = shown.current?.[side === 'rows' ? 'row' : 'column'];
      const nameOf = side === 'rows' ? shown.rowName : shown.columnName;
      list.style.setProperty('--track', `${step * cell}px`);
      list.style.setProperty('--first', `${((1 - step) * cell) / 2}px`);
      // The current cell's names are always there; names of neighbours in the way give room.
      const isInTheWay = (i: number): boolean => on !== undefined && i !== on && Math.abs(i - on) < step;
      const names = Array.from({ length: Math.ceil(count / step) }, (_, nth) => {
        const i = nth * step;
        return h('span', { class: i === on ? 'on' : undefined }, isInTheWay(i) ? '' : nameOf(i));
      });
      if (on !== undefined && on % step !== 0) {
        const between = h('span', { class: 'on between' }, nameOf(on));
        between.style.setProperty('--at', `${(on + 0.5) * cell}px`);
        names.push(between);
      }
      list.replaceChildren(...names);
    };
    lay(rowNames, 'rows', shown.rows, rowStep, height);
    lay(columnNames, 'columns', shown.columns, columnStep, width);
  }

  let drawn: unknown[] = [];
  function show(): void {
    if (data === undefined || room === 0) return;
    const all = sizes(data);
    title.textContent = data.title ?? '';
    rowTitle.textContent = data.rowTitle;
    columnTitle.textContent = data.columnTitle;
    plot.setAttribute('aria-label', data.label);
    element.style.setProperty('--gutter', `${all.gutter}px`);
    element.style.setProperty('--width', `${all.width}px`);
    element.style.setProperty('--height', `${all.height}px`);
    showNames(data, all);
    // Around the columns, not on them: they may be as narrow as its lines.
    const [first, last = first] = data.framedColumns ?? [data.framedColumn];
    frame.hidden = first === undefined;
    if (first !== undefined && last !== undefined) {
      frame.style.setProperty('left', `${(first * all.width) / data.columns}px`);
      frame.style.setProperty('width', `${((last + 1 - first) * all.width) / data.columns}px`);
    }
    mark.hidden = data.current === undefined;
    const { row = 0, column = 0 } = data.current ?? {};
    mark.style.setProperty('left', `${(column * all.width) / data.columns}px`);
    mark.style.setProperty('top', `${(row * all.height) / data.rows}px`);
    mark.style.setProperty('width', `${all.width / data.columns}px`);
    mark.style.setProperty('height', `${all.height / data.rows}px`);
    const isPointed = data.current !== undefined;
    const looks = [data.onDark, data.limit, all.width, all.height, devicePixelRatio, isPointed];
    const inputs = [data.values, data.framed, ...looks];
    if (inputs.some((input, i) => input !== drawn[i])) draw(canvas, data, all);
    drawn = inputs;
  }

  const stop = observeWidth(element, (now) => {
    room = now;
    show();
  });
  return {
    element,
    update(next) {
      data = next;
      show();
    },
    destroy: stop,
  };
}
