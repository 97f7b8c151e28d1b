// What style sheets say of a canvas. Asked for between changes of the page it costs a round of styles each time, and it
// changes with the theme alone.

interface CanvasStyle {
  readonly onDark: boolean;
  readonly ink: string;
  readonly ground: string;
  readonly fontFamily: string;
}

const known = new WeakMap<HTMLCanvasElement, CanvasStyle>();

/** Colours and letters of a canvas of the page. */
export function styleOf(canvas: HTMLCanvasElement, onDark: boolean): CanvasStyle {
  const found = known.get(canvas);
  if (found?.onDark === onDark) return found;
  const { color: ink, backgroundColor: ground, fontFamily } = getComputedStyle(canvas);
  const style = { onDark, ink, ground, fontFamily };
  if (canvas.isConnected) known.set(canvas, style);
  return style;
}
