// The numbers of the sinusoidal figures. Know nothing of the DOM.
import type { Ropewalk } from 'ropewalk';
import { literal } from '../../programs/literal';

export interface Table {
  readonly dim: number;
  readonly base: number;
  readonly length: number;
  readonly layout: 'interleaved' | 'concatenated';
}

/** [length, dim] */
export function sinusoidTable(core: Ropewalk, { dim, base, length, layout }: Table): Float32Array {
  return core.sinusoidal({ dim, base, layout, positions: { length } });
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

export function sinusoidCode({ dim, base, length, layout }: Table): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const result = rw.sinusoidal({
  dim: ${dim},
  base: ${base},
  layout: ${literal(layout)},
  positions: { length: ${length} },
});   // [${length}, ${dim}]
`;
}

/** Columns of the clocks' table. */
export const clockDim = 16;

export interface Clock {
  readonly sin: number;
  readonly cos: number;
  /** Positions for one turn. */
  readonly period: number;
}

export function clocks(core: Ropewalk, position: number): Clock[] {
  const row = core.sinusoidal({ dim: clockDim, positions: [position] });
  return Array.from(wavelengths(core, clockDim, 10000), (period, i) => ({
    sin: row[2 * i] ?? 0,
    cos: row[2 * i + 1] ?? 0,
    period,
  }));
}

export function clocksCode(position: number): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
// sin, cos, sin, cos, ...: two numbers for each clock.
const result = rw.sinusoidal({ dim: ${clockDim}, positions: [${position}] });
`;
}
