// All encodings compared, and what papers report.
import type { ChapterState } from '../../figure/chapter';
import { compose } from '../../figure/figure';
import { list, prose, subheading } from '../../ui/rich-text';
import type { Texts } from './i18n/en';
import type { EvidenceTexts } from './i18n/evidence-en';
import { published, publishedTable } from './published';
import { compareResults } from './results-figure';

export function mountComparison(root: HTMLElement, state: ChapterState<Texts & EvidenceTexts>): () => void {
  const { texts } = state;
  const names = Object.keys(published) as (keyof typeof published)[];
  return compose(
    root,
    subheading(texts.resultsTitle),
    prose(...texts.resultsProse),
    compareResults(state),
    prose(...texts.resultsAfter),
    list(texts.others),
    subheading(texts.publishedTitle),
    prose(...texts.publishedProse),
    ...names.flatMap((name) => publishedTable(name, state)),
  );
}
