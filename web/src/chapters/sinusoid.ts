// The sinusoidal encoding: hands of clocks, a heat map, columns as waves.
import { compose } from '../figure';
import { sinusoidClocks } from '../figures/sinusoid-clocks';
import { sinusoidMap } from '../figures/sinusoid-map';
import { mathml } from '../formulas/sinusoid.tex';
import { prediction } from '../prediction';
import { formula, pitfalls, prose } from '../rich-text';
import type { Chapter } from './chapter';

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
