// A learned table of positions: it ends, and how it can be made longer.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, toggle } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { refusal } from '../../ui/refusal';
import { fieldGroup } from '../../views/field-group';
import type { Texts } from './i18n/en';
import { learnedLength, learnedRows, tableDim } from './programs';
import { shown } from './programs.js?shown';

const positions = whole(0, 39);
const longer = 40;

/** The row of the learned table for a position, or the package's error where there is none. */
function learnedRow(core: Ropewalk, position: number, data: Float32Array): string | undefined {
  const zeros = { data: new Float32Array(tableDim), shape: [1, tableDim] };
  try {
    core.learned(zeros, { table: { data, shape: [data.length / tableDim, tableDim] }, positions: [position] });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export function relativeLearned(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.learned;
  const { plain, fixed } = chapter.numbers;
  const fields = { at: slider(texts.at, positions, 12, plain), longer: toggle(texts.extend, false) };
  return figure(chapter, { name: 'learned', caption: texts.caption }, fields, (section, { at, longer: extend }) => {
    const notice = refusal(chapter.frame.figure);
    const map = fieldGroup(chapter.frame.figure.cells, ({ column }) => section.set({ at: column }));
    return {
      controls: [at.element, extend.element],
      picture: [notice.element, map.element],
      show(values) {
        const rows = values.longer ? longer : learnedLength;
        const data = learnedRows(core, rows);
        const refused = learnedRow(core, values.at, data);
        notice.show(refused);
        // One scale for both: what stays as it was has to look so.
        const limit = Math.ceil(learnedRows(core, longer).reduce((most, v) => Math.max(most, Math.abs(v)), 0));
        const value = (p: number, d: number): number => data[p * tableDim + d] ?? 0;
        map.update({
          fields: [
            {
              label: texts.label,
              legend: texts.value,
              // A column for each position, so that a longer table grows to the right.
              rows: tableDim,
              columns: rows,
              values: Array.from({ length: rows * tableDim }, (_, i) => value(i % rows, Math.floor(i / rows))),
              scale: 'diverging',
              limit,
              rowTitle: texts.number,
              columnTitle: texts.position,
              rowName: plain,
              columnName: plain,
              print: (v) => fixed(v, 1),
              ...(values.at < rows && { framedColumn: values.at }),
            },
          ],
          tell: ({ row, column }) => texts.cell(plain(column), plain(row), fixed(value(column, row), 3)),
          print: plain,
        });
        return {
          summary: refused
            ? texts.ends(plain(learnedLength), plain(values.at))
            : values.longer
              ? texts.mixed(
                  plain(values.at),
                  plain(Math.floor(values.at / learnedLength)),
                  plain(values.at % learnedLength),
                )
              : texts.has(plain(values.at)),
          code: program(shown, `const result = ${call('learnedRows', rows)};   // [${rows}, ${tableDim}]`),
          table: () => [
            {
              caption: texts.label,
              corner: texts.position,
              columns: whole(0, tableDim - 1).map(plain),
              rows: whole(0, rows - 1).map((p) => ({
                name: plain(p),
                values: Array.from(data.subarray(p * tableDim, (p + 1) * tableDim)),
              })),
              print: (v) => fixed(v, 3),
            },
          ],
        };
      },
      end: map.destroy,
    };
  });
}
