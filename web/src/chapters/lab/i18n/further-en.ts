// The lab's further experiments.
import type { Translated } from '../../../i18n/texts';

export const texts = {
  tuningTitle: 'A short training afterwards',
  tuningProse: [
    'Scaled positions are new to a model that was not trained with them. How soon does it get used to them? A model with RoPE learns the small language at 32 tokens, as in the figure of the length cliff. Then four copies of it are trained at 128 tokens, for 100 steps, each with a scaling of its own. They read the same sequences, eight in a step.',
  ],
  tuning: {
    label: 'Loss at 128 tokens by scaling, before a short training there and after it',
    y: 'loss at 128 tokens, in nats',
    end: (before: string, steps: string) => `${before} + ${steps}`,
    caption:
      'The mean loss over 128 tokens. Left of the dashed line one model is trained at 32 tokens, and read with each scaling. Right of it each copy is trained at 128 tokens with its own scaling; these steps are drawn five times as wide. The scalings have the factor 4.',
    notYet: 'Nothing is trained yet. Press Train; the short training begins after 500 steps.',
    one: (reading: string, loss: string) => `${reading} ${loss}`,
    summary: (before: string, steps: string, all: readonly string[]) =>
      `Loss at 128 tokens after ${before} steps at 32 tokens and ${steps} at 128: ${all.join('; ')}.`,
  },
  tuningAfter: [
    'YaRN needs 10 steps. NTK needs about 50, and so does RoPE without any scaling: it only has to meet the new angles. PI still stands at 1.44 after 100 steps. All of its angles are familiar, but neighbours have moved together, and the model has to learn again to tell them apart.',
    'These 100 steps are a fifth of the training before. In large models a short training is a far smaller part, and PI took at most 1,000 steps ([Chen et al., 2023](https://arxiv.org/abs/2306.15595)).',
  ],
  textTitle: 'Text',
  textProse: [
    'Random tokens show what an encoding can tell. What is it worth for language? Here a model reads the beginning of Jane Austen’s *Pride and Prejudice*, 60,000 characters, and predicts each character from those before it. It learns nine tenths of them and is tested on the last tenth. It has two layers with feed-forward parts, and reads 64 characters at a time.',
  ],
  text: {
    encoding: 'Train',
    label: 'Loss of text that the model was not trained on, by training steps',
    y: 'loss in nats per character',
    caption:
      'One model at a time; thin curves are the recorded ones of all five. Below them, what your model writes after “She was”: each character is drawn by its probability. Point at a step and read what it wrote then.',
    notYet: 'Nothing is trained yet. Press Train; words that one can read come after some 300 steps.',
    summary: (encoding: string, steps: string, loss: string, choices: string) =>
      `${encoding} after ${steps} steps: the loss is ${loss}. The model hesitates among ${choices} characters.`,
  },
  textAfter: [
    'After 600 steps RoPE has a loss of 1.67, ALiBi 1.75, the sinusoidal encoding 1.78, the learned one 1.95, and none 2.19. A count of which character follows which two (0.05 added to each, so that none is impossible) has a loss of 1.92. ALiBi, which failed to name the token before, is second here: this model looks back only, and what stands nearby matters most. The learned encoding is late: it has to find out row by row what the others have from the start.',
    'Take these numbers for what they are: a text of 60,000 characters, models of 107,000 numbers, three seeds.',
  ],
};

export type FurtherTexts = Translated<typeof texts>;
