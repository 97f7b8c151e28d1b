// Linear attention with RoPE: the order of products, where the rotation goes, how sharply it points, what it remembers.
import { compose } from '../figure';
import { linearAim } from '../figures/linear-aim';
import { linearCost } from '../figures/linear-cost';
import { linearForms } from '../figures/linear-forms';
import { linearState } from '../figures/linear-state';
import { mathml as kernel } from '../formulas/linear.tex';
import { mathml as forms } from '../formulas/linear-forms.tex';
import { mathml as recurrence } from '../formulas/linear-state.tex';
import { prediction } from '../prediction';
import { formula, formulas, pitfalls, prose, subheading } from '../rich-text';
import type { Chapter } from './chapter';

export const linearChapter: Chapter<'linear'> = {
  mount(root, state, core) {
    const texts = state.texts.linear;
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
      pitfalls(state.texts.figure.pitfalls, texts.pitfalls),
    );
  },
};
