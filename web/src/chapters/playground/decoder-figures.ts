// What a decoder brings with it: losses of a text by position, and before them, with the trained model, what other positions
// cost it.
import { compose } from '../../figure/figure';
import { prose, subheading } from '../../ui/rich-text';
import { damageFigure } from './damage-figure';
import type { DecoderState, Playground } from './decoder-state';
import { lengthFigure } from './length-figure';

/** Fills an element, anew where the trained model takes the place of another one. Gives what undoes it. */
export function mountDecoder(element: HTMLElement, chapter: DecoderState, playground: Playground): () => void {
  const { texts } = chapter;
  let isTrained: boolean | undefined;
  let undo: () => void = () => undefined;
  const follow = (): void => {
    const { ready } = playground.session;
    if (ready === undefined || isTrained === (ready.source.kind === 'trained')) return;
    isTrained = ready.source.kind === 'trained';
    undo();
    undo = compose(
      element,
      ...(isTrained ? [prose(...texts.damageProse), damageFigure(chapter, playground)] : []),
      subheading(texts.lengthTitle),
      prose(...texts.lengthProse),
      lengthFigure(chapter, playground),
      prose(...texts.lengthAfter),
    );
  };
  const stop = playground.session.subscribe(follow);
  follow();
  return () => {
    stop();
    undo();
  };
}
