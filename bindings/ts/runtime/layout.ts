// The two orders in which per-head data is laid out, and how a shape reads in each.
import * as check from './check.js';
import { wrongShape } from './errors.js';

/**
 * The order of a shape's axes: B batch, H heads, T tokens, D head size. `BHTD` (the default) keeps each head's
 * tokens together, as ONNX and PyTorch attention do; `BTHD` is the result of a projection, [B, T, H * D], with heads as an
 * axis. Leading axes may be absent: [T, D], [H, T, D] and [T, H, D] are valid.
 */
export type Layout = 'BHTD' | 'BTHD';

/** @internal */
export const layouts: Readonly<Record<Layout, number>> = { BHTD: 0, BTHD: 1 };

/** @internal */
export interface HeadShape {
  readonly tokensFirst: boolean;
  readonly batch: number;
  readonly heads: number;
  readonly tokens: number;
  readonly dim: number;
}

/** @internal */
export function headShape(where: string, name: string, shape: readonly number[], layout: Layout): HeadShape {
  const tokensFirst = check.choice(where, 'layout', layout, layouts) === layouts.BTHD;
  if (shape.length < 1 || shape.length > 4) {
    throw wrongShape(where, name, shape, shape, `1 to 4 axes, the last of [${layout.split('').join(', ')}]`);
  }
  const n = shape.length;
  const dim = shape[n - 1] ?? 1;
  // Axes before the first are asked for by their number only: an index below 0 takes engines long.
  const batch = n < 4 ? 1 : (shape[0] ?? 1);
  const outer = n < 3 ? 1 : (shape[n - 3] ?? 1);
  const inner = n < 2 ? 1 : (shape[n - 2] ?? 1);
  // [T, D] is one head in either layout.
  if (!tokensFirst || n <= 2) return { tokensFirst: false, batch, heads: outer, tokens: inner, dim };
  return { tokensFirst, batch, heads: inner, tokens: outer, dim };
}
