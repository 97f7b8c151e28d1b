// The algebra of the sinusoidal encoding: a shift is a rotation, and the dot product does not depend on direction.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { scorecard } from '../../figure/scorecard';
import { formula, pitfalls, prose } from '../../ui/rich-text';
import { mathml as dot } from './dot.tex';
import { algebraDot } from './dot-figure';
import type { Texts } from './i18n/en';
import { mathml as shift } from './shift.tex';
import { algebraShift } from './shift-figure';
import { mathml as matrix } from './shift-matrix.tex';

export const chapter: Chapter<Texts> = {
  mount(root, state, core) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      formula(shift),
      formula(matrix, texts.shiftFormula),
      algebraShift(state, core),
      prose(...texts.product),
      formula(dot, texts.dotFormula),
      prediction(state, texts.ask),
      algebraDot(state, core),
      prose(...texts.after),
      scorecard(state, 'sinusoidal'),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
