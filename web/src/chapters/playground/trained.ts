// What comes with the trained model: a figure that is fetched when that is there.
import type { ChapterState } from '../../figure/chapter';
import type { Figure } from '../../figure/figure';
import { h } from '../../ui/dom';
import type { Texts } from './i18n/en';
import { remoteBench, session } from './session';

export function playgroundTrained(chapter: ChapterState<Texts>): Figure {
  const element = h('div');
  let ended: Promise<() => void> | undefined;
  const follow = (): void => {
    element.hidden = session.ready?.source.kind !== 'trained';
    if (element.hidden) return;
    ended ??= Promise.all([import('./damage-figure'), chapter.texts.damage()]).then(([{ mountDamage }, { texts }]) =>
      mountDamage(element, { ...chapter, texts: { ...chapter.texts, ...texts } }, { session, remoteBench }),
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
