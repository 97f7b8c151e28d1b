// One turn in three ways: the matrix, the efficient form and the loop over pairs, with one pair marked in all of them.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { oneName, slider, together } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { groupTables, type TableCell } from '../../views/group-tables';
import type { Texts } from './i18n/en';
import { threeWays, waysHead } from './programs';
import { shown } from './programs.js?shown';

const pairings = ['interleaved', 'half'] as const;
const pairNumbers = ['0', '1', '2', '3'] as const;
const coordinates = whole(0, waysHead - 1);

export function ropeWays(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.ways;
  const { plain, fixed, bound } = chapter.numbers;
  const fields = {
    m: slider(texts.m, whole(0, 24), 1, plain),
    pairing: oneName(texts.pairing, pairings, 'interleaved', (name) => texts.pairings[name]),
    pair: oneName(texts.pair, pairNumbers, '1', (name) => plain(Number(name))),
  };
  const options = { name: 'ways', caption: texts.caption, wide: true };
  return figure(chapter, options, fields, (section, { m, pairing, pair }) => {
    const tables = groupTables((group) => section.set({ pair: pairNumbers[group] ?? '0' }));
    return {
      controls: [together(m, pairing, pair)],
      picture: [tables.element],
      show(values) {
        const made = threeWays(core, values.pairing, values.m);
        const { x, cos, sin, partner, pairs, matrix, product, efficient, loop, rotated } = made;
        const short = (value = 0): string => (Number.isInteger(value) ? plain(value) : fixed(value, 2));
        const factor = (value = 0): string => (value < 0 ? `(${short(value)})` : short(value));
        const groupOf = coordinates.map((i) => pairs.findIndex((both) => both.includes(i)));
        const inGroup = (i: number, text: string): TableCell => ({ text, group: groupOf[i] });
        const entry = (row: number, column: number): TableCell =>
          groupOf[row] === groupOf[column]
            ? inGroup(row, fixed(matrix[row * waysHead + column] ?? 0, 2))
            : { text: plain(0) };
        const products = ([a, b]: readonly [number, number]): readonly (readonly [number, string])[] => [
          [a, `${plain(x[a] ?? 0)} × ${factor(cos[a])} − ${plain(x[b] ?? 0)} × ${factor(sin[a])}`],
          [b, `${plain(x[a] ?? 0)} × ${factor(sin[a])} + ${plain(x[b] ?? 0)} × ${factor(cos[a])}`],
        ];
        const others = pairs.length * 4;
        tables.update(Number(values.pair), [
          {
            title: texts.matrix,
            note: texts.matrixNote(plain(waysHead ** 2), plain(waysHead ** 2 - others)),
            columns: [
              { name: 'R', span: waysHead },
              { name: '× x', span: 1 },
              { name: '= Rx', span: 1 },
            ],
            rows: coordinates.map((row) => ({
              name: plain(row),
              cells: [
                ...coordinates.map((column) => entry(row, column)),
                inGroup(row, short(x[row])),
                inGroup(row, fixed(product[row] ?? 0, 2)),
              ],
            })),
          },
          {
            title: texts.efficient,
            note: texts.efficientNote(plain(others)),
            columns: ['x', '⊙ cos', `+ ${texts.partner}`, '⊙ sin', `= ${texts.turned}`].map((name) => ({
              name,
              span: 1,
            })),
            rows: coordinates.map((i) => ({
              name: plain(i),
              cells: [
                short(x[i]),
                fixed(cos[i] ?? 0, 2),
                short(partner[i]),
                fixed(sin[i] ?? 0, 2),
                fixed(efficient[i] ?? 0, 2),
              ].map((text) => inGroup(i, text)),
            })),
          },
          {
            title: texts.loop,
            note: texts.loopNote(plain(others), plain(pairs.length)),
            columns: [
              { name: texts.products, span: 1 },
              { name: `= ${texts.turned}`, span: 1 },
            ],
            rows: pairs.flatMap(products).map(([i, text]) => ({
              name: plain(i),
              cells: [inGroup(i, text), inGroup(i, fixed(loop[i] ?? 0, 2))],
            })),
          },
        ]);
        const forms = [product, efficient, loop];
        const apart = Math.max(...forms.flatMap((form) => form.map((value, i) => Math.abs(value - (rotated[i] ?? 0)))));
        const [a, b] = pairs[Number(values.pair)] ?? [0, 0];
        return {
          summary: texts.summary(
            values.pair,
            [plain(a), plain(b)],
            [x, loop].map((numbers) => `(${short(numbers[a])}, ${short(numbers[b])})`),
            bound(apart, 2),
          ),
          code: program(
            shown,
            `const { matrix, product, efficient, loop, rotated } = ${call('threeWays', values.pairing, values.m)};
// The matrix; then by coordinate, what each form gives and what the package does.
const result = [...matrix, ...product.flatMap((value, i) => [value, efficient[i], loop[i], rotated[i]])];`,
          ),
          table: () => [
            {
              caption: texts.matrixTable,
              corner: texts.coordinate,
              columns: coordinates.map(plain),
              rows: coordinates.map((row) => ({
                name: plain(row),
                values: matrix.slice(row * waysHead, (row + 1) * waysHead),
              })),
              print: (value) => fixed(value, 4),
            },
            {
              caption: texts.formsTable,
              corner: texts.coordinate,
              columns: [texts.matrix, texts.efficient, texts.loop, 'plan.rotate'],
              rows: coordinates.map((i) => ({
                name: plain(i),
                values: [...forms, rotated].map((numbers) => numbers[i]),
              })),
              print: (value) => fixed(value, 6),
            },
          ],
        };
      },
    };
  });
}
