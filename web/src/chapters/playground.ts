// The playground: a stack of layers with random weights, and the reader's own model.
import { compose } from '../figure';
import { mathml } from '../formulas/parts.tex';
import { playgroundLook } from '../playground/look-figure';
import { playgroundModel } from '../playground/model-figure';
import { playgroundStack } from '../playground/stack-figure';
import { playgroundWrite } from '../playground/write-figure';
import { prediction } from '../prediction';
import { formula, list, pitfalls, prose, subheading } from '../rich-text';
import type { Chapter } from './chapter';

export const playgroundChapter: Chapter<'playground'> = {
  mount(root, state) {
    const texts = state.texts.playground;
    return compose(
      root,
      prose(...texts.opening),
      formula(mathml, texts.formula),
      prediction(state, texts.ask),
      playgroundStack(state),
      prose(...texts.afterStack),
      list(texts.tries),
      subheading(texts.modelTitle),
      prose(...texts.modelProse),
      playgroundModel(state),
      prose(...texts.lookProse),
      prediction(state, texts.askLook, 'look'),
      playgroundLook(state),
      prose(...texts.writeProse),
      playgroundWrite(state),
      pitfalls(state.texts.figure.pitfalls, texts.pitfalls),
    );
  },
};
