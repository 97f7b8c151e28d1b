// What style sheets say of a canvas. Asked for between changes of the page it costs a round of styles each time, and it
// changes with the colours alone: another language comes with figures of its own.
import { isForced } from '../theme';

interface CanvasStyle {
  readonly ink: string;
  readonly ground: string;
  readonly fontFamily: string;
}

const known = new WeakMap<HTMLCanvasElement, { readonly colors: string; readonly style: CanvasStyle }>();

/** Colours and letters of a canvas of the page. */
export function styleOf(canvas: HTMLCanvasElement, onDark: boolean): CanvasStyle {
  const colors = `${onDark} ${isForced()}`;
  const found = known.get(canvas);
  if (found?.colors === colors) return found.style;
  const { color: ink, backgroundColor: ground, fontFamily } = getComputedStyle(canvas);
  const style = { ink, ground, fontFamily };
  if (canvas.isConnected) known.set(canvas, { colors, style });
  return style;
}
