// All encodings together: whole attention with each of them, what each can do, and what papers report.
import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formula, prose, subheading } from '../../ui/rich-text';
import { compareAttention } from './attention-figure';
import { compareEvidence } from './evidence';
import type { Texts } from './i18n/en';
import { mathml } from './places.tex';

export const chapter: Chapter<Texts> = {
  mount(root, state, core) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      subheading(texts.codeTitle),
      prose(...texts.codeProse),
      formula(mathml, texts.formula),
      prediction(state, texts.ask),
      compareAttention(state, core),
      prose(...texts.codeAfter),
      compareEvidence(state),
    );
  },
};
