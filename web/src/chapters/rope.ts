// RoPE: from a wish to a rotation, one pair, all pairs, two layouts, by hand, and broken.
import { compose } from '../figure';
import { ropeBroken } from '../figures/rope-broken';
import { ropeClocks } from '../figures/rope-clocks';
import { ropeLayout } from '../figures/rope-layout';
import { ropePair } from '../figures/rope-pair';
import { ropeWorked } from '../figures/rope-worked';
import { mathml as angle } from '../formulas/rope-angle.tex';
import { mathml as complex } from '../formulas/rope-complex.tex';
import { mathml as efficient } from '../formulas/rope-efficient.tex';
import { mathml as score } from '../formulas/rope-score.tex';
import { mathml as turn } from '../formulas/rope-turn.tex';
import { mathml as wish } from '../formulas/rope-wish.tex';
import { prediction } from '../prediction';
import { formula, pitfalls, prose, subheading } from '../rich-text';
import type { Chapter } from './chapter';

export const ropeChapter: Chapter<'rope'> = {
  mount(root, state, core) {
    const texts = state.texts.rope;
    const steps = [wish, complex, angle, turn].flatMap((mathml, i) => [prose(texts.steps[i] ?? ''), formula(mathml)]);
    return compose(
      root,
      prose(...texts.opening),
      subheading(texts.stepsTitle),
      ...steps,
      subheading(texts.pairTitle),
      prose(...texts.pairProse),
      formula(score, texts.scoreFormula),
      prediction(state, texts.ask),
      ropePair(state, core),
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
      subheading(texts.brokenTitle),
      prose(...texts.brokenProse),
      ropeBroken(state, core),
      pitfalls(state.texts.figure.pitfalls, texts.pitfalls),
    );
  },
};
