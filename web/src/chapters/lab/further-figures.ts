// The lab's further experiments: a short training at a longer text, and text.
import './further.css';
import { compose } from '../../figure/figure';
import { prose, subheading } from '../../ui/rich-text';
import type { FurtherState, Shared } from './further-state';
import { labText } from './text-figure';
import { labTuning } from './tuning-figure';

export function mountFurther(root: HTMLElement, state: FurtherState, parts: Shared): () => void {
  const { texts } = state;
  return compose(
    root,
    subheading(texts.tuningTitle),
    prose(...texts.tuningProse),
    labTuning(state, parts),
    prose(...texts.tuningAfter),
    subheading(texts.textTitle),
    prose(...texts.textProse),
    labText(state, parts),
    prose(...texts.textAfter),
  );
}
