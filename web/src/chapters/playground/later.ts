// The figures of a decoder with a rotary encoding, which are fetched when there is one.
import type { ChapterState } from '../../figure/chapter';
import type { Figure } from '../../figure/figure';
import { h } from '../../ui/dom';
import { prose } from '../../ui/rich-text';
import type { Texts } from './i18n/en';
import { remoteBench, session } from './session';

export function playgroundLater(chapter: ChapterState<Texts>): Figure {
  const element = h('div');
  let ended: Promise<() => void> | undefined;
  const follow = (): void => {
    const facts = session.ready?.facts;
    element.hidden = facts?.kind !== 'decoder' || facts.position !== 'rope' || !facts.hasLogits;
    if (element.hidden) return;
    ended ??= Promise.all([import('./decoder-figures'), chapter.texts.decoder()]).then(
      ([{ mountDecoder }, { texts }]) =>
        mountDecoder(element, { ...chapter, texts: { ...chapter.texts, ...texts } }, { session, remoteBench }),
      () => {
        element.replaceChildren(prose(chapter.frame.page.lost));
        return () => undefined;
      },
    );
  };
  const stop = session.subscribe(follow);
  follow();
  return {
    element,
    end() {
      stop();
      void ended?.then((end) => end());
    },
  };
}
