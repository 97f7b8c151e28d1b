// A word's vector, made from the word itself: the same word always has the same vector, another word another one.
// FNV-1a over its letters seeds Mulberry32; entries are uniform with variance 1, as after a normalisation.
// These are inputs, not results: they do not come from a trained embedding.
//
// Plain JavaScript with its types in this comment, because the page shows the function's text as part of the code
// that makes its picture, and what is shown has to be what ran.

/** @type {(word: string, size: number) => number[]} */
export const wordVector = (word, size) => {
  let state = 2166136261;
  for (const letter of word) {
    state = Math.imul(state ^ Number(letter.codePointAt(0)), 16777619);
  }
  const vector = [];
  while (vector.length < size) {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    vector.push(Math.sqrt(3) * (((bits ^ (bits >>> 14)) >>> 0) / 2 ** 31 - 1));
  }
  return vector;
};
