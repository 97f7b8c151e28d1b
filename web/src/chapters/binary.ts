// The first idea that comes to mind, and what it teaches: write the position in binary.
import { compose } from '../figure';
import { binaryCodeFigure } from '../figures/binary-code';
import { binaryNeighbours } from '../figures/binary-neighbours';
import { prediction } from '../prediction';
import { pitfalls, prose } from '../rich-text';
import type { Chapter } from './chapter';

export const binaryChapter: Chapter<'binary'> = {
  mount(root, state, core) {
    const texts = state.texts.binary;
    return compose(
      root,
      prose(...texts.opening),
      prediction(state, texts.ask),
      binaryCodeFigure(state, core),
      prose(...texts.cliff),
      binaryNeighbours(state, core),
      prose(...texts.after),
      pitfalls(state.texts.figure.pitfalls, texts.pitfalls),
    );
  },
};
