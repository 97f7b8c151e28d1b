// How far apart positions are in bits and in waves: stairs and stripes beside a smooth valley.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider } from '../../figure/settings';
import { call, partsOf, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { fieldGroup } from '../../views/field-group';
import type { Texts } from './i18n/en';
import { neighbours } from './programs';
import { shown } from './programs.js?shown';

const bitCounts = whole(3, 6);

export function binaryNeighbours(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.neighbours;
  const { plain, fixed } = chapter.numbers;
  const fields = { bits: slider(texts.bits, bitCounts, 4, plain) };
  return figure(chapter, { name: 'neighbours', caption: texts.caption, wide: true }, fields, (_, { bits }) => {
    const maps = fieldGroup(chapter.frame.figure.cells);
    return {
      controls: [bits.element],
      picture: [maps.element],
      show(values) {
        const count = 2 ** values.bits;
        const { inBits, inWaves } = neighbours(core, values.bits);
        const common = {
          rows: count,
          columns: count,
          scale: 'sequential',
          rowTitle: texts.position,
          columnTitle: texts.position,
          rowName: plain,
          columnName: plain,
        } as const;
        const most = Math.ceil(inWaves.reduce((a, b) => Math.max(a, b), 0));
        const at = (values: Float32Array, row: number, column: number): number => values[row * count + column] ?? 0;
        maps.update({
          fields: [
            {
              ...common,
              title: texts.binary,
              label: texts.binary,
              legend: texts.bitsApart,
              values: inBits,
              limit: values.bits,
              whole: true,
              print: plain,
            },
            {
              ...common,
              title: texts.sinusoidal,
              label: texts.sinusoidal,
              legend: texts.distance,
              values: inWaves,
              limit: most,
              print: (v) => fixed(v, 1),
            },
          ],
          tell: ({ row, column }) =>
            texts.cell(plain(row), plain(column), plain(at(inBits, row, column)), fixed(at(inWaves, row, column), 2)),
          print: plain,
        });
        const middle = count / 2;
        const table = (caption: string, values: Float32Array, digits: number) => ({
          caption,
          corner: texts.position,
          columns: whole(0, count - 1).map(plain),
          rows: whole(0, count - 1).map((p) => ({
            name: plain(p),
            values: Array.from(values.subarray(p * count, (p + 1) * count)),
          })),
          print: (value: number) => fixed(value, digits),
        });
        return {
          summary: texts.summary(
            plain(middle - 1),
            plain(middle),
            plain(at(inBits, middle - 1, middle)),
            fixed(at(inWaves, middle - 1, middle), 2),
            fixed(at(inWaves, 0, 1), 2),
          ),
          code: program(shown, partsOf(call('neighbours', values.bits), 'inBits', 'inWaves')),
          table: () => [table(texts.binary, inBits, 0), table(texts.sinusoidal, inWaves, 4)],
        };
      },
      end: maps.destroy,
    };
  });
}
