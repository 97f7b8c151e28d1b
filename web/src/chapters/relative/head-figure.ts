// Query, key and value in numbers: words, three matrices, what they make of each word, and one row of attention.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider } from '../../figure/settings';
import { splitWords } from '../../figure/words';
import { call, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { groupTables, type TableCell } from '../../views/group-tables';
import type { Texts } from './i18n/en';
import { headSizes, oneHead } from './programs';
import { shown } from './programs.js?shown';

const { word: size, head: D } = headSizes;
const looks = ['query', 'key', 'third'] as const; // of query, key and value
type Look = NonNullable<TableCell['look']>;

export function relativeHead(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.head;
  const { plain, fixed } = chapter.numbers;
  const words = splitWords(texts.sentence);
  const named = (i: number): string => `${plain(i + 1)} ${words[i] ?? ''}`;
  const fields = { word: slider(texts.word, whole(0, words.length - 1), 1, named) };
  return figure(chapter, { name: 'head', caption: texts.caption }, fields, (section, { word }) => {
    const tables = groupTables((group) => section.set({ word: group }));
    const short = (value = 0): string => fixed(value, 2);
    return {
      controls: [word.element],
      picture: [tables.element],
      show(values) {
        const { x, matrices, q, k, v, scores, weights, parts, out } = oneHead(core, words, values.word);
        const cells = (numbers: readonly number[] | undefined, look: Look, group?: number) =>
          (numbers ?? []).map((value): TableCell => ({ text: short(value), look, group }));
        const column = (name: string, span: number) => ({ name, span });
        tables.update(values.word, [
          {
            title: texts.titles.words,
            note: texts.notes.words,
            columns: [column('x', size)],
            rows: words.map((name, i) => ({ name, cells: cells(x[i], 'quiet', i) })),
          },
          {
            title: texts.titles.matrices,
            note: texts.notes.matrices,
            columns: [column('W', size)],
            rows: matrices.map((row, i) => {
              const role = Math.floor(i / D);
              return { name: ['Q', 'K', 'V'][role] ?? '', cells: cells(row, looks[role] ?? 'quiet') };
            }),
          },
          {
            title: texts.titles.made,
            note: texts.notes.made,
            columns: ['q', 'k', 'v'].map((name) => column(name, D)),
            rows: words.map((name, i) => ({
              name,
              cells: [q, k, v].flatMap((rows, role) => cells(rows[i], looks[role] ?? 'quiet', i)),
            })),
          },
          {
            title: texts.titles.row(words[values.word] ?? ''),
            note: texts.notes.row,
            columns: [column(`q · k / √${plain(D)}`, 1), column('softmax', 1), column('× v', D)],
            rows: [
              ...words.map((name, j) => ({
                name,
                cells: [...cells([scores[j] ?? 0, weights[j] ?? 0], 'quiet', j), ...cells(parts[j], 'third', j)],
              })),
              {
                name: texts.sum,
                cells: [{ text: '' }, ...cells([weights.reduce((a, b) => a + b, 0)], 'quiet'), ...cells(out, 'third')],
              },
            ],
          },
        ]);
        const most = weights.indexOf(Math.max(...weights));
        const numbered = (symbol: string, count: number) => whole(0, count - 1).map((i) => `${symbol} ${plain(i)}`);
        return {
          summary: texts.summary(
            words[values.word] ?? '',
            words[most] ?? '',
            short(weights[most]),
            out.map(short).join(', '),
          ),
          code: program(
            shown,
            `const { x, q, k, v, scores, weights, parts, out } = ${call('oneHead', words, values.word)};
// By word; then by word that is looked at; then what comes out.
const made = x.map((row, i) => [...row, ...q[i], ...k[i], ...v[i]]);
const looked = parts.map((part, j) => [scores[j], weights[j], ...part]);
const result = [...made.flat(), ...looked.flat(), ...out];`,
          ),
          table: () => [
            {
              caption: texts.titles.made,
              corner: texts.word,
              columns: [numbered('x', size), ...['q', 'k', 'v'].map((name) => numbered(name, D))].flat(),
              rows: words.map((name, i) => ({ name, values: [x, q, k, v].flatMap((rows) => rows[i] ?? []) })),
              print: (value) => fixed(value, 4),
            },
            {
              caption: texts.titles.row(words[values.word] ?? ''),
              corner: texts.word,
              columns: [`q · k / √${plain(D)}`, 'softmax', ...numbered('× v', D)],
              rows: words.map((name, j) => ({
                name,
                values: [scores[j] ?? 0, weights[j] ?? 0, ...(parts[j] ?? [])],
              })),
              print: (value) => fixed(value, 4),
            },
            {
              caption: texts.out,
              corner: texts.word,
              columns: numbered('o', D),
              rows: [{ name: words[values.word] ?? '', values: out }],
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
    };
  });
}
