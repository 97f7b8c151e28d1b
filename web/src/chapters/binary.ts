// The first idea that comes to mind, and what it teaches: write the position in binary.
import { compose } from '../figure';
import { binaryCodeFigure } from '../figures/binary-code';
import { binaryNeighbours } from '../figures/binary-neighbours';
import { mathml as bit } from '../formulas/bit.tex';
import { mathml as hamming } from '../formulas/hamming.tex';
import { prediction } from '../prediction';
import { formula, pitfalls, prose } from '../rich-text';
import type { Chapter } from './chapter';

export const binaryChapter: Chapter<'binary'> = {
  mount(root, state, core) {
    const texts = state.texts.binary;
    return compose(
      root,
      prose(...texts.opening),
      formula(bit, texts.bitFormula),
      prediction(state, texts.ask),
      binaryCodeFigure(state, core),
      prose(texts.cliff),
      formula(hamming),
      prose(texts.compared),
      binaryNeighbours(state, core),
      prose(...texts.after),
      pitfalls(state.texts.figure.pitfalls, texts.pitfalls),
    );
  },
};
