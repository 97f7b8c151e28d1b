// All encodings in one table: the criteria of the scorecard, what the lab's models could do, and who uses each.
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { marksOf } from '../../figure/scorecard';
import { oneName } from '../../figure/settings';
import { type ComparedCell, comparison } from '../../views/comparison';
import type { Texts } from './i18n/en';
import type { EvidenceTexts } from './i18n/evidence-en';
import { type Compared, compared, curveOf, type Measure, measures, resultOf, trainedShare } from './recorded-results';

const orders = ['reading', ...measures] as const;
// The loss at the top of its curves, in nats; more is drawn at the top.
const mostLoss = 5;

// Encodings that no chapter has: marks as in the scorecard, the text after the figure says why.
const judged = { axial: 'ppnn', xl: 'yyyy', deberta: 'pppy', sandwich: 'pyyy', cope: 'ppny', mixed: 'yyyp' };

export function compareResults(chapter: ChapterState<Texts & EvidenceTexts>): Figure {
  const texts = chapter.texts.results;
  const { scorecard } = chapter;
  if (scorecard === undefined) throw new Error('the first chapter has no scorecard');
  const { fixed } = chapter.numbers;
  const names: Readonly<Record<Compared, string>> = { ...chapter.texts.attention.encodings, ...texts.names };
  const fields = { order: oneName(texts.order, orders, 'reading', (order) => texts.orders[order]) };
  const printed = (measure: Measure, value: number): string =>
    measure === 'length' ? fixed(value, 2) : `${fixed(100 * value, 0)}%`;

  // From the best on.
  function sorted(order: (typeof orders)[number]): readonly Compared[] {
    if (order === 'reading') return compared;
    const sign = order === 'length' ? 1 : -1;
    return compared.toSorted((a, b) => sign * (resultOf(order, a) - resultOf(order, b)));
  }

  const textOf = (measure: Measure, encoding: Compared): string => printed(measure, resultOf(measure, encoding));

  // What reads as the best is marked as the best.
  function measured(measure: Measure, encoding: Compared, best: string): ComparedCell {
    const [values, text] = [curveOf(measure, encoding), textOf(measure, encoding)];
    const curve = measure === 'length' ? { values, top: mostLoss, limit: trainedShare } : { values, top: 1 };
    return { text, curve, look: text === best ? 'best' : undefined };
  }

  return figure(chapter, { name: 'results', caption: texts.caption, wide: true }, fields, (_, { order }) => {
    const table = comparison();
    return {
      controls: [order.element],
      picture: [table.element],
      show(values) {
        const rows = sorted(values.order);
        const bestOf = (measure: Measure): string => {
          const all = compared.map((encoding) => resultOf(measure, encoding));
          return printed(measure, measure === 'length' ? Math.min(...all) : Math.max(...all));
        };
        table.update({
          label: texts.label,
          columns: [...scorecard.criteria, ...measures.map((measure) => texts.measures[measure]), texts.used],
          rows: rows.map((encoding) => ({
            name: names[encoding],
            cells: [
              ...marksOf(encoding, judged).map((mark) =>
                mark === undefined ? { text: '–' } : { text: scorecard.marks[mark], look: mark },
              ),
              ...measures.map((measure) => measured(measure, encoding, bestOf(measure))),
              { text: texts.usedBy[encoding], look: 'words' as const },
            ],
          })),
        });
        const first = (measure: Measure): string => {
          const best = bestOf(measure);
          const all = compared.filter((encoding) => textOf(measure, encoding) === best);
          return texts.best(
            texts.measures[measure],
            all.map((encoding) => names[encoding]),
            best,
          );
        };
        return {
          summary: texts.summary(measures.map(first)),
          code: '',
          table: () => [
            {
              caption: texts.label,
              corner: chapter.texts.attention.encoding,
              columns: measures.map((measure) => texts.measures[measure]),
              rows: rows.map((encoding) => ({
                name: names[encoding],
                values: measures.map((measure) => resultOf(measure, encoding)),
              })),
              print: (value) => fixed(value, 3),
            },
          ],
        };
      },
    };
  });
}
