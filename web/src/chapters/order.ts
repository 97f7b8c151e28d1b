// Why a position is needed: attention alone sees a bag of words.
import { compose } from '../figure';
import { orderMap } from '../figures/order-map';
import { orderWords } from '../figures/order-words';
import { mathml } from '../formulas/order.tex';
import { prediction } from '../prediction';
import { formula, pitfalls, prose } from '../rich-text';
import type { Chapter } from './chapter';

export const orderChapter: Chapter<'order'> = {
  mount(root, state, core) {
    const texts = state.texts.order;
    return compose(
      root,
      prose(...texts.opening),
      prediction(state, texts.ask),
      orderWords(state, core),
      prose(...texts.inside),
      formula(mathml, texts.formula),
      orderMap(state, core),
      prose(...texts.after),
      pitfalls(state.texts.figure.pitfalls, texts.pitfalls),
    );
  },
};
