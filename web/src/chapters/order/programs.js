// What the figures compute, as their programs show it.
// @ts-nocheck
import { wordVector } from '../../programs/word-vector.js';
/** @import { LayerPosition, NdArray, Ropewalk } from 'ropewalk' */

/**
 * Attention weights of each head, [1, heads, T, T]: row i says how much word i takes from each word.
 * @type {(rw: Ropewalk, words: readonly string[],
 *   options: { heads: number, causal: boolean, position: LayerPosition }) => NdArray}
 */
export const attentionWeights = (rw, words, options) => {
  const modelDim = 64;
  const data = Float32Array.from(words.flatMap((word) => wordVector(word, modelDim)));
  const layer = rw.attentionLayer({ modelDim, seed: 1, ...options });
  const { scores } = layer.forward({ data, shape: [words.length, modelDim] }, { returnScores: 'probabilities' });
  layer.dispose();
  return scores;
};

export const outputDim = 16;

/**
 * What comes out of a layer for each word, [words, outputDim].
 * @type {(rw: Ropewalk, words: readonly string[], position: LayerPosition) => Float32Array}
 */
export const outputs = (rw, words, position) => {
  const data = Float32Array.from(words.flatMap((word) => wordVector(word, outputDim)));
  const layer = rw.attentionLayer({ modelDim: outputDim, heads: 2, position, seed: 1 });
  const { out } = layer.forward({ data, shape: [words.length, outputDim] });
  layer.dispose();
  return out.data;
};
