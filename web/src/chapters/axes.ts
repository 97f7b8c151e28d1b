// Positions with several axes: pictures and videos.
import { compose } from '../figure';
import { axesGrid } from '../figures/axes-grid';
import { axesIds } from '../figures/axes-ids';
import { mathml } from '../formulas/axes.tex';
import { prediction } from '../prediction';
import { formula, pitfalls, prose } from '../rich-text';
import type { Chapter } from './chapter';

export const axesChapter: Chapter<'axes'> = {
  mount(root, state, core) {
    const texts = state.texts.axes;
    return compose(
      root,
      prose(...texts.opening),
      formula(mathml, texts.formula),
      prediction(state, texts.ask),
      axesGrid(state, core),
      prose(...texts.layoutsProse),
      axesIds(state, core),
      prose(...texts.after),
      pitfalls(state.texts.figure.pitfalls, texts.pitfalls),
    );
  },
};
