// Patches of a picture: how one patch's query meets all others, with one axis of position and with two.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { oneName, slider, together } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { fieldGroup } from '../../views/field-group';
import type { Texts } from './i18n/en';
import { gridLayoutNames, gridOptions } from './layouts';
import { gridScores, side } from './programs';
import { shown } from './programs.js?shown';

const patches = whole(0, side * side - 1);
const bases = [10, 100, 1000, 10000];

export function axesGrid(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.grid;
  const { plain, fixed } = chapter.numbers;
  const place = (patch: number): string => texts.place(plain(Math.floor(patch / side)), plain(patch % side));
  const fields = {
    layout: oneName(texts.layout, gridLayoutNames, 'flat', (value) => texts.layouts[value]),
    patch: slider(texts.patch, patches, 27, place),
    base: slider(texts.base, bases, 100, plain),
  };
  return figure(chapter, { name: 'grid', caption: texts.caption }, fields, (section, { layout, patch, base }) => {
    const map = fieldGroup(texts.hint, ({ row, column }) => section.set({ patch: row * side + column }));
    return {
      controls: [layout.element, together(patch, base)],
      picture: [map.element],
      show(values) {
        const options = gridOptions(values.layout, values.base);
        const scores = gridScores(core, options, values.patch);
        const at = (row: number, column: number): number => scores[row * side + column] ?? 0;
        const [row, column] = [Math.floor(values.patch / side), values.patch % side];
        map.update({
          fields: [
            {
              label: texts.label,
              legend: texts.score,
              rows: side,
              columns: side,
              values: scores,
              scale: 'diverging',
              limit: 1,
              rowTitle: texts.row,
              columnTitle: texts.column,
              rowName: plain,
              columnName: plain,
              print: (value) => fixed(value, 2),
              largestCell: 80,
              tallest: 480,
              framed: (cell) => cell.row === row && cell.column === column,
            },
          ],
          tell: (cell) => texts.cell(plain(cell.row), plain(cell.column), fixed(at(cell.row, cell.column), 3)),
          print: plain,
        });
        // A neighbour to the side and one above or below, whichever there is.
        const beside = at(row, column + (column + 1 < side ? 1 : -1));
        const below = at(row + (row + 1 < side ? 1 : -1), column);
        return {
          summary: texts.summary(place(values.patch), fixed(beside, 3), fixed(below, 3)),
          code: program(shown, `const result = ${call('gridScores', options, values.patch)};`),
          table: () => [
            {
              caption: texts.label,
              corner: `${texts.row} \\ ${texts.column}`,
              columns: whole(0, side - 1).map(plain),
              rows: whole(0, side - 1).map((r) => ({
                name: plain(r),
                values: Array.from(scores.subarray(r * side, (r + 1) * side)),
              })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
      end: map.destroy,
    };
  });
}
