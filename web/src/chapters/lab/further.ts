// The lab's further experiments, which are fetched when a reader, or a link, asks for them.
import type { ChapterState } from '../../figure/chapter';
import type { Figure } from '../../figure/figure';
import { button } from '../../ui/controls';
import { h } from '../../ui/dom';
import { prose } from '../../ui/rich-text';
import { flag } from '../../ui/state';
import { alsoWait } from '../../work/soon';
import type { Texts } from './i18n/en';
import { liveRun } from './live-run';
import { paceOf, recordedPoints, seeds } from './settings';
import { TrainingSession } from './training-session';

const shared = { liveRun, paceOf, recordedPoints, seeds, TrainingSession };

export function labFurther(chapter: ChapterState<Texts>): Figure {
  const { texts } = chapter;
  const section = chapter.section('further', { open: flag(false) });
  const opener = button(texts.furtherTitle, () => section.set({ open: !section.values.open }));
  const box = h('div');
  let isOpen = false;
  const idle = (): void => box.replaceChildren();
  let stop = idle;
  const fetched = (): Promise<void> =>
    Promise.all([import('./further-figures'), texts.furtherTexts()]).then(
      ([{ mountFurther }, further]) => {
        if (!isOpen || stop !== idle) return;
        stop = mountFurther(box, { ...chapter, texts: { ...texts, ...further.texts } }, shared);
      },
      () => box.replaceChildren(prose(chapter.frame.page.lost)),
    );
  const follow = (): void => {
    if (isOpen === section.values.open) return;
    isOpen = section.values.open;
    opener.setAttribute('aria-expanded', `${isOpen}`);
    stop();
    stop = idle;
    // A link may lead to one of their figures.
    if (isOpen) alsoWait(fetched());
  };
  const unsubscribe = section.subscribe(follow);
  opener.setAttribute('aria-expanded', 'false');
  follow();
  return {
    element: h('div', {}, h('div', { class: 'prose' }, h('h3', {}, opener)), box),
    end() {
      unsubscribe();
      isOpen = false;
      stop();
    },
  };
}
