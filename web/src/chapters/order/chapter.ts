// Why a position is needed: attention alone reads a bag of words.

import type { EarlyChapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formula, pitfalls, prose } from '../../ui/rich-text';
import type { Texts } from './i18n/en';
import { orderMap } from './map-figure';
import { mathml } from './order.tex';
import { orderWords } from './words-figure';

export const chapter: EarlyChapter<Texts> = {
  mountEarly(root, state, core) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      prediction(state, texts.ask),
      orderWords(state, core),
      prose(...texts.inside),
      formula(mathml, texts.formula),
      orderMap(state, core),
      prose(...texts.after),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
