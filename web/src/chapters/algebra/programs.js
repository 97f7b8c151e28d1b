// What the figures compute, as their programs show it.
// @ts-nocheck
/** @import { NdArray, Ropewalk } from 'ropewalk' */

export const shiftDim = 8;

/** @type {(rw: Ropewalk, rows: NdArray, vector: Float32Array) => Float32Array} */
export const products = (rw, rows, vector) => {
  const one = { data: vector, shape: [1, vector.length] };
  // As attention forms them, before scale and softmax.
  return rw.attention(rows, one, one, { scale: 1, returnScores: 'raw' }).scores.data;
};

/** @type {(rw: Ropewalk, p: number, k: number) => Record<'matrix' | 'before' | 'moved' | 'after', Float32Array>} */
export const shift = (rw, p, k) => {
  const matrix = rw.analysis.shiftMatrix({ dim: shiftDim, k });
  const rows = rw.sinusoidal({ dim: shiftDim, positions: [p, p + k] });
  const [before, after] = [rows.slice(0, shiftDim), rows.slice(shiftDim)];
  return { matrix: matrix.data, before, moved: products(rw, matrix, before), after };
};

export const reach = 48;

/** @type {(rw: Ropewalk, dim: number, s: number) => Float32Array} */
export const dotCurve = (rw, dim, s) => {
  const positions = { length: 2 * reach + 1, offset: -reach };
  const rows = { data: rw.sinusoidal({ dim, positions }), shape: [2 * reach + 1, dim] };
  const start = rw.sinusoidal({ dim, positions: [0] });
  // The matrix that a head may learn to put between: the shift by s.
  const key = s === 0 ? start : products(rw, rw.analysis.shiftMatrix({ dim, k: s }), start);
  return products(rw, rows, key); // at distances -reach to reach
};
