// The appendix: angles that round, how fast it runs here, and what the package does besides.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formula, pitfalls, prose, subheading } from '../../ui/rich-text';
import type { Texts } from './i18n/en';
import { speedError } from './rounding-figure';
import { speedRun } from './run-figure';
import { speedThreads } from './threads-figure';
import { mathml } from './traffic.tex';

export const chapter: Chapter<Texts> = {
  mount(root, state, core) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      subheading(texts.errorTitle),
      prose(...texts.errorProse),
      speedError(state, core),
      prose(...texts.errorAfter),
      subheading(texts.runTitle),
      prose(...texts.runProse),
      formula(mathml, texts.formula),
      prediction(state, texts.ask),
      speedRun(state),
      prose(...texts.several),
      speedThreads(state),
      subheading(texts.packageTitle),
      prose(...texts.after),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
