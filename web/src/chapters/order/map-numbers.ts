// The numbers of the attention figure: words through a small seeded attention layer. Knows nothing of the DOM.
import type { Ropewalk } from 'ropewalk';
import { literal } from '../../programs/literal';
import { wordVector } from '../../programs/word-vector';
import { program as wordSource } from '../../programs/word-vector.js?shown';
import { type EncodingName, encodings } from './encodings';

/** Width of a word's vector; every number of heads on offer divides it. */
export const modelDim = 64;
const seed = 1;

export interface AttentionOptions {
  readonly encoding: EncodingName;
  readonly heads: number;
  readonly causal: boolean;
}

/** Attention weights of each head, [T, T] row major: row i says how much word i takes from each word. */
export function attentionWeights(core: Ropewalk, words: readonly string[], options: AttentionOptions): Float32Array[] {
  if (words.length === 0) return [];
  const { encoding, heads, causal } = options;
  const data = Float32Array.from(words.flatMap((word) => wordVector(word, modelDim)));
  const layer = core.attentionLayer({ modelDim, heads, causal, position: encodings[encoding], seed });
  try {
    const { scores } = layer.forward({ data, shape: [words.length, modelDim] }, { returnScores: 'probabilities' });
    const size = words.length ** 2;
    return Array.from(
      { length: heads },
      (_, h) => scores?.data.subarray(h * size, (h + 1) * size) ?? new Float32Array(size),
    );
  } finally {
    layer.dispose();
  }
}

/** The largest difference between the rows of some words, over all heads. */
export function rowSpread(weights: readonly Float32Array[], words: number, rows: readonly number[]): number {
  let spread = 0;
  for (const head of weights) {
    for (let column = 0; column < words; ++column) {
      const entries = rows.map((row) => head[row * words + column] ?? 0);
      spread = Math.max(spread, Math.max(...entries) - Math.min(...entries));
    }
  }
  return spread;
}

/** The places of the first word that stands in more than one, or none. */
export function repeatedWord(words: readonly string[]): number[] {
  const first = words.find((word, i) => words.indexOf(word, i + 1) >= 0);
  return first === undefined ? [] : words.flatMap((word, i) => (word === first ? [i] : []));
}

/** A program that computes the same weights, for whoever wants to go on from here. */
export function attentionCode(words: readonly string[], { encoding, heads, causal }: AttentionOptions): string {
  return `import { load } from 'ropewalk';

${wordSource}

const words = ${literal(words)};
const data = Float32Array.from(
  words.flatMap((word) => wordVector(word, ${modelDim})),
);

const rw = await load({ simd: 'deterministic' });
const layer = rw.attentionLayer({
  modelDim: ${modelDim},
  heads: ${heads},
  causal: ${causal},
  position: ${literal(encodings[encoding])},
  seed: ${seed},
});
const { scores } = layer.forward(
  { data, shape: [words.length, ${modelDim}] },
  { returnScores: 'probabilities' },
);
const result = scores.data;   // [1, ${heads}, ${words.length}, ${words.length}]
`;
}
