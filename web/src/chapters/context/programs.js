// What the figures compute, as their programs show it.
// @ts-nocheck
/** @import { RopeScaling, Ropewalk } from 'ropewalk' */

export const contextHead = 64;

/**
 * Positions of one turn, for each pair, as trained and with a method; and what the method multiplies scores with.
 * @type {(rw: Ropewalk, base: number, scaling: RopeScaling) =>
 *   { trained: Float64Array, scaled: Float64Array, attentionFactor: number }}
 */
export const waves = (rw, base, scaling) => {
  const before = rw.rope({ headDim: contextHead, base });
  const after = rw.rope({ headDim: contextHead, base, scaling });
  const { wavelengths: trained } = before;
  const { wavelengths: scaled, attentionFactor } = after;
  for (const plan of [before, after]) plan.dispose();
  return { trained, scaled, attentionFactor };
};

export const errorHead = 128;
export const exponents = Array.from({ length: 21 }, (_, i) => i + 4);

/**
 * The largest error of cos and sin, over all pairs, of angles formed in float32.
 * @type {(rw: Ropewalk, base: number) => number[]}
 */
export const angleErrors = (rw, base) => {
  const exact = rw.rope({ headDim: errorHead, base });
  const rounded = rw.rope({ headDim: errorHead, base, angles: 'float32' });
  const worst = (p, q) => p.reduce((most, value, i) => Math.max(most, Math.abs(value - q[i])), 0);
  // Of the 16 positions that end at each power of two.
  const errors = exponents.map((exponent) => {
    const at = { length: 16, offset: 2 ** exponent - 16 };
    const [a, b] = [exact.tables(at), rounded.tables(at)];
    return Math.max(worst(a.cos, b.cos), worst(a.sin, b.sin));
  });
  for (const plan of [exact, rounded]) plan.dispose();
  return errors;
};
