// Positions with several axes: pictures and videos.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formula, pitfalls, prose } from '../../ui/rich-text';
import { mathml } from './axes.tex';
import { axesGrid } from './grid-figure';
import type { Texts } from './i18n/en';
import { axesIds } from './ids-figure';

export const chapter: Chapter<Texts> = {
  mount(root, state, core) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      formula(mathml, texts.formula),
      prediction(state, texts.ask),
      axesGrid(state, core),
      prose(...texts.layoutsProse),
      axesIds(state, core),
      prose(...texts.after),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
