// Longer contexts than those trained on: which angles are new, and what each method changes.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formulas, pitfalls, prose } from '../../ui/rich-text';
import type { Texts } from './i18n/en';
import { mathml } from './scaling.tex';
import { contextWaves } from './waves-figure';

export const chapter: Chapter<Texts> = {
  mount(root, state, core) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      prediction(state, texts.ask),
      contextWaves(state, core),
      prose(...texts.methodsProse),
      formulas(mathml, texts.methodsFormula, texts.methodsNote),
      prose(...texts.after),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
