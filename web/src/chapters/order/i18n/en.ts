// Chapter: why order is lost.
import type { Pitfall, Translated } from '../../../i18n/texts';

const times = (n: number): string => (n === 2 ? 'twice' : `${n} times`);

export const texts = {
  encodings: { none: 'None', sinusoidal: 'Sinusoidal', rope: 'RoPE' },
  opening: [
    '“The dog chased the cat” and “the cat chased the dog” are made of the same words. You hear the difference at once. An attention layer does not.',
    'The layer lets every word look at every other and mix what it finds. Nothing in that recipe says where a word stands. Put the words in another order, and each word still finds the same others, only in other places.',
    'Take hold of a word in the figure and drag it. Each word goes into a small attention layer as sixteen numbers, and the sixteen numbers that come out are drawn as the column below it.',
  ],
  ask: {
    question: 'The encoding is set to None. You drag the first word to the end: what becomes of the columns?',
    answers: [
      [
        'Only the column of the word that moved changes.',
        'A word is not told where it stands, so its column has no reason to change.',
      ],
      ['Each column goes along with its word; none of them changes.'],
      ['All of them change.', 'A sum has no order. Only an encoding would bring one in.'],
    ],
    explanation:
      'The set of columns stays as it was. Now choose RoPE or Sinusoidal and drag again: every word that has other neighbours at other distances gets other numbers.',
  },
  encoding: 'Position encoding',
  words: {
    label: 'Words',
    sentence: 'the dog chased the cat',
    outputs: [] as readonly number[], // of this sentence, from web/first-view.ts
    shuffle: 'Shuffle',
    row: 'Words in their order; left and right arrow keys move the one in focus',
    help: 'Left and right arrow keys move this word',
    same: 'same',
    changed: (by: string) => `±${by}`,
    caption:
      'What an attention layer makes of each word: sixteen numbers, purple below zero, green above. The number below a column is its largest difference from the column of the same word in the order that you typed.',
    asWritten: 'The words stand as you typed them. Drag one, or move it with the arrow keys.',
    equal: 'Another order, the same columns: no word’s output has changed.',
    different: (by: string) => `Another order, other columns: numbers have changed by at most ${by}.`,
    table: 'The layer’s output for each word, in the present order',
    corner: 'word',
  },
  inside: [
    'Why is that so? Each word asks a question, its *query*, and shows a label, its *key*. The better a label answers the question, the more is taken of what stands behind it, its *value*. These shares form a row of numbers that add up to one.',
    'A query and a key are made from the word alone. Two copies of a word ask the same question and get the same row. The place of a word plays no part.',
  ],
  formula: 'Row $i$ of $A$ holds what word $i$ takes from every word $j$; $D$ is the size of a head.',
  after: [
    'The name for this is *equivariance*: the output is shuffled exactly as the input was, and nothing else happens. A *position encoding* ends it. The sinusoidal one adds to each word a pattern of waves that depends on its place; the rotary one, RoPE, turns queries and keys by angles that grow with the place. The rest of this page is about how they do that, and what they can and cannot know afterwards.',
    'The weights of these layers are random, from a fixed seed, and nobody has trained them. Do not search the pictures for grammar. Watch what changes and what does not.',
  ],
  map: {
    sentence: 'the dog chased the cat and the cat ran',
    label: 'Sentence',
    heads: 'Heads',
    causal: 'Causal: look back only',
    shuffle: 'Shuffle words',
    caption:
      'Attention weights of a small layer: which word (row) looks at which (column). Equal words enter it as equal vectors.',
    head: (head: string) => `Head ${head}`,
    plot: (head: string) => `Attention weights of head ${head}; arrow keys move from cell to cell`,
    legend: 'Weight',
    masked: 'may not look',
    word: (word: string) => `“${word}”`,
    wordAt: (word: string, position: string) => `“${word}” (position ${position})`,
    looks: (head: string, from: string, to: string, weight: string) =>
      `head ${head}: ${from} looks at ${to} with ${weight}`,
    hidden: (head: string, from: string, to: string) =>
      `head ${head}: ${from} may not look at ${to}, which comes later`,
    hint: 'Point at a cell or touch it, or go to a square with Tab and use the arrow keys.',
    empty: 'Type a word or two.',
    tooMany: (used: string, all: string) => `The picture shows the first ${used} of ${all} words.`,
    single: 'A single word can only look at itself.',
    rowsEqual: (word: string, n: number) => `“${word}” stands here ${times(n)}, and its rows are equal.`,
    rowsDiffer: (word: string, n: number, spread: string) =>
      `“${word}” stands here ${times(n)}, and its rows differ by up to ${spread}.`,
    noRepeat: 'No word stands here twice. Repeat one, and compare its rows.',
    causalLeaks: (compared: string) =>
      `${compared} With the causal mask a word sees only itself and what came before: so the mask alone already tells early from late.`,
    table: (head: string) => `Head ${head}: rows look at columns`,
    corner: 'looks at',
  },
  pitfalls: [
    [
      '“Self-attention is permutation *invariant*.”',
      'It is *equivariant*. Invariant would mean that the output does not change at all; it does, it is shuffled along with the input. Only what you sum or average over all words afterwards is invariant.',
      'Found in the blog post “Position Embedding” (in Chinese), section 1.',
    ],
    [
      '“Without an encoding a model knows nothing of order.”',
      'A causal mask is a hint of its own: the first word sees one word, the second two. Decoders without any encoding do learn something from that ([Haviv et al., 2022](https://arxiv.org/abs/2203.16634)). Tick the box under More settings and compare the rows of a repeated word.',
      'Found in the notes “Positional Embeddings” (in Chinese), section 1.',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
