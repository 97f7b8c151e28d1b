// Chapter: small transformers, trained on the page.
import type { Pitfall, Translated } from '../../../i18n/texts';

export const texts = {
  opening: [
    'Until here every weight on this page was random. In this chapter the weights learn. Your device trains small transformers from scratch, in the background, and draws what they can do after every few steps.',
    'The models of a figure have the same size, the same optimizer and the same training data. They differ in the position encoding, or in the form of attention, alone. A seed fixes all random numbers: the same seed gives the same curves on every device.',
  ],
  formula:
    '$p_t(y_t)$ is the probability that the model gives to the right token $y_t$ at place $t$. Training makes the loss smaller, step by step. A blind guess among 16 tokens has a loss of $ln 16$, which is 2.77; a model that is sure and right has 0.',
  seed: 'Seed',
  pace: 'Steps per second, at most',
  fullPace: 'no limit',
  steps: 'training steps',
  run: {
    start: 'Train',
    pause: 'Pause',
    goOn: 'Go on',
    again: 'Train again',
    step: (steps: string) => `${steps} steps`,
    over: 'Start over',
    progress: 'Progress of the training',
    done: 'Done.',
    failed: (reason: string) => `The training ended early: ${reason}`,
  },
  encodings: {
    none: 'None',
    alibi: 'ALiBi',
    t5: 'T5',
    shaw: 'Shaw',
    learned: 'Learned',
    sinusoidal: 'Sinusoidal',
    rope: 'RoPE',
    pope: 'PoPE',
  },
  now: 'your run',
  before: 'recorded: mean of three seeds',
  orderTitle: 'Who came before me?',
  orderProse: [
    'The first task is as plain as can be. A sequence has 32 random tokens, out of 16 kinds. At each place the model names the token before it. The model has one layer with two heads, and every token sees all others.',
  ],
  ask: {
    question: 'One of the models has no position encoding. How often does it name the token before, in the end?',
    answers: [
      ['Once in 16', 'That would be a blind guess. The model is a little better: it sees which tokens there are.'],
      ['About once in seven'],
      ['Nearly always', 'To this model the sequence is a bag. Every order of the same tokens looks the same.'],
    ],
    explanation:
      'The model sees which tokens are in the bag and how often. So it names the most frequent ones. On average that is right for 15% of the tokens, and no amount of training changes it.',
  },
  order: {
    task: 'Name',
    tasks: { previous: 'the token before', reverse: 'the sequence backwards' },
    measure: 'Show',
    measures: { share: 'share named right', loss: 'loss' },
    y: { share: 'share of tokens named right', loss: 'loss in nats' },
    label: 'What each model can do, by training steps',
    caption:
      'Eight models, trained side by side. All are tested on sequences that they are not trained on. Thin curves were recorded beforehand; yours appear over them. Point at a curve, or walk with Tab and the arrow keys, and read out all models at one step.',
    notYet: 'Nothing is trained yet. Press Train; the first differences show after about 60 steps.',
    one: (encoding: string, percent: string) => `${encoding} ${percent}%`,
    summary: (steps: string, all: readonly string[]) => `Named right after ${steps} steps: ${all.join(', ')}.`,
  },
  orderAfter: [
    'None and ALiBi fail, each for its own reason. Without an encoding there is no order at all. ALiBi subtracts the distance and drops its sign: the token before and the token after are equally near. In a model that looks back only, this costs nothing. Here it does.',
    'Now choose “the sequence backwards”. The first token has to look at the last one, the second at the last but one. No fixed distance leads there. The learned and the sinusoidal encoding succeed: they say where a token stands. T5, Shaw, RoPE and PoPE (RoPE with angles from positions alone) say how far two tokens are apart, and fail. So *relative* is no praise by itself. It suits language, where what matters is what stands nearby.',
  ],
  inductionTitle: 'Two heads that find each other',
  inductionProse: [
    'The second task takes two steps of thought. A sequence of random tokens repeats itself. Once a token has come up before, the model can predict the next one: it is whatever followed that token the last time.',
    'No single head can do that. A head of the first layer has to tell each token what stood before it. A head of the second layer can then look for the place whose *token before* is the present one, and copy what stands there. [Olsson et al. (2022)](https://arxiv.org/abs/2209.11895) found such pairs of heads in large language models and called the second one an induction head.',
  ],
  induction: {
    encoding: 'Position encoding',
    layers: 'Layers',
    measures: {
      share: 'Predicted right',
      previous: 'To the token before',
      followed: 'To what followed',
    },
    label: 'What the model and its heads can do, by training steps',
    y: 'share',
    head: (layer: string, head: string) => `Layer ${layer}, head ${head}`,
    legend: 'weight',
    query: 'query',
    key: 'key',
    later: 'A later token, which the query does not see.',
    cell: (q: string, at: string, k: string, of: string, weight: string) =>
      `Query ${q} at position ${at} gives key ${k} at position ${of} the weight ${weight}.`,
    caption:
      'First panel: repeated tokens that are predicted right. Second and third: the attention that the best head of the first layer gives to the token before, and the best head of the last layer to what followed the same token. Maps: what each head looks at in a sequence of 36 tokens that repeats after 12. Point at a step and see the maps as they were then.',
    notYet: 'Nothing is trained yet. Press Train; with RoPE the heads form between 200 and 350 steps.',
    summary: (steps: string, share: string, previous: string, followed: string, layers: string) =>
      `After ${steps} steps the share predicted right is ${share}. The best head of layer 1 gives ${previous} of its attention to the token before, the best of layer ${layers} gives ${followed} to what followed the same token.`,
  },
  inductionAfter: [
    'For 200 steps hardly anything happens. Then the stripes appear in both layers within some 100 steps, and the curve rises with them. Each head is of use only with the other one. That is why they come together, and all of a sudden.',
    'Try it with one layer: the model stays below one in ten. Try it without an encoding: it learns slowly and little, as nothing but the causal mask tells it what stands before.',
  ],
  lengthTitle: 'Over the cliff',
  lengthProse: [
    'The third task is a small language: the next token depends on the second and the fourth token before it. The model is trained on sequences of 32 tokens and tested on sequences of 128. What it needs is never more than four places away. So a text four times as long should be no harder.',
  ],
  length: {
    encoding: 'Train',
    base: 'Base of RoPE',
    readings: { asTrained: 'as trained', linear: 'PI', ntk: 'NTK', yarn: 'YaRN' },
    scaled: (reading: string) => `RoPE, ${reading}`,
    position: 'position',
    bin: (first: string, last: string) => `${first}–${last}`,
    label: 'Loss by position, beyond the trained length',
    y: 'loss in nats',
    caption:
      'The loss at each position, in groups of four. The dashed line marks the end of the trained length. The number over a panel is the mean beyond it. The language itself leaves about 0.93 there, less in some groups. With RoPE the same model also reads positions scaled by a factor of 4, without further training.',
    notYet: 'Nothing is trained yet. Press Train; the cliff shows after about 100 steps.',
    one: (reading: string, loss: string) => `With ${reading} it is ${loss} there.`,
    summary: (encoding: string, steps: string, within: string, beyond: string, scaled: readonly string[]) =>
      [
        `${encoding} after ${steps} steps: the loss is ${within} within the trained length and ${beyond} beyond it.`,
        ...scaled,
      ].join(' '),
  },
  lengthAfter: [
    'RoPE is among the best up to position 31 and falls off the cliff soon after it. So do the sinusoidal and the learned encoding. ALiBi, T5 and Shaw walk on. T5 and Shaw treat all distances beyond some limit alike, and ALiBi subtracts a little more at each step, as it did before. So a longer text brings little that is new.',
    'The scalings of chapter 8 help unequally. PI slows all pairs down, the fast ones too. The fast ones count single steps, and this task is about single steps: PI fails everywhere, even within the trained length. A short training mends part of it: see below. NTK spares the fast pairs and moves the cliff outwards. YaRN, with its ramp from 1 to 4 turns, removes it.',
    'The base is worth a try as well. With base 10 the slowest pair, too, turns nearly once within 32 positions. So hardly any angle is new, and the cliff is gone. With base 1,000,000 the slow pairs hardly turn in 128 positions, and the cliff lies farther out.',
  ],
  linearTitle: 'RoPE where there is no softmax',
  linearProse: [
    'The last chapter asked where RoPE belongs in linear attention. Here is the answer by experiment: the same small language, two layers, and the three places.',
  ],
  linear: {
    forms: {
      none: 'No positions',
      sinusoidal: 'Sinusoidal',
      numerator: 'RoPE, numerator',
      both: 'RoPE, both sums',
      cosine: 'RoPE, 1 + cos',
      softmax: 'Softmax, RoPE',
    },
    label: 'Loss of forms of linear attention, by training steps',
    y: 'loss in nats',
    caption:
      'Five models with linear attention, and one with softmax for comparison. All but the last two have the features elu + 1. The language itself leaves 0.97 on average.',
    notYet: 'Nothing is trained yet. Press Train; the curves part after about 100 steps.',
    one: (form: string, loss: string) => `${form} ${loss}`,
    summary: (steps: string, all: readonly string[]) => `Losses after ${steps} steps: ${all.join('; ')}.`,
  },
  linearAfter: [
    'RoPE in the numerator does best among the linear forms, with 1.40 against 1.82 without positions. Softmax with RoPE reaches 1.06: it can point at one token, and linear attention cannot. With both sums turned, the denominator can come near zero. That model ends up worse than the one without positions: its loss rises again after the first 130 steps.',
  ],
  furtherTitle: 'Two further experiments: a short training afterwards, and text',
  furtherTexts: () => import('./further-en'),
  pitfalls: [
    [
      '“The encoding that learns fastest here is the best.”',
      'The task needs nothing but position. It shows what an encoding can tell, not what a language model gains from it.',
      'Follows from the task.',
    ],
    [
      'Comparing two runs by one seed.',
      'With seed 3 RoPE stops at 81%, and Shaw at 88%. With the other seeds from 1 to 10 both reach 100%. Small models have their luck.',
      'Measured with these models. [Dodge et al. (2020)](https://arxiv.org/abs/2002.06305) found it in BERT.',
    ],
  ] as Pitfall[],
};

export type Texts = Translated<typeof texts>;
