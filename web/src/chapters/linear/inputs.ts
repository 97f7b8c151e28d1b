// Queries, keys and values of the figures on linear attention, and their program's text. Know nothing of the DOM.
import type { NdArray } from 'ropewalk';
import { wordVector } from '../../programs/word-vector';

export { program as wordVectorSource } from '../../programs/word-vector.js?shown';

/** Random vectors with a name: [tokens, dim]. */
export function randomRows(name: string, tokens: number, dim: number): NdArray {
  const data = new Float32Array(tokens * dim);
  for (let t = 0; t < tokens; ++t) data.set(wordVector(`${name} ${t}`, dim), t * dim);
  return { data, shape: [tokens, dim] };
}

/** Values that make each result the weights themselves: ones on the diagonal, [size, size]. */
export function unitRows(size: number): NdArray {
  return {
    data: Float32Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 1 : 0)),
    shape: [size, size],
  };
}

export const randomRowsCode = `const rows = (name, tokens, D) => {
  const data = new Float32Array(tokens * D);
  for (let t = 0; t < tokens; ++t) data.set(wordVector(\`\${name} \${t}\`, D), t * D);
  return { data, shape: [tokens, D] };
};`;

export const unitRowsCode = `// With these values each result is a row of weights.
const unitRows = (size) => ({
  data: Float32Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 1 : 0)),
  shape: [size, size],
});`;
