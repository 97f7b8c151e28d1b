// Chapter: long-range decay.
import type { Pitfall, Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'It is often said that RoPE makes the score fall with distance. That would suit language, where near words matter most. This chapter checks how far that is true. Three different curves are called “decay”, and they say different things.',
    'The first is the mean of the cosines of all pairs. It is the score of a query with a key that equals it and has the same length in every pair. The second was drawn by Su in the RoPE paper. It is not a score; it is the shape of an upper bound on scores.',
  ],
  distance: 'distance m − n',
  everyNth: (step: string) => `distance m − n, at every ${step}th`,
  dim: 'Head size D',
  base: 'Base',
  reach: 'Distances up to',
  curves: {
    label: 'Two curves by distance',
    y: 'relative to distance 0',
    cosines: 'mean cosine (equal query and key)',
    shape: 'Su’s curve (shape of a bound)',
    caption:
      'Both curves start at 1. The first is a score, in a special case; the second is the shape of a bound on scores.',
    summary: (reach: string, cosines: string, shape: string, rises: string, steps: string, each: string) =>
      `At distance ${reach} the mean cosine is ${cosines}, Su’s curve ${shape}. In ${rises} of ${steps} steps${each === '1' ? '' : ` of ${each} positions`} the mean cosine goes up, not down.`,
  },
  boundProse: [
    'Both do fall at first, and both swing. A larger base makes the fall slower: after 256 words, in a head of size 128, the mean cosine stands at 0.32 with base 10,000, and at 0.56 with base 500,000, which Llama 3 has. So “decay” is a property of the frequencies, and the base sets its reach.',
    'Where does the second curve come from? Write the score as a sum over pairs, each a complex number $h_i$ turned by its angle, and rearrange the sum by parts (Abel’s trick). The size of the score is at most the largest jump between neighbouring $h_i$ times a sum that depends on distance alone.',
  ],
  formula:
    '$h_i$ is the product of pair $i$ of the query with the conjugate of that of the key; after the last pair it counts as 0. The score itself is the real part of the sum, so it is no larger.',
  bound: {
    seed: 'Query and key number',
    label: 'Size of the score and its bound, by distance',
    y: 'size, logarithmic',
    score: 'size of the score',
    bound: 'Su’s bound',
    caption:
      'One random query and key: the size of their score at each distance, and the bound on it. The axis is logarithmic, or the score could not be seen below the bound.',
    summary: (first: string, last: string, ratio: string) =>
      `The score’s size is ${first} at distance 0 and ${last} at 256. The bound is always more than ${ratio} times the score.`,
  },
  randomProse: [
    'The bound holds, and it is loose. The score may do anything below it. A falling bound does not make the score fall.',
    'Now the third curve. Take random queries and keys, which have nothing to do with each other, and average their scores at each distance.',
  ],
  ask: {
    question: 'For random queries and keys: how does the average score change with distance?',
    answers: [
      ['It falls towards zero.', 'That is the first curve of this chapter, where the key equals the query.'],
      ['It is about zero at every distance.'],
      ['It grows.', 'A turn makes no vector longer, so no score can grow beyond the product of the lengths.'],
    ],
    explanation:
      'Turning a random key gives just another random key. The mean is zero from the start, and the spread is the same everywhere: rotation keeps lengths. There is nothing that could fade.',
  },
  random: {
    pairs: 'Queries and keys',
    label: 'Scores of random queries and keys by distance',
    y: 'score divided by D',
    drawn: (pairs: string, wanted: string) => `Drawn now: ${pairs} of ${wanted}.`,
    mean: 'mean',
    spread: 'mean ± standard deviation',
    caption:
      'Scores of random queries and keys. Thirty are drawn at once; press Run for as many as the slider says. They are computed in the background and can be cancelled.',
    summary: (pairs: string, mean: string, first: string, last: string) =>
      `${pairs} queries and keys: the mean is never farther from zero than ${mean}. The spread is ${first} at distance 0 and ${last} at 256.`,
  },
  after: [
    'So the honest statement is this. Where query and key agree in all pairs, RoPE’s score falls with distance, with swings. Where they do not agree, it need not. Which pairs a trained model uses to look far, and which to look near, is contested (chapter 6).',
    'Encodings that fade by construction exist: ALiBi subtracts the distance, and xPos ([Sun et al., 2022](https://arxiv.org/abs/2212.10554)) lets each pair shrink. RoPE by itself only turns.',
  ],
  pitfalls: [
    [
      '“RoPE’s scores decay with distance.”',
      'What decays is an upper bound, and only roughly. Su himself calls it very coarse when readers of his article ask.',
      'Found in [RoFormer](https://arxiv.org/abs/2104.09864), in its section on long-term decay, and in [Su’s article](https://www.kexue.fm/archives/8265).',
    ],
    [
      'Reading the swings as a flaw.',
      'Decimal digits swing as well, Su answers: the last one returns to 0 every ten steps. Swinging at many speeds is how positions are told apart.',
      'Found in a reader’s comment on the same article.',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
