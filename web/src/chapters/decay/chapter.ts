// Long-range decay: what is true of it and what is not.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formula, pitfalls, prose } from '../../ui/rich-text';
import { mathml } from './bound.tex';
import { decayBound } from './bound-figure';
import { decayCurvesFigure } from './curves-figure';
import type { Texts } from './i18n/en';
import { decayRandom } from './random-figure';

export const chapter: Chapter<Texts> = {
  mount(root, state, core) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      decayCurvesFigure(state, core),
      prose(...texts.boundProse),
      formula(mathml, texts.formula),
      decayBound(state, core),
      prose(...texts.randomProse),
      prediction(state, texts.ask),
      decayRandom(state, core),
      prose(...texts.after),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
