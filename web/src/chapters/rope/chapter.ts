// RoPE: arrows that multiply, from a wish to a rotation, one pair, all pairs, by hand, two layouts, three ways to write it, and broken.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { scorecard } from '../../figure/scorecard';
import { formula, pitfalls, prose, subheading } from '../../ui/rich-text';
import { mathml as angle } from './angle.tex';
import { ropeArrows } from './arrows-figure';
import { ropeBroken } from './broken-figure';
import { ropeClocks } from './clocks-figure';
import { mathml as complex } from './complex.tex';
import { mathml as efficient } from './efficient.tex';
import { mathml as euler } from './euler.tex';
import type { Texts } from './i18n/en';
import { ropeLayout } from './layout-figure';
import { ropePair } from './pair-figure';
import { mathml as loop } from './pair-loop.tex';
import { mathml as score } from './score.tex';
import { ropeSteps } from './steps-figure';
import { mathml as sum } from './sum.tex';
import { ropeSum } from './sum-figure';
import { mathml as turn } from './turn.tex';
import { ropeWays } from './ways-figure';
import { mathml as wish } from './wish.tex';
import { ropeWorked } from './worked-figure';

export const chapter: Chapter<Texts> = {
  mount(root, state, core) {
    const texts = state.texts;
    const steps = [wish, complex, angle, turn].flatMap((mathml, i) => [prose(texts.steps[i] ?? ''), formula(mathml)]);
    return compose(
      root,
      prose(...texts.opening),
      subheading(texts.complexTitle),
      prose(...texts.complex),
      formula(euler, texts.eulerFormula),
      ropeArrows(state, core),
      subheading(texts.stepsTitle),
      ...steps,
      ropeSteps(state, core),
      subheading(texts.pairTitle),
      prose(...texts.pairProse),
      formula(score, texts.scoreFormula),
      prediction(state, texts.ask),
      ropePair(state, core),
      subheading(texts.sumTitle),
      prose(...texts.sumProse),
      formula(sum, texts.sumFormula),
      ropeSum(state, core),
      prose(...texts.sumAfter),
      subheading(texts.clocksTitle),
      prose(...texts.clocksProse),
      ropeClocks(state, core),
      subheading(texts.workedTitle),
      prose(...texts.workedProse),
      formula(efficient, texts.efficientFormula),
      ropeWorked(state, core),
      subheading(texts.layoutTitle),
      prose(...texts.layoutProse),
      prediction(state, texts.askLayout, 'layout'),
      ropeLayout(state, core),
      subheading(texts.waysTitle),
      prose(...texts.waysProse),
      formula(loop, texts.waysFormula),
      ropeWays(state, core),
      subheading(texts.brokenTitle),
      prose(...texts.brokenProse),
      ropeBroken(state, core),
      scorecard(state, 'rope'),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
