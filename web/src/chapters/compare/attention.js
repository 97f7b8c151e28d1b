// Attention with each encoding, on the same numbers as the programs in numpy/ and pytorch/ beside this file. What the
// figure shows is what ran.
// @ts-nocheck
/** @import { AttentionOptions, NdArray, Ropewalk, TensorInput } from 'ropewalk' */
/** @typedef {(rw: Ropewalk) => { scores: NdArray, out: NdArray }} Attend */

/**
 * Stands in for trained numbers; the same in every library.
 * @type {(seed: number, shape: readonly number[], scale?: number) => NdArray}
 */
export const numbers = (seed, shape, scale = 1) => {
  const count = shape.reduce((a, b) => a * b);
  return { data: Float32Array.from({ length: count }, (_, i) => scale * Math.sin(seed * (i + 1))), shape };
};

export const heads = 2;
export const tokens = 8;
export const headDim = 8;

/**
 * Queries, keys and values, [heads, tokens, headDim], and the attention between them: weights and what they mix.
 * @type {(rw: Ropewalk, options: AttentionOptions) => { scores: NdArray, out: NdArray }}
 */
export const attend = (rw, options) => {
  const [q, k, v] = [1.1, 1.3, 1.7].map((seed) => numbers(seed, [heads, tokens, headDim]));
  return rw.attention(q, k, v, { ...options, returnScores: 'probabilities' });
};

/**
 * Words with their positions added, [tokens, heads headDim], projected, and the attention between them.
 * @type {(rw: Ropewalk, x: TensorInput) => { scores: NdArray, out: NdArray }}
 */
export const attendWords = (rw, x) => {
  const dim = heads * headDim;
  const [q, k, v] = [1.1, 1.3, 1.7].map((seed) => {
    const layer = rw.linear({ weight: numbers(seed, [dim, dim], 1 / 4) });
    const made = layer.apply(x);
    layer.dispose();
    return made;
  });
  return rw.attention(q, k, v, { heads, returnScores: 'probabilities' });
};

/** @type {Attend} */
export const none = (rw) => attend(rw, { position: { encoding: 'none' } });

/** @type {Attend} */
export const sinusoidal = (rw) => {
  const words = numbers(0.9, [tokens, heads * headDim]);
  const waves = rw.sinusoidal({ dim: heads * headDim, positions: { length: tokens } });
  return attendWords(rw, { ...words, data: words.data.map((value, i) => value + waves[i]) });
};

/** @type {Attend} */
export const learned = (rw) => {
  const shape = [tokens, heads * headDim];
  return attendWords(rw, rw.learned(numbers(0.9, shape), { table: numbers(2.3, shape) }));
};

/** @type {Attend} */
export const shaw = (rw) => {
  const reach = 2; // farther keys share the last row
  const [keys, values] = [2.3, 2.9].map((seed) => numbers(seed, [2 * reach + 1, headDim]));
  return attend(rw, { position: { encoding: 'shaw', keys, values } });
};

/** @type {Attend} */
export const m3 = (rw) => {
  const table = numbers(2.3, [2 * tokens - 1, headDim]);
  return attend(rw, { position: { encoding: 'm3', table, sign: 'key-minus-query' } });
};

/** @type {Attend} */
export const m4 = (rw) => {
  const table = numbers(2.3, [2 * tokens - 1, headDim]);
  return attend(rw, { position: { encoding: 'relative_key_query', table, sign: 'key-minus-query' } });
};

/** @type {Attend} */
export const t5 = (rw) => {
  const buckets = { numBuckets: 8, maxDistance: 16 }; // 32 and 128 in T5
  const table = numbers(2.3, [buckets.numBuckets, heads]);
  // T5 does not divide by the root of the head size.
  return attend(rw, { scale: 1, position: { encoding: 't5', table, ...buckets } });
};

/** @type {Attend} */
export const alibi = (rw) => attend(rw, { causal: true, position: { encoding: 'alibi' } });

/** @type {Attend} */
export const kerple = (rw) => {
  // Learned, a number above 0 for each head.
  const [r1, r2] = [Float32Array.of(1, 1), Float32Array.of(1, 0.5)];
  return attend(rw, { position: { encoding: 'kerple', r1, r2 } });
};

/** @type {Attend} */
export const rope = (rw) => {
  const plan = rw.rope({ headDim, pairing: 'interleaved' });
  const made = attend(rw, { position: { encoding: 'rope', plan } });
  plan.dispose();
  return made;
};

/** @type {Attend} */
export const ropeHalf = (rw) => {
  const plan = rw.rope({ headDim, pairing: 'half' });
  const made = attend(rw, { position: { encoding: 'rope', plan } });
  plan.dispose();
  return made;
};

/** @type {Attend} */
export const xpos = (rw) => {
  // The scale base is 512 by default; 8 shows on few tokens.
  const plan = rw.rope({ headDim, pairing: 'interleaved', xpos: { scaleBase: 8 } });
  const made = attend(rw, { causal: true, position: { encoding: 'rope', plan } });
  plan.dispose();
  return made;
};

/** Each of them, by the name that its program in Python has too. */
export const attentions = {
  none,
  sinusoidal,
  learned,
  shaw,
  m3,
  m4,
  t5,
  alibi,
  kerple,
  rope,
  ropeHalf,
  xpos,
};
