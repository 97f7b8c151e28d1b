// The numbers of the algebra figures. Know nothing of the DOM.
import type { Ropewalk } from 'ropewalk';

/** Columns of the encoding whose shift is shown. */
export const shiftDim = 8;

// The products of some rows with one vector, as attention forms them before scale and softmax.
function products(core: Ropewalk, rows: Float32Array, vector: Float32Array): Float32Array {
  const dim = vector.length;
  const one = { data: vector, shape: [1, dim] };
  const many = { data: rows, shape: [rows.length / dim, dim] };
  return core.attention(many, one, one, { scale: 1, returnScores: 'raw' }).scores?.data ?? new Float32Array();
}

export interface Shift {
  /** M_k, [shiftDim, shiftDim] */
  readonly matrix: Float32Array;
  /** PE(p), M_k PE(p) and PE(p + k). */
  readonly before: Float32Array;
  readonly moved: Float32Array;
  readonly after: Float32Array;
}

export function shift(core: Ropewalk, p: number, k: number): Shift {
  const matrix = core.analysis.shiftMatrix({ dim: shiftDim, k }).data;
  const rows = core.sinusoidal({ dim: shiftDim, positions: [p, p + k] });
  const before = rows.slice(0, shiftDim);
  return { matrix, before, moved: products(core, matrix, before), after: rows.slice(shiftDim) };
}

export function shiftCode(p: number, k: number): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const matrix = rw.analysis.shiftMatrix({ dim: ${shiftDim}, k: ${k} });
const rows = rw.sinusoidal({ dim: ${shiftDim}, positions: [${p}, ${p + k}] });
const [before, after] = [rows.slice(0, ${shiftDim}), rows.slice(${shiftDim})];

// Matrix times vector: the raw scores of the matrix's rows with it.
const vector = { data: before, shape: [1, ${shiftDim}] };
const { scores } = rw.attention(matrix, vector, vector, { scale: 1, returnScores: 'raw' });
const result = [...matrix.data, ...before, ...scores.data, ...after];
`;
}

export const reach = 48;

/** PE(d) . M_s PE(0) at every distance d from -reach to reach. */
export function dotCurve(core: Ropewalk, dim: number, s: number): Float32Array {
  const rows = core.sinusoidal({ dim, positions: { length: 2 * reach + 1, offset: -reach } });
  const start = core.sinusoidal({ dim, positions: [0] });
  const key = s === 0 ? start : products(core, core.analysis.shiftMatrix({ dim, k: s }).data, start);
  return products(core, rows, key);
}

export function dotCode(dim: number, s: number): string {
  const key =
    s === 0
      ? `const key = { data: start, shape: [1, ${dim}] };`
      : `// The matrix that a head may learn to put between: the shift by ${s}.
const matrix = rw.analysis.shiftMatrix({ dim: ${dim}, k: ${s} });
const key = { data: scoresOf(matrix, { data: start, shape: [1, ${dim}] }), shape: [1, ${dim}] };`;
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const scoresOf = (rows, one) =>
  rw.attention(rows, one, one, { scale: 1, returnScores: 'raw' }).scores.data;

const positions = { length: ${2 * reach + 1}, offset: ${-reach} };
const rows = { data: rw.sinusoidal({ dim: ${dim}, positions }), shape: [${2 * reach + 1}, ${dim}] };
const start = rw.sinusoidal({ dim: ${dim}, positions: [0] });
${key}
const result = scoresOf(rows, key);   // at distances ${-reach} to ${reach}
`;
}
