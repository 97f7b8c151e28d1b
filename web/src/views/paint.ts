// Pictures on a canvas.

interface CanvasStyle {
  readonly ink: string;
  readonly ground: string;
  readonly fontFamily: string;
}

const known = new Map<string, CanvasStyle>();

/**
 * Colours and letters of a canvas of the page, as style sheets have them: the same for all. Asked for between changes of
 * the page they cost a round of styles each time, and they change with the theme and the language alone.
 */
export function styleOf(canvas: HTMLCanvasElement, onDark: boolean): CanvasStyle {
  const key = `${onDark} ${document.documentElement.lang}`;
  const found = known.get(key);
  if (found) return found;
  const { color: ink, backgroundColor: ground, fontFamily } = getComputedStyle(canvas);
  const style = { ink, ground, fontFamily };
  if (canvas.isConnected) known.set(key, style);
  return style;
}

const makeContext = () => document.createElement('canvas').getContext('2d');
const [lettering, small] = [makeContext(), makeContext()];

/**
 * Another canvas of the same size for centred letters, which `drawImage` then puts in their place. It is outside the
 * document: for letters on a canvas within a browser first brings the whole page up to date.
 */
export function lettersFor({ canvas }: CanvasRenderingContext2D, font: string): CanvasRenderingContext2D | undefined {
  if (lettering === null) return undefined;
  lettering.canvas.width = canvas.width;
  lettering.canvas.height = canvas.height;
  lettering.textAlign = 'center';
  lettering.textBaseline = 'middle';
  lettering.font = font;
  return lettering;
}

export interface Cells {
  readonly rows: number;
  readonly columns: number;
  /** The pixel of the canvas where a row begins: as many as fit, rounded. */
  readonly top: (row: number) => number;
  readonly left: (column: number) => number;
  /** Pixels between cells. */
  readonly gap: number;
  /** A pixel of a cell, [rows, columns] row major; 0: nothing is painted. */
  readonly pixel: (cell: number) => number;
}

/** The cells of a matrix: a small image made large, as a call to the canvas for each of thousands takes long. */
export function paintCells(context: CanvasRenderingContext2D, { rows, columns, top, left, gap, pixel }: Cells): void {
  const { width, height } = context.canvas;
  if (small === null || width === 0 || height === 0) return;
  small.canvas.width = columns;
  small.canvas.height = rows;
  const image = small.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let cell = 0; cell < pixels.length; ++cell) pixels[cell] = pixel(cell);
  small.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small.canvas, 0, 0, width, height);
  if (gap === 0) return;
  for (let row = 1; row <= rows; ++row) context.clearRect(0, top(row) - gap, width, gap);
  for (let column = 1; column <= columns; ++column) context.clearRect(left(column) - gap, 0, gap, height);
}
