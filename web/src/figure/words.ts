// Cutting a sentence into words, and putting words in another order.

/** More words than this are left out of the picture: its cells would be too small to read on a phone. */
export const maxWords = 20;

// Scripts that put no space between words, with their full-width punctuation: there each character is a word.
const oneByOne =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\u3001-\\u303f\\uff01-\\uff65\\u2014\\u2026\\u201c\\u201d';
const word = new RegExp(`[${oneByOne}]|[^\\s${oneByOne}]+`, 'gu');

/** The words of a sentence: between spaces, or single characters in Chinese and Japanese. */
export function splitWords(sentence: string): string[] {
  return sentence.match(word) ?? [];
}

/** The sentence of some words. Characters that were cut from each other are joined again. */
export function joinWords(words: readonly string[]): string {
  const alone = new RegExp(`^[${oneByOne}]$`, 'u');
  return words.reduce((sentence, next, i) => {
    const touch = i === 0 || (alone.test(next) && alone.test(words[i - 1] ?? ''));
    return sentence + (touch ? '' : ' ') + next;
  }, '');
}

/**
 * An order of the words that reads differently from the present one, if there is any: entry i is the index of
 * the word that comes to place i.
 */
export function shuffledOrder(words: readonly string[]): number[] {
  const order = words.map((_, i) => i);
  if (new Set(words).size < 2) return order;
  do {
    for (let i = order.length - 1; i > 0; --i) {
      const j = Math.floor(Math.random() * (i + 1));
      [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
    }
  } while (order.every((from, to) => words[from] === words[to]));
  return order;
}
