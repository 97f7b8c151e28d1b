// Longer contexts than those trained on: which angles are new, what each method changes, and angles that round.
import { compose } from '../figure';
import { contextError } from '../figures/context-error';
import { contextWaves } from '../figures/context-waves';
import { mathml } from '../formulas/scaling.tex';
import { prediction } from '../prediction';
import { formulas, pitfalls, prose, subheading } from '../rich-text';
import type { Chapter } from './chapter';

export const contextChapter: Chapter<'context'> = {
  mount(root, state, core) {
    const texts = state.texts.context;
    return compose(
      root,
      prose(...texts.opening),
      prediction(state, texts.ask),
      contextWaves(state, core),
      prose(...texts.methodsProse),
      formulas(mathml, texts.methodsFormula, texts.methodsNote),
      subheading(texts.errorTitle),
      prose(...texts.errorProse),
      contextError(state, core),
      prose(...texts.after),
      pitfalls(state.texts.figure.pitfalls, texts.pitfalls),
    );
  },
};
