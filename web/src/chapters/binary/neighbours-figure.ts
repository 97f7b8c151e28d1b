// How far apart positions are in bits and in waves: stairs and stripes beside a smooth valley.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { stepControl, whole } from '../../ui/controls';
import { oneOf } from '../../ui/state';
import { fieldGroup } from '../../views/field-group';
import type { Texts } from './i18n/en';
import { neighbours, neighboursCode } from './numbers';

const bitCounts = whole(3, 6);

export function binaryNeighbours(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.neighbours;
  const { plain, fixed } = chapter.numbers;
  const fields = { bits: oneOf(bitCounts, 4) };
  return figure(chapter, { name: 'neighbours', caption: texts.caption, wide: true }, fields, (section) => {
    const bits = stepControl(texts.bits, bitCounts, plain, (value) => section.set({ bits: value }, 'bits'));
    const maps = fieldGroup(chapter.frame.figure.cells);
    return {
      controls: [bits.element],
      picture: [maps.element],
      show(values) {
        bits.show(values.bits);
        const count = 2 ** values.bits;
        const { binary, sinusoidal } = neighbours(core, values.bits);
        const common = {
          rows: count,
          columns: count,
          scale: 'sequential',
          rowTitle: texts.position,
          columnTitle: texts.position,
          rowName: plain,
          columnName: plain,
        } as const;
        const most = Math.ceil(sinusoidal.reduce((a, b) => Math.max(a, b), 0));
        const at = (values: Float32Array, row: number, column: number): number => values[row * count + column] ?? 0;
        maps.update({
          fields: [
            {
              ...common,
              title: texts.binary,
              label: texts.binary,
              legend: texts.bitsApart,
              values: binary,
              limit: values.bits,
              whole: true,
              print: plain,
            },
            {
              ...common,
              title: texts.sinusoidal,
              label: texts.sinusoidal,
              legend: texts.distance,
              values: sinusoidal,
              limit: most,
              print: (v) => fixed(v, 1),
            },
          ],
          tell: ({ row, column }) =>
            texts.cell(
              plain(row),
              plain(column),
              plain(at(binary, row, column)),
              fixed(at(sinusoidal, row, column), 2),
            ),
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
            plain(at(binary, middle - 1, middle)),
            fixed(at(sinusoidal, middle - 1, middle), 2),
            fixed(at(sinusoidal, 0, 1), 2),
          ),
          code: neighboursCode(values.bits),
          table: () => [table(texts.binary, binary, 0), table(texts.sinusoidal, sinusoidal, 4)],
        };
      },
      end: maps.destroy,
    };
  });
}
