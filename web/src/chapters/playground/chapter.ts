// The playground: a stack of layers with random weights, and the reader's own model.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formula, list, pitfalls, prose, subheading } from '../../ui/rich-text';
import type { Texts } from './i18n/en';
import { playgroundLater } from './later';
import { playgroundLook } from './look-figure';
import { playgroundModel } from './model-figure';
import { mathml } from './parts.tex';
import { playgroundStack } from './stack-figure';
import { playgroundWrite } from './write-figure';

export const chapter: Chapter<Texts> = {
  mount(root, state) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      playgroundStack(state),
      prose(...texts.meaningsProse),
      list(texts.meanings),
      prose(...texts.weights),
      formula(mathml, texts.formula),
      prediction(state, texts.ask),
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
      playgroundLater(state),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
