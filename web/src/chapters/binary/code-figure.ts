// Positions written in bits, and how many bits change from one to the next.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider } from '../../figure/settings';
import { call, partsOf, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { refusal } from '../../ui/refusal';
import { gutterFor } from '../../views/field';
import { fieldGroup } from '../../views/field-group';
import { lineChart } from '../../views/line-chart';
import type { Texts } from './i18n/en';
import { binaryCodes } from './programs';
import { shown } from './programs.js?shown';

const bitCounts = whole(2, 5);
const most = 2 ** Math.max(...bitCounts);

/** A position in bits, or the package's error where the bits do not hold it. */
function encode(core: Ropewalk, bits: number, position: number): string | Error {
  try {
    return core.binary({ bits, positions: [position], msbFirst: true }).join('');
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

export function binaryCodeFigure(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.code;
  const { plain } = chapter.numbers;
  const fields = { bits: slider(texts.bits, bitCounts, 4, plain), at: slider(texts.at, whole(0, most), 7, plain) };
  return figure(chapter, { name: 'code', caption: texts.caption }, fields, (section, { bits, at }) => {
    // One position more than the bits hold, to show that it is refused.
    const grid = fieldGroup(chapter.frame.figure.cells, ({ column }) => section.set({ at: column }));
    const chart = lineChart(150);
    const notice = refusal(chapter.frame.figure);
    return {
      controls: [bits.element, at.element],
      picture: [notice.element, grid.element, chart.element],
      show(values) {
        const count = 2 ** values.bits;
        const { codes, flips } = binaryCodes(core, values.bits);
        const here = encode(core, values.bits, values.at);
        const next = encode(core, values.bits, values.at + 1);
        const changed = (bit: number): boolean =>
          typeof here === 'string' && typeof next === 'string' && here[bit] !== next[bit];
        const refused = here instanceof Error ? here : next instanceof Error ? next : undefined;
        notice.show(refused?.message);
        const place = (bit: number): number => 2 ** (values.bits - 1 - bit);
        grid.update({
          fields: [
            {
              label: texts.grid,
              legend: texts.legend,
              rows: values.bits,
              columns: count,
              // A column for each position: the codes turned on their side.
              values: Array.from({ length: count * values.bits }, (_, i) => {
                const [bit, position] = [Math.floor(i / count), i % count];
                return codes[position * values.bits + bit] ?? 0;
              }),
              scale: 'sequential',
              limit: 1,
              whole: true,
              // As wide as there is room, so that the chart below is under its columns.
              largestCell: 1e9,
              tallest: 38 * values.bits,
              rowTitle: texts.rows,
              columnTitle: texts.columns,
              rowName: (bit) => plain(place(bit)),
              columnName: plain,
              print: plain,
              framed: ({ row, column }) => (column === values.at || column === values.at + 1) && changed(row),
            },
          ],
          tell: ({ row, column }) =>
            texts.cell(plain(column), plain(place(row)), plain(codes[column * values.bits + row] ?? 0)),
          print: plain,
        });
        chart.update({
          label: texts.chart,
          x: { title: texts.step, min: -0.5, max: count - 0.5, ticks: whole(0, count - 2), print: plain },
          y: { title: texts.flips, min: 0, max: values.bits + 0.3, ticks: whole(0, values.bits), print: plain },
          series: [{ name: texts.flips, look: 'query', kind: 'stems', points: flips.map((n, p) => [p, n]) }],
          sides: { left: gutterFor(values.bits, (bit) => plain(place(bit))), right: 0 },
          marks: values.at < count - 1 ? [{ x: values.at }] : [],
        });
        const both = typeof here === 'string' && typeof next === 'string';
        return {
          summary: both
            ? texts.summary(plain(values.at), plain(values.at + 1), here, next, flips[values.at] ?? 0)
            : texts.overflow(plain(values.bits), plain(count - 1)),
          code: program(shown, partsOf(call('binaryCodes', values.bits), 'codes', 'flips')),
          table: () => [
            {
              caption: texts.grid,
              corner: texts.columns,
              columns: whole(0, values.bits - 1).map((bit) => plain(place(bit))),
              rows: whole(0, count - 1).map((p) => ({
                name: plain(p),
                values: Array.from(codes.subarray(p * values.bits, (p + 1) * values.bits)),
              })),
              print: plain,
            },
            {
              caption: texts.flips,
              corner: texts.step,
              columns: [texts.flips],
              rows: flips.map((n, p) => ({ name: `${plain(p)} → ${plain(p + 1)}`, values: [n] })),
              print: plain,
            },
          ],
        };
      },
      end() {
        grid.destroy();
        chart.destroy();
      },
    };
  });
}
