// What comes with a decoder.
import type { Translated } from '../../../i18n/texts';

export const texts = {
  sample:
    'Emma was not at all sorry to see Mr. Elton go. Mr. Elton had been with them all the evening, and Emma wished Mr. Elton good night.',
  damageProse: [
    'This model has learnt something: a script of this project trained it on the novels of Jane Austen, and on nothing else but random tokens that repeat. Its tokens are pieces of words. Write a text of your own above, in English, and look through the heads: in layer 1 head 1 looks at the token before, and in layer 2 heads 2 to 4 look at what followed the same token earlier, where a name comes a second time. These are the two halves of *induction*. Below the maps, let the model go on from your text.',
    'How much of that hangs on positions? The loss of a token is −ln $p$, where $p$ is the probability that the model gave it after the tokens before it; $e$ to the mean of all losses is the perplexity, the number of tokens among which the model hesitates. The weights are the same in every row below. Only the positions that RoPE turns by, or the way it turns, differ.',
  ],
  damage: {
    caption: 'Loss of the text above, token by token, by the trained model as it is and with other positions.',
    change: 'Change',
    changes: {
      own: 'as trained',
      shuffled: 'positions shuffled',
      none: 'no rotation',
      pairing: 'other pairing',
      base: 'base 100',
      linear: 'PI, factor 4',
      ntk: 'NTK, factor 4',
      yarn: 'YaRN, factor 4',
    },
    table: 'Loss per token, and perplexity',
    corner: 'positions',
    loss: 'loss',
    perplexity: 'perplexity',
    tokens: 'Loss of each token',
    token: 'token',
    mean: (change: string, loss: string) => `${change}: ${loss}`,
    short: 'Write a text of at least two tokens above.',
    summary: (change: string, own: string, changed: string, factor: string) =>
      `Loss per token: ${own} as trained, ${changed} with this change (${change}). The model hesitates among ${factor} times as many tokens.`,
  },
  lengthTitle: 'A longer text than it was trained on',
  lengthProse: [
    'The small model was trained on 128 tokens at a time. It has never seen two tokens that are farther apart. What does it make of a longer text, and do the scalings of chapter 8 help?',
    'The figure cuts a text into windows, takes the loss of each token, and sorts the losses by how many tokens of its window a token sees. It does so four times over the same weights, without scaling, with PI, with NTK and with YaRN. Nothing is trained anew. The passage is from the last twentieth of *Persuasion*, which the model was not trained on. A text of your own measures your text; any other decoder above can be measured too, if it has a rotary encoding.',
  ],
  length: {
    caption:
      'Mean loss of a token by how many tokens it sees, with each scaling of the rotary encoding. The upright line is the length that the model was trained at.',
    text: (most: string) => `Text, up to ${most} characters; empty: a passage of Persuasion`,
    length: 'Tokens of a window',
    run: 'Measure',
    label: 'Loss by tokens seen and by scaling',
    x: 'tokens seen',
    y: 'loss per token (nats)',
    scalings: { none: 'unscaled', linear: 'PI', ntk: 'NTK', yarn: 'YaRN' },
    range: (first: string, last: string) => `${first} to ${last}`,
    trained: (length: string) => `trained at ${length}`,
    notYet: 'Nothing is measured yet.',
    short: 'The text has fewer than two tokens: there is nothing to measure. Write more.',
    within: (length: string, trained: string) =>
      `A window of ${length} tokens is not longer than the ${trained} that the model was trained at: the curves show nothing beyond.`,
    shorter: (count: string, trained: string) =>
      `The text has ${count} tokens, and the model was trained at ${trained}: the curves show nothing beyond. Write more.`,
    ends: (count: string, length: string) =>
      `The text has ${count} tokens, fewer than a window of ${length}: the curves end where it ends.`,
    one: (scaling: string, loss: string) => `${scaling} ${loss}`,
    summary: (count: string, trained: string, first: string, last: string, losses: readonly string[]) =>
      `${count} tokens of text, a model that was trained at ${trained}. Loss of tokens that see ${first} to ${last}: ${losses.join(', ')}.`,
  },
  lengthAfter: [
    'With the passage, 512 tokens and a factor of 4: without scaling the loss stays as low as in training up to 191 tokens. That is half as long again. From 256 tokens on it is about 4. PI lies at 4.0 to 4.3 everywhere, even within the trained length: a nat or more above YaRN. It slows down the fast pairs, which count single steps, and the weights misread them. Only further training would mend that. NTK holds as far as 383 tokens and then gives way. YaRN holds to the end, at 3.0.',
    'YaRN does not gain anything from the longer text either: with 449 tokens before it a token is no easier to predict than with 64. A scaling keeps a model from failing at a length that it was not trained at. The model has not learnt what to look for so far back. Each point is a mean over about 400 tokens, so a step of 0.2 from one point to the next may be the text; the four curves are of the same tokens, and differ by the scaling alone.',
  ],
};

export type DecoderTexts = Translated<typeof texts>;
