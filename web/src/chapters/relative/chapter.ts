// Learned positions, a head in numbers, and encodings that speak of distance: Shaw, T5, ALiBi.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { scorecard } from '../../figure/scorecard';
import { formula, formulas, pitfalls, prose, subheading } from '../../ui/rich-text';
import { mathml as bias } from './bias.tex';
import { mathml as head } from './head.tex';
import { relativeHead } from './head-figure';
import { mathml as huang } from './huang.tex';
import type { Texts } from './i18n/en';
import { relativeLearned } from './learned-figure';
import { relativeMaps } from './maps-figure';
import { relativeRowsFigure } from './rows-figure';
import { mathml as shaw } from './shaw.tex';
import { mathml as terms } from './terms.tex';
import { relativeTerms } from './terms-figure';

export const chapter: Chapter<Texts> = {
  mount(root, state, core) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      relativeLearned(state, core),
      subheading(texts.headTitle),
      prose(...texts.headProse),
      formula(head, texts.headFormula),
      relativeHead(state, core),
      subheading(texts.shawTitle),
      prose(...texts.shaw),
      formula(shaw, texts.shawFormula),
      prediction(state, texts.ask),
      relativeRowsFigure(state, core),
      subheading(texts.termsTitle),
      prose(...texts.terms),
      formula(terms, texts.termsFormula),
      prose(...texts.huang),
      formulas(huang, texts.huangFormula, texts.huangNote),
      relativeTerms(state, core),
      subheading(texts.biasTitle),
      prose(...texts.bias),
      formula(bias, texts.biasFormula),
      relativeMaps(state, core),
      prose(...texts.after),
      scorecard(state, 'alibi'),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
