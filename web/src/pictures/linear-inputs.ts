// Queries, keys and values of the figures on linear attention, and their program's text. Know nothing of the DOM.
import type { NdArray } from 'ropewalk';
import { wordVector } from './word-vector';
import source from './word-vector.js?raw';

export const wordVectorSource = source.slice(source.indexOf('export const')).replace('export ', '').trim();

/** Random vectors with a name: [tokens, dim]. */
export function randomRows(name: string, tokens: number, dim: number): NdArray {
  const rows = Array.from({ length: tokens }, (_, t) => wordVector(`${name} ${t}`, dim));
  return { data: Float32Array.from(rows.flat()), shape: [tokens, dim] };
}

/** Values that make each result the weights themselves: ones on the diagonal, [size, size]. */
export function unitRows(size: number): NdArray {
  return {
    data: Float32Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 1 : 0)),
    shape: [size, size],
  };
}

export const randomRowsCode = `const rows = (name, tokens, D) => ({
  data: Float32Array.from(Array.from({ length: tokens }, (_, t) => wordVector(\`\${name} \${t}\`, D)).flat()),
  shape: [tokens, D],
});`;

export const unitRowsCode = `// With these values each result is a row of weights.
const unitRows = (size) => ({
  data: Float32Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 1 : 0)),
  shape: [size, size],
});`;
