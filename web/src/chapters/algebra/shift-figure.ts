// M_k: the same matrix moves any position by k.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, partsOf, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { fieldGroup } from '../../views/field-group';
import type { Texts } from './i18n/en';
import { shift, shiftDim } from './programs';
import { shown } from './programs.js?shown';

const positions = whole(0, 60);
const steps = whole(-12, 12);

export function algebraShift(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.shift;
  const { plain, fixed, bound } = chapter.numbers;
  const fields = { p: slider(texts.p, positions, 10, plain), k: slider(texts.k, steps, 3, plain) };
  return figure(chapter, { name: 'shift', caption: texts.caption, wide: true }, fields, (_, { p, k }) => {
    const view = fieldGroup(chapter.frame.figure.cells);
    return {
      controls: [together(p, k)],
      picture: [view.element],
      show(values) {
        const { matrix, before, moved, after } = shift(core, values.p, values.k);
        const rows = [before, moved, after];
        const far = values.p + values.k;
        const names = [`PE(${plain(values.p)})`, `M PE(${plain(values.p)})`, `PE(${plain(far)})`];
        const common = {
          scale: 'diverging',
          limit: 1,
          columns: shiftDim,
          columnName: plain,
          columnTitle: texts.column,
          largestCell: 56,
        } as const;
        const two = (value: number): string => fixed(value, 2);
        view.update({
          fields: [
            {
              ...common,
              title: texts.matrix(plain(values.k)),
              label: texts.matrix(plain(values.k)),
              legend: texts.entry,
              rows: shiftDim,
              values: matrix,
              rowTitle: texts.row,
              rowName: plain,
              // Beside the blocks nothing is written, as in the formula.
              print: (value) => (value === 0 ? '' : two(value)),
            },
            {
              ...common,
              title: texts.rows,
              label: texts.rows,
              legend: '',
              rows: 3,
              values: rows.flatMap((row) => Array.from(row)),
              rowTitle: texts.position,
              rowName: (row) => names[row] ?? '',
              print: two,
            },
          ],
          tell: ({ row, column }, field) =>
            field === 0
              ? texts.cell(plain(row), plain(column), fixed(matrix[row * shiftDim + column] ?? 0, 4))
              : `${names[row]}, ${texts.column} ${plain(column)}: ${fixed(rows[row]?.[column] ?? 0, 4)}`,
          print: plain,
        });
        const off = moved.reduce((most, value, i) => Math.max(most, Math.abs(value - (after[i] ?? 0))), 0);
        const numbered = whole(0, shiftDim - 1).map(plain);
        return {
          summary: texts.summary(plain(values.k), plain(values.p), plain(far), off === 0 ? '' : bound(off, 1)),
          code: program(shown, partsOf(call('shift', values.p, values.k), 'matrix', 'before', 'moved', 'after')),
          table: () => [
            {
              caption: texts.matrix(plain(values.k)),
              corner: '',
              columns: numbered,
              rows: numbered.map((name, i) => ({
                name,
                values: Array.from(matrix.subarray(i * shiftDim, (i + 1) * shiftDim)),
              })),
              print: (value) => fixed(value, 4),
            },
            {
              caption: texts.rows,
              corner: '',
              columns: numbered,
              rows: rows.map((row, i) => ({ name: names[i] ?? '', values: Array.from(row) })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
      end: view.destroy,
    };
  });
}
