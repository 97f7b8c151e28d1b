// What the figures compute, as their programs show it.
// @ts-nocheck
/** @import { Ropewalk } from 'ropewalk' */

/**
 * The codes, [positions, bits] with the highest bit first, and how many bits change on the way to the next position.
 * @type {(rw: Ropewalk, bits: number) => { codes: Float32Array, flips: number[] }}
 */
export const binaryCodes = (rw, bits) => {
  const length = 2 ** bits;
  const codes = rw.binary({ bits, positions: { length }, msbFirst: true });
  const { data } = rw.analysis.pairwise({ data: codes, shape: [length, bits] }, 'hamming');
  const flips = Array.from({ length: length - 1 }, (_, p) => data[p * length + p + 1]);
  return { codes, flips };
};

/**
 * How far apart every two positions are, [positions, positions]: in bits, and as rows of a sinusoidal table.
 * @type {(rw: Ropewalk, bits: number) => Record<'inBits' | 'inWaves', Float32Array>}
 */
export const neighbours = (rw, bits) => {
  const [length, dim] = [2 ** bits, 32];
  const codes = rw.binary({ bits, positions: { length } });
  const waves = rw.sinusoidal({ dim, positions: { length } });
  return {
    inBits: rw.analysis.pairwise({ data: codes, shape: [length, bits] }, 'hamming').data,
    inWaves: rw.analysis.pairwise({ data: waves, shape: [length, dim] }, 'euclidean').data,
  };
};
