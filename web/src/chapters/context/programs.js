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
