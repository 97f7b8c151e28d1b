// The sinusoidal encoding: hands of clocks, a heat map, columns as waves.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formula, pitfalls, prose } from '../../ui/rich-text';
import { sinusoidClocks } from './clocks-figure';
import { sinusoidMap } from './map-figure';
import { mathml } from './sinusoid.tex';

export const sinusoidChapter: Chapter<'sinusoid'> = {
  mount(root, state, core) {
    const texts = state.texts.sinusoid;
    return compose(
      root,
      prose(...texts.opening),
      sinusoidClocks(state, core),
      prose(...texts.numbers),
      formula(mathml, texts.formula),
      prediction(state, texts.ask),
      sinusoidMap(state, core),
      prose(...texts.after),
      pitfalls(state.texts.figure.pitfalls, texts.pitfalls),
    );
  },
};
