// The numbers of the sinusoidal figures. Know nothing of the DOM.
import type { Ropewalk } from 'ropewalk';

export interface Table {
  readonly dim: number;
  readonly layout: 'interleaved' | 'concatenated';
}

/** Positions of one wave, for each pair. */
export function wavelengths(core: Ropewalk, dim: number, base: number): Float64Array {
  const plan = core.rope({ headDim: dim, base });
  try {
    return plan.wavelengths;
  } finally {
    plan.dispose();
  }
}

/** Which pair a column belongs to, and which half of it it is. */
export function columnOf(
  column: number,
  { dim, layout }: Table,
): { readonly pair: number; readonly wave: 'sin' | 'cos' } {
  const interleaved = layout === 'interleaved';
  const pair = interleaved ? Math.floor(column / 2) : column % (dim / 2);
  const isSine = interleaved ? column % 2 === 0 : column < dim / 2;
  return { pair, wave: isSine ? 'sin' : 'cos' };
}

/** Columns of the clocks' table. */
const clockDim = 16;

/** The row of a position in the clocks' table. */
export const clockRow = (position: number) => ({ dim: clockDim, positions: [position] });

/** Positions for one turn of each clock. */
export const clockPeriods = (core: Ropewalk): Float64Array => wavelengths(core, clockDim, 10000);
