// The row of a relative table for each query and key: the distance, clipped.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { oneName, slider, together } from '../../figure/settings';
import { literal } from '../../programs/literal';
import { program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { fieldGroup } from '../../views/field-group';
import type { Texts } from './i18n/en';

const lengths = whole(2, 12);
const distances = whole(0, 12);
const signs = ['key-minus-query', 'query-minus-key'] as const;

export function relativeRowsFigure(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.rows;
  const { plain } = chapter.numbers;
  const fields = {
    length: slider(texts.length, lengths, 8, plain),
    k: slider(texts.k, distances, 2, plain),
    sign: oneName(
      texts.sign,
      signs,
      'key-minus-query',
      (value) => texts.signs[value === 'key-minus-query' ? 0 : 1] ?? '',
    ),
  };
  return figure(chapter, { name: 'rows', caption: texts.caption }, fields, (_, { length, k, sign }) => {
    const map = fieldGroup(chapter.frame.figure.cells);
    return {
      controls: [together(length, k), sign.element],
      picture: [map.element],
      show(values) {
        const { length: T, k: maxDistance, sign: kind } = values;
        const options = { queries: T, keys: T, maxDistance, sign: kind };
        const rows = core.relativeRows(options);
        const distance = (row: number, column: number): number =>
          values.sign === 'key-minus-query' ? column - row : row - column;
        const isClipped = (row: number, column: number): boolean => Math.abs(distance(row, column)) > values.k;
        const used = new Set(rows).size;
        map.update({
          fields: [
            {
              label: texts.label,
              legend: texts.row,
              rows: values.length,
              columns: values.length,
              values: rows,
              scale: 'sequential',
              limit: 2 * values.k,
              whole: true,
              largestCell: 48,
              rowTitle: texts.query,
              columnTitle: texts.key,
              rowName: plain,
              columnName: plain,
              print: plain,
              framed: ({ row, column }) => isClipped(row, column),
            },
          ],
          tell({ row, column }) {
            const taken = plain(rows[row * values.length + column] ?? 0);
            const far = plain(distance(row, column));
            return isClipped(row, column)
              ? texts.clipped(plain(row), plain(column), far, taken)
              : texts.cell(plain(row), plain(column), far, taken);
          },
          print: plain,
        });
        return {
          summary: texts.summary(plain(2 * values.k + 1), plain(used), 2 * values.k + 1 - used),
          code: program({}, `const result = rw.relativeRows(${literal(options)});   // [${T}, ${T}]`),
          table: () => [
            {
              caption: texts.label,
              corner: `${texts.query} \\ ${texts.key}`,
              columns: whole(0, values.length - 1).map(plain),
              rows: whole(0, values.length - 1).map((i) => ({
                name: plain(i),
                values: Array.from(rows.subarray(i * values.length, (i + 1) * values.length)),
              })),
              print: plain,
            },
          ],
        };
      },
      end: map.destroy,
    };
  });
}
