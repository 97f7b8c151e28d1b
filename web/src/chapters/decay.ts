// Long-range decay: what is true of it and what is not.
import { compose } from '../figure';
import { decayBound } from '../figures/decay-bound';
import { decayCurvesFigure } from '../figures/decay-curves';
import { decayRandom } from '../figures/decay-random';
import { mathml } from '../formulas/bound.tex';
import { prediction } from '../prediction';
import { formula, pitfalls, prose } from '../rich-text';
import type { Chapter } from './chapter';

export const decayChapter: Chapter<'decay'> = {
  mount(root, state, core) {
    const texts = state.texts.decay;
    return compose(
      root,
      prose(...texts.opening),
      decayCurvesFigure(state, core),
      prose(...texts.boundProse),
      formula(mathml, texts.formula),
      decayBound(state, core),
      prose(...texts.randomProse),
      prediction(state, texts.ask),
      decayRandom(state, core),
      prose(...texts.after),
      pitfalls(state.texts.figure.pitfalls, texts.pitfalls),
    );
  },
};
