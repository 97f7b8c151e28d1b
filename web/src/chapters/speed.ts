// How fast it runs here.
import { compose } from '../figure';
import { speedRun } from '../figures/speed-run';
import { mathml } from '../formulas/traffic.tex';
import { prediction } from '../prediction';
import { formula, prose } from '../rich-text';
import type { Chapter } from './chapter';

export const speedChapter: Chapter<'speed'> = {
  mount(root, state) {
    const texts = state.texts.speed;
    return compose(
      root,
      prose(...texts.opening),
      formula(mathml, texts.formula),
      prediction(state, texts.ask),
      speedRun(state),
      prose(...texts.after),
    );
  },
};
