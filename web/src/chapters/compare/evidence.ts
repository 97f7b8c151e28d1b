// The end of the chapter, which is fetched once the chapter is there: the comparison, and what papers report.
import type { ChapterState } from '../../figure/chapter';
import type { Figure } from '../../figure/figure';
import { h } from '../../ui/dom';
import { prose } from '../../ui/rich-text';
import { alsoWait } from '../../work/soon';
import type { Texts } from './i18n/en';

export function compareEvidence(chapter: ChapterState<Texts>): Figure {
  const element = h('div');
  let isOver = false;
  let stop = (): void => undefined;
  const made = Promise.all([import('./comparison'), chapter.texts.evidence()]).then(
    ([{ mountComparison }, { texts }]) => {
      if (!isOver) stop = mountComparison(element, { ...chapter, texts: { ...chapter.texts, ...texts } });
    },
    () => element.replaceChildren(prose(chapter.frame.page.lost)),
  );
  // A link may lead to its figure.
  alsoWait(made);
  return {
    element,
    end() {
      isOver = true;
      stop();
    },
  };
}
