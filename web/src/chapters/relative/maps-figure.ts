// Three ways to see a distance, side by side: Shaw's rows, T5's bias, ALiBi's bias.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { more } from '../../figure/more';
import { slider, together, toggle } from '../../figure/settings';
import type { Numbers } from '../../i18n/language';
import { call, partsOf, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { type FieldGroupData, fieldGroup } from '../../views/field-group';
import type { Texts } from './i18n/en';
import { biases, heads, shawDistance } from './programs';
import { shown } from './programs.js?shown';

const lengths = [8, 12, 16, 24, 32, 48];
const headNumbers = whole(1, heads);
const distances = whole(0, 47);

// All three of them; the framed cells are `far` apart.
function mapsOf(
  texts: Texts['maps'],
  { plain, significant }: Numbers,
  values: { readonly length: number; readonly head: number; readonly decoder: boolean },
  far: number,
  { shaw, buckets, t5, alibi }: ReturnType<typeof biases>,
): FieldGroupData {
  const T = values.length;
  const isHidden = (i: number): boolean => values.decoder && i % T > Math.floor(i / T);
  const visible = (numbers: ArrayLike<number>): number[] =>
    Array.from(numbers, (v, i) => (isHidden(i) ? Number.NaN : v));
  const common = {
    rows: T,
    columns: T,
    rowTitle: texts.query,
    columnTitle: texts.key,
    rowName: plain,
    columnName: plain,
    framed: ({ row, column }: { row: number; column: number }) => row - column === far,
  };
  const most = alibi.reduce((a, b) => Math.max(a, -b), 0) || 1;
  const short = (value: number): string => significant(value, 3);
  return {
    fields: [
      {
        ...common,
        title: texts.shaw,
        label: texts.shaw,
        legend: texts.row,
        values: visible(shaw),
        scale: 'sequential',
        limit: 2 * shawDistance,
        whole: true,
        print: plain,
      },
      {
        ...common,
        title: texts.t5,
        label: texts.t5,
        legend: texts.bias,
        values: visible(t5),
        scale: 'diverging',
        limit: 1,
        print: short,
      },
      {
        ...common,
        title: texts.alibi(plain(values.head)),
        label: texts.alibi(plain(values.head)),
        legend: texts.bias,
        values: visible(alibi),
        // From 0 down.
        scale: 'sequential',
        limit: -most,
        print: short,
      },
    ],
    tell({ row, column }) {
      const i = row * T + column;
      return isHidden(i)
        ? texts.hidden(plain(row), plain(column))
        : texts.cell(
            plain(row),
            plain(column),
            plain(column - row),
            plain(shaw[i] ?? 0),
            plain(buckets[i] ?? 0),
            short(t5[i] ?? 0),
            short(alibi[i] ?? 0),
          );
    },
    print: short,
  };
}

export function relativeMaps(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.maps;
  const { plain, significant } = chapter.numbers;
  const fields = {
    length: slider(texts.length, lengths, 24, plain),
    head: slider(texts.head, headNumbers, 2, plain),
    d: slider(texts.d, distances, 9, plain),
    decoder: toggle(texts.decoder, false),
  };
  return figure(chapter, { name: 'maps', caption: texts.caption, wide: true }, fields, (section, controls) => {
    const { length, head, d, decoder } = controls;
    const maps = fieldGroup(chapter.frame.figure.cells, ({ row, column }) =>
      section.set({ d: Math.max(0, row - column) }),
    );
    return {
      controls: [together(length, d), more(chapter.frame, together(head, decoder))],
      picture: [maps.element],
      show(values) {
        const T = values.length;
        const far = Math.min(values.d, T - 1);
        d.show(far, T - 1);
        const made = biases(core, T, values.head - 1, values.decoder);
        const { shaw, buckets, t5, alibi } = made;
        const short = (value: number): string => significant(value, 3);
        maps.update(mapsOf(texts, chapter.numbers, values, far, made));
        const at = far * T;
        const table = (caption: string, numbers: ArrayLike<number>) => ({
          caption,
          corner: `${texts.query} \\ ${texts.key}`,
          columns: whole(0, T - 1).map(plain),
          rows: whole(0, T - 1).map((i) => ({ name: plain(i), values: Array.from(numbers).slice(i * T, (i + 1) * T) })),
          print: short,
        });
        return {
          summary: texts.summary(
            plain(far),
            plain(shaw[at] ?? 0),
            plain(buckets[at] ?? 0),
            short(t5[at] ?? 0),
            plain(values.head),
            short(alibi[at] ?? 0),
          ),
          code: program(shown, partsOf(call('biases', T, values.head - 1, values.decoder), 'shaw', 't5', 'alibi')),
          table: () => [table(texts.shaw, shaw), table(texts.t5, t5), table(texts.alibi(plain(values.head)), alibi)],
        };
      },
      end: maps.destroy,
    };
  });
}
