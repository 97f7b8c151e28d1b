// Attention with each encoding on the same numbers: its weights, and the whole program in three libraries.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { oneName } from '../../figure/settings';
import { program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { type FieldGroupData, fieldGroup } from '../../views/field-group';
import { attentions, heads, tokens as T } from './attention';
import { shown } from './attention.js?shown';
import type { Texts } from './i18n/en';
import { libraries, libraryCode } from './library-code';

const encodings = Object.keys(attentions) as (keyof typeof attentions)[];
const headNumbers = whole(0, heads - 1);

const codeOf = (encoding: string): string =>
  program(
    shown,
    `const { scores, out } = ${encoding}(rw);
const result = [...scores.data, ...out.data];`,
  );

export function compareAttention(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.attention;
  const { plain, fixed } = chapter.numbers;
  const fields = {
    encoding: oneName(texts.encoding, encodings, 'rope', (name) => texts.encodings[name]),
    library: oneName(texts.library, libraries, 'numpy', (name) => texts.libraries[name]),
  };
  let viewer: Element | undefined;
  const made = figure(chapter, { name: 'attention', caption: texts.caption }, fields, (_, { encoding, library }) => {
    const maps = fieldGroup(chapter.frame.figure.cells);
    const code = libraryCode(chapter, library.element);
    viewer = code.element;

    function mapsOf(weights: Float32Array): FieldGroupData {
      return {
        fields: headNumbers.map((head) => ({
          title: texts.head(plain(head)),
          label: texts.head(plain(head)),
          legend: head === 0 ? texts.weight : '',
          rows: T,
          columns: T,
          values: weights.subarray(head * T * T, (head + 1) * T * T),
          scale: 'sequential',
          limit: 1,
          rowTitle: texts.query,
          columnTitle: texts.key,
          rowName: plain,
          columnName: plain,
          print: (value) => fixed(value, 2),
        })),
        tell: ({ row, column }, head) =>
          texts.cell(plain(head), plain(row), plain(column), fixed(weights[(head * T + row) * T + column] ?? 0, 3)),
        print: plain,
      };
    }

    return {
      controls: [encoding.element],
      picture: [maps.element],
      show(values) {
        const { scores, out } = attentions[values.encoding](core);
        const weights = scores.data;
        maps.update(mapsOf(weights));
        const own = codeOf(values.encoding);
        code.show(values.encoding, values.library, own);
        const columns = out.shape.at(-1) ?? 1;
        const rowName = (i: number): string =>
          out.shape.length === 2 ? plain(i) : texts.row(plain(Math.floor(i / T)), plain(i % T));
        const print = (value: number): string => fixed(value, 4);
        return {
          summary: texts.summary(
            texts.encodings[values.encoding],
            plain(T - 1),
            fixed(weights[T * T - 1] ?? 0, 3),
            fixed(weights[T * T - T] ?? 0, 3),
          ),
          code: own,
          table: () => [
            ...headNumbers.map((head) => ({
              caption: texts.head(plain(head)),
              corner: `${texts.query} \\ ${texts.key}`,
              columns: whole(0, T - 1).map(plain),
              rows: whole(0, T - 1).map((i) => ({
                name: plain(i),
                values: Array.from(weights.subarray((head * T + i) * T, (head * T + i + 1) * T)),
              })),
              print,
            })),
            {
              caption: texts.out,
              corner: texts.query,
              columns: whole(0, columns - 1).map(plain),
              rows: whole(0, out.data.length / columns - 1).map((i) => ({
                name: rowName(i),
                values: Array.from(out.data.subarray(i * columns, (i + 1) * columns)),
              })),
              print,
            },
          ],
        };
      },
      end: maps.destroy,
    };
  });
  if (viewer) made.element.append(viewer);
  return made;
}
