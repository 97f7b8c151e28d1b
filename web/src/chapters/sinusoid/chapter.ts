// The sinusoidal encoding: hands of clocks, a heat map, columns as waves.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formula, pitfalls, prose } from '../../ui/rich-text';
import { sinusoidClocks } from './clocks-figure';
import type { Texts } from './i18n/en';
import { sinusoidMap } from './map-figure';
import { mathml } from './sinusoid.tex';

export const chapter: Chapter<Texts> = {
  mount(root, state, core) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      sinusoidClocks(state, core),
      prose(...texts.numbers),
      formula(mathml, texts.formula),
      prediction(state, texts.ask),
      sinusoidMap(state, core),
      prose(...texts.after),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
