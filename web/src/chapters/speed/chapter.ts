// How fast it runs here.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formula, prose } from '../../ui/rich-text';
import type { Texts } from './i18n/en';
import { speedRun } from './run-figure';
import { speedThreads } from './threads-figure';
import { mathml } from './traffic.tex';

export const chapter: Chapter<Texts> = {
  mount(root, state) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      formula(mathml, texts.formula),
      prediction(state, texts.ask),
      speedRun(state),
      prose(...texts.several),
      speedThreads(state),
      prose(...texts.after),
    );
  },
};
