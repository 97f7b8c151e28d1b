// One square matrix with a word at every row and column: a canvas for the cells, text for the words. The cells can be
// walked with the arrow keys; the caller shows the text of the current one.
import { h } from '../ui/dom';
import { inkOn, pixelOf } from './color-scale';
import { lettersFor, paintCells, styleOf } from './paint';

export interface Cell {
  readonly row: number;
  readonly column: number;
}

export interface HeatMapData {
  readonly title: string;
  readonly label: string;
  readonly words: readonly string[];
  /** [words, words] row major. */
  readonly values: Float32Array;
  /** The value at the far end of the colour scale. */
  readonly max: number;
  readonly hidden: (cell: Cell) => boolean;
  readonly print: (value: number) => string;
  readonly current: Cell | undefined;
  readonly onDark: boolean;
  /** Pixels of one cell, of the words beside it, and of their letters. */
  readonly cell: number;
  readonly gutter: number;
  readonly font: number;
  /** Whether the words are narrow enough to be set across above their columns. */
  readonly upright: boolean;
}

export interface HeatMap {
  readonly element: HTMLElement;
  update(data: HeatMapData): void;
}

// From here on a cell has room for its number.
const roomForNumber = 36;

function draw(canvas: HTMLCanvasElement, data: HeatMapData): void {
  const { words, cell, values, max, onDark } = data;
  const pixels = Math.ceil(devicePixelRatio);
  canvas.width = canvas.height = words.length * cell * pixels;
  const context = canvas.getContext('2d');
  if (context === null) return;
  const place = (i: number): Cell => ({ row: Math.floor(i / words.length), column: i % words.length });
  const isHidden = Array.from(values, (_, i) => data.hidden(place(i)));
  const edge = (i: number): number => i * cell * pixels;
  paintCells(context, {
    rows: words.length,
    columns: words.length,
    top: edge,
    left: edge,
    gap: pixels,
    pixel: (i) => (isHidden[i] ? 0 : pixelOf((values[i] ?? 0) / max, onDark)),
  });
  const { ink, fontFamily } = styleOf(canvas, onDark);
  // The colours speak by themselves; numbers come with the cell that is pointed at.
  const hasNumbers = cell >= roomForNumber && data.current !== undefined;
  const letters = hasNumbers ? lettersFor(context, `${(cell > 44 ? 12 : 11) * pixels}px ${fontFamily}`) : undefined;
  for (const [i, value] of values.entries()) {
    const { row, column } = place(i);
    const [x, y] = [edge(column) + ((cell - 1) * pixels) / 2, edge(row) + ((cell - 1) * pixels) / 2];
    if (isHidden[i]) {
      // Not a weight of zero, but no weight at all: no colour of the scale, a dot in its place.
      context.rect(x - pixels, y - pixels, 2 * pixels, 2 * pixels);
    } else if (letters) {
      letters.fillStyle = inkOn(value / max, onDark);
      letters.fillText(data.print(value), x, y + pixels / 2);
    }
  }
  if (letters) context.drawImage(letters.canvas, 0, 0);
  context.fillStyle = ink;
  context.globalAlpha = 0.25;
  context.fill();
}

/** Where a key leads from a cell of a map with these last rows and columns; undefined: nowhere. */
export function moved(key: string, { row, column }: Cell, lastRow: number, lastColumn: number): Cell | undefined {
  const to = (r: number, c: number): Cell => ({
    row: Math.min(Math.max(r, 0), lastRow),
    column: Math.min(Math.max(c, 0), lastColumn),
  });
  switch (key) {
    case 'ArrowUp':
      return to(row - 1, column);
    case 'ArrowDown':
      return to(row + 1, column);
    case 'ArrowLeft':
      return to(row, column - 1);
    case 'ArrowRight':
      return to(row, column + 1);
    case 'Home':
      return to(row, 0);
    case 'End':
      return to(row, lastColumn);
    default:
      return undefined;
  }
}

/** @param pointed is told the cell under the pointer or the keyboard, or undefined when both are gone. */
export function heatMap(pointed: (cell: Cell | undefined) => void): HeatMap {
  const title = h('div', { class: 'heat-title' });
  const columns = h('div', { class: 'heat-columns', 'aria-hidden': 'true' });
  const rows = h('div', { class: 'heat-rows', 'aria-hidden': 'true' });
  const canvas = h('canvas');
  const mark = h('div', { class: 'heat-mark' });
  // Arrow keys have to reach us, so this is an application to a screen reader; the table is there for reading.
  const plot = h('div', { class: 'heat-plot', tabindex: 0, role: 'application' }, canvas, mark);
  const element = h('div', { class: 'heat' }, title, columns, rows, plot);
  let data: HeatMapData | undefined;
  let labelled = '';
  let drawn: unknown[] = [];

  const cellAt = (event: PointerEvent): Cell | undefined => {
    if (data === undefined) return undefined;
    const box = plot.getBoundingClientRect();
    const index = (offset: number): number =>
      Math.min(Math.max(Math.floor(offset / (data?.cell ?? 1)), 0), (data?.words.length ?? 1) - 1);
    return { row: index(event.clientY - box.top), column: index(event.clientX - box.left) };
  };
  plot.addEventListener('pointermove', (event) => pointed(cellAt(event)));
  plot.addEventListener('pointerdown', (event) => pointed(cellAt(event)));
  plot.addEventListener('pointerleave', (event) => {
    // A finger that leaves has not lost interest: what it touched stays readable.
    if (event.pointerType === 'mouse' && document.activeElement !== plot) pointed(undefined);
  });
  plot.addEventListener('focus', () => pointed(data?.current ?? { row: 0, column: 0 }));
  plot.addEventListener('blur', () => pointed(undefined));
  plot.addEventListener('keydown', (event) => {
    const last = (data?.words.length ?? 1) - 1;
    const next = moved(event.key, data?.current ?? { row: 0, column: 0 }, last, last);
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    pointed(next);
  });

  return {
    element,
    update(next) {
      data = next;
      title.textContent = next.title;
      plot.setAttribute('aria-label', next.label);
      // Words in two directions are slow to lay out: the same ones are not put there again.
      const words = JSON.stringify([next.words, next.upright]);
      if (words !== labelled) {
        const look = { class: next.upright ? undefined : 'sideways' };
        rows.replaceChildren(...next.words.map((word) => h('bdi', {}, word)));
        columns.replaceChildren(...next.words.map((word) => h('bdi', look, word)));
        labelled = words;
      }
      for (const [i, label] of Array.from(rows.children).entries())
        label.classList.toggle('on', i === next.current?.row);
      for (const [i, label] of Array.from(columns.children).entries())
        label.classList.toggle('on', i === next.current?.column);
      element.style.setProperty('--cell', `${next.cell}px`);
      element.style.setProperty('--size', `${next.cell * next.words.length}px`);
      element.style.setProperty('--gutter', `${next.gutter}px`);
      element.style.setProperty('--font', `${next.font}px`);
      mark.hidden = next.current === undefined;
      mark.style.setProperty('--row', String(next.current?.row ?? 0));
      mark.style.setProperty('--column', String(next.current?.column ?? 0));
      const inputs = [next.values, next.cell, next.onDark, next.max, devicePixelRatio, next.current === undefined];
      if (inputs.some((input, i) => input !== drawn[i])) draw(canvas, next);
      drawn = inputs;
    },
  };
}
