// The numbers of the words figure: what comes out of a small attention layer for each word, in the order that the words
// stand in. Knows nothing of the DOM.
import type { Ropewalk } from 'ropewalk';
import { literal } from '../../programs/literal';
import { wordVector } from '../../programs/word-vector';
import { program as wordSource } from '../../programs/word-vector.js?shown';
import { type EncodingName, encodings } from './encodings';

/** Numbers of a word, going in and coming out. */
export const outputDim = 16;
const layerOf = (encoding: EncodingName) => ({
  modelDim: outputDim,
  heads: 2,
  position: encodings[encoding],
  seed: 1,
});

/** [words, outputDim] */
export function outputs(core: Ropewalk, words: readonly string[], encoding: EncodingName): Float32Array {
  const data = Float32Array.from(words.flatMap((word) => wordVector(word, outputDim)));
  const layer = core.attentionLayer(layerOf(encoding));
  try {
    return layer.forward({ data, shape: [words.length, outputDim] }).out.data;
  } finally {
    layer.dispose();
  }
}

/** For each place, the largest difference between what the word there gives now and what it gave where it stood. */
export function changes(now: Float32Array, before: Float32Array, order: readonly number[]): number[] {
  return order.map((from, to) => {
    const old = before.subarray(from * outputDim, (from + 1) * outputDim);
    return old.reduce((most, value, d) => Math.max(most, Math.abs(value - (now[to * outputDim + d] ?? 0))), 0);
  });
}

/** A program that computes the same numbers. */
export function outputsCode(words: readonly string[], encoding: EncodingName): string {
  return `import { load } from 'ropewalk';

${wordSource}

const words = ${literal(words)};
const data = Float32Array.from(
  words.flatMap((word) => wordVector(word, ${outputDim})),
);

const rw = await load({ simd: 'deterministic' });
const layer = rw.attentionLayer(${literal(layerOf(encoding))});
const { out } = layer.forward({ data, shape: [words.length, ${outputDim}] });
const result = out.data;   // [words, ${outputDim}]
`;
}
