// The lab's further experiments: a short training at a longer text, and text.
import './further.css';
import { compose } from '../../figure/figure';
import { prose, subheading } from '../../ui/rich-text';
import { flag } from '../../ui/state';
import type { FurtherState, Shared } from './further-state';
import { labText, pauseText } from './text-figure';
import { labTuning, pauseTuning } from './tuning-figure';

export function mountFurther(root: HTMLElement, state: FurtherState, parts: Shared): () => void {
  const { texts } = state;
  const undo = compose(
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
  const further = state.section('further', { open: flag(false) });
  return () => {
    undo();
    // Another language makes the figures anew, and training goes on; what the reader closes, trains no more.
    if (further.values.open) return;
    pauseTuning();
    pauseText();
  };
}
