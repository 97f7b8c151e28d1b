// All encodings together: whole attention with each of them.
import './compare.css';
import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prose, subheading } from '../../ui/rich-text';
import { compareAttention } from './attention-figure';
import type { Texts } from './i18n/en';

export const chapter: Chapter<Texts> = {
  mount(root, state, core) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      subheading(texts.codeTitle),
      prose(...texts.codeProse),
      compareAttention(state, core),
      prose(...texts.codeAfter),
    );
  },
};
