// Learned positions, and encodings that speak of distance: Shaw, T5, ALiBi.
import { compose } from '../figure';
import { relativeLearned } from '../figures/relative-learned';
import { relativeMaps } from '../figures/relative-maps';
import { relativeRowsFigure } from '../figures/relative-rows';
import { mathml as bias } from '../formulas/bias.tex';
import { mathml as shaw } from '../formulas/shaw.tex';
import { prediction } from '../prediction';
import { formula, pitfalls, prose, subheading } from '../rich-text';
import type { Chapter } from './chapter';

export const relativeChapter: Chapter<'relative'> = {
  mount(root, state, core) {
    const texts = state.texts.relative;
    return compose(
      root,
      prose(...texts.opening),
      relativeLearned(state, core),
      subheading(texts.shawTitle),
      prose(...texts.shaw),
      formula(shaw, texts.shawFormula),
      prediction(state, texts.ask),
      relativeRowsFigure(state, core),
      subheading(texts.biasTitle),
      prose(...texts.bias),
      formula(bias, texts.biasFormula),
      relativeMaps(state, core),
      prose(...texts.after),
      pitfalls(state.texts.figure.pitfalls, texts.pitfalls),
    );
  },
};
