// Linear attention with RoPE: the order of products, where the rotation goes, how sharply it points, what it remembers.

import type { Chapter } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { prediction } from '../../figure/prediction';
import { formula, formulas, pitfalls, prose, subheading } from '../../ui/rich-text';
import { linearAim } from './aim-figure';
import { linearCost } from './cost-figure';
import { mathml as forms } from './forms.tex';
import { linearForms } from './forms-figure';
import type { Texts } from './i18n/en';
import { mathml as kernel } from './linear.tex';
import { mathml as recurrence } from './state.tex';
import { linearState } from './state-figure';

export const chapter: Chapter<Texts> = {
  mount(root, state, core) {
    const texts = state.texts;
    return compose(
      root,
      prose(...texts.opening),
      formula(kernel, texts.formula),
      prediction(state, texts.ask),
      linearCost(state, core),
      subheading(texts.formsTitle),
      prose(...texts.formsProse),
      formulas(forms, texts.formsFormula),
      linearForms(state, core),
      prose(...texts.formsAfter),
      subheading(texts.aimTitle),
      prose(...texts.aimProse),
      prediction(state, texts.askAim, 'aim'),
      linearAim(state, core),
      prose(...texts.aimAfter),
      subheading(texts.stateTitle),
      prose(...texts.stateProse),
      formula(recurrence, texts.stateFormula),
      linearState(state, core),
      prose(...texts.after),
      pitfalls(state.frame.figure.pitfalls, texts.pitfalls),
    );
  },
};
