// The needles under the title, and the words that walk. Knows nothing of the DOM.
import type { Ropewalk } from 'ropewalk';
import { wordVector } from '../programs/word-vector.js';

// A small base: with that of large models, most needles would not stir within a title.
const options = { headDim: 24, base: 100 };

/** By how many radians each pair of a small head is turned from place to place. */
export function frequenciesOf(core: Ropewalk): number[] {
  const plan = core.rope(options);
  const frequencies = Array.from(plan.inverseFrequencies);
  plan.dispose();
  return frequencies;
}

/** The score of two words, by their places: the first is the query, the second the key. */
export function walkers(core: Ropewalk, words: readonly string[]) {
  const plan = core.rope(options);
  const vectors = words.map((word) => Float32Array.from(wordVector(word, options.headDim)));
  return {
    score(...places: readonly number[]): number {
      const [query = [], key = []] = vectors.map((vector, i) => plan.rotate(vector, { positions: [places[i] ?? 0] }));
      return Array.from(query).reduce((sum, value, i) => sum + value * (key[i] ?? 0), 0);
    },
    dispose: () => plan.dispose(),
  };
}
