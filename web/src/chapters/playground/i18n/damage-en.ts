// What comes with the trained model.
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
};

export type DamageTexts = Translated<typeof texts>;
