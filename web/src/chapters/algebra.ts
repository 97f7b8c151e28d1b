// The algebra of the sinusoidal encoding: a shift is a rotation, and the dot product cannot see direction.
import { compose } from '../figure';
import { algebraDot } from '../figures/algebra-dot';
import { algebraShift } from '../figures/algebra-shift';
import { mathml as dot } from '../formulas/dot.tex';
import { mathml as shift } from '../formulas/shift.tex';
import { mathml as matrix } from '../formulas/shift-matrix.tex';
import { prediction } from '../prediction';
import { formula, pitfalls, prose } from '../rich-text';
import type { Chapter } from './chapter';

export const algebraChapter: Chapter<'algebra'> = {
  mount(root, state, core) {
    const texts = state.texts.algebra;
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
      pitfalls(state.texts.figure.pitfalls, texts.pitfalls),
    );
  },
};
