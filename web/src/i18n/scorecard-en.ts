// The scorecard.
import type { Translated } from './texts';

export const texts = {
  title: 'The scorecard so far',
  // Each position has an encoding of its own; near ones look near; one operation leads from each to the one further on.
  criteria: ['unique', 'near is near', 'steps add up', 'longer texts'],
  marks: { yes: 'yes', partly: 'partly', no: 'no' },
  rows: {
    binary: [
      'Binary',
      'Neighbours may differ in every bit, no one matrix leads a step further, and the last bit is the end.',
    ],
    sinusoidal: ['Sinusoidal', 'Has a row for every position; a model has not seen those beyond its training.'],
    learned: ['Learned', 'Is what training makes of it, and ends with its table.'],
    shaw: ['Shaw', 'Knows the distance itself; beyond $k$ all distances are one.'],
    t5: ['T5', 'Knows the distance itself; far ones share buckets.'],
    alibi: [
      'ALiBi',
      'Knows the distance without its sign. Trained on 1,024 tokens, it reads 2,048 as well as a sinusoidal model that was trained on 2,048 ([Press et al.](https://arxiv.org/abs/2108.12409)). It can only fade.',
    ],
    rope: [
      'RoPE',
      'Has an angle for every position; beyond its training it needs chapter 8. On long Chinese law cases (CAIL2019-SCM), within the 1,536 tokens of its training, accuracy rises from 68.29% with 512 tokens to 69.79% with 1,024, where BERT with 512 has 67.77% ([RoFormer](https://arxiv.org/abs/2104.09864)). Chapter 11 trains such models before your eyes.',
    ],
  },
};

export type ScorecardTexts = Translated<typeof texts>;
