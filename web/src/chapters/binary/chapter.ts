// The first idea that comes to mind, and what it teaches: write the position in binary.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { scorecard } from '../../figure/scorecard';
import { formula, pitfalls, prose } from '../../ui/rich-text';
import { mathml as bit } from './bit.tex';
import { binaryCodeFigure } from './code-figure';
import { mathml as hamming } from './hamming.tex';
import type { Texts } from './i18n/en';
import { binaryNeighbours } from './neighbours-figure';

export const chapter: Chapter<Texts> = {
  mount(root, state, core) {
    const texts = state.texts;
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
      prose(...texts.card),
      scorecard(state, 'binary'),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
