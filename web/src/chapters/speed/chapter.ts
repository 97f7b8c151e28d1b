// How fast it runs here.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formula, prose } from '../../ui/rich-text';
import { speedRun } from './run-figure';
import { mathml } from './traffic.tex';

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
