// The numbers in the texts of the attention figure. Does not use the DOM.

/** [T, T] for each head. */
export function mapsOf(weights: ArrayLike<number>, heads: number): Float32Array[] {
  const size = weights.length / heads;
  return Array.from({ length: heads }, (_, h) => Float32Array.from(weights).subarray(h * size, (h + 1) * size));
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

/** The places of the first word that is in more than one, or none. */
export function repeatedWord(words: readonly string[]): number[] {
  const first = words.find((word, i) => words.indexOf(word, i + 1) >= 0);
  return first === undefined ? [] : words.flatMap((word, i) => (word === first ? [i] : []));
}
