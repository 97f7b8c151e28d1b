// What the figures compute, as their programs show it.
// @ts-nocheck
/** @import { RopeAxes, Ropewalk } from 'ropewalk' */

export const headDim = 64;
export const side = 8;

/**
 * The score of one patch's query with every patch's key, all vectors being ones, divided by D: [side, side].
 * @type {(rw: Ropewalk, options: { base: number, axes?: RopeAxes }, query: number) => Float32Array}
 */
export const gridScores = (rw, { base, axes }, query) => {
  const patches = Array.from({ length: side * side }, (_, i) => i);
  const rows = patches.map((patch) => Math.floor(patch / side));
  const columns = patches.map((patch) => patch % side);
  const plan = rw.rope({ headDim, base, ...(axes && { axes }) });
  const ones = new Float32Array(patches.length * headDim).fill(1);
  const turned = plan.rotate(ones, { positions: axes ? [rows, columns] : patches });
  plan.dispose();
  const keys = { data: turned, shape: [patches.length, headDim] };
  const one = { data: turned.slice(query * headDim, (query + 1) * headDim), shape: [1, headDim] };
  return rw.attention(one, keys, keys, { scale: 1 / headDim, returnScores: 'raw' }).scores.data;
};

/**
 * Which axis each pair follows.
 * @type {(rw: Ropewalk, axes: RopeAxes) => Int32Array}
 */
export const axisOfPairs = (rw, axes) => {
  const plan = rw.rope({ headDim, axes });
  // Move one axis at a time and see which pairs turn.
  const { sin } = plan.tables([
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ]);
  plan.dispose();
  const pairs = headDim / 2;
  return Int32Array.from({ length: pairs }, (_, i) => [0, 1, 2].findIndex((axis) => sin[axis * pairs + i] !== 0));
};
