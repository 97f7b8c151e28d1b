// The lab: small transformers, trained while one looks on.
import './lab.css';
import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formula, pitfalls, prose, subheading } from '../../ui/rich-text';
import { labFurther } from './further';
import type { Texts } from './i18n/en';
import { labInduction } from './induction-figure';
import { labLength } from './length-figure';
import { labLinear } from './linear-figure';
import { mathml } from './loss.tex';
import { labOrder } from './order-figure';

export const chapter: Chapter<Texts> = {
  mount(root, state) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      formula(mathml, texts.formula),
      subheading(texts.orderTitle),
      prose(...texts.orderProse),
      prediction(state, texts.ask),
      labOrder(state),
      prose(...texts.orderAfter),
      subheading(texts.inductionTitle),
      prose(...texts.inductionProse),
      labInduction(state),
      prose(...texts.inductionAfter),
      subheading(texts.lengthTitle),
      prose(...texts.lengthProse),
      labLength(state),
      prose(...texts.lengthAfter),
      subheading(texts.linearTitle),
      prose(...texts.linearProse),
      labLinear(state),
      prose(...texts.linearAfter),
      labFurther(state),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
