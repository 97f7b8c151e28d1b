// Results that papers report, as tables, each with its source.
import type { Numbers } from '../../i18n/language';
import { h } from '../../ui/dom';
import { prose } from '../../ui/rich-text';
import type { EvidenceTexts } from './i18n/evidence-en';

type Cell = number | string;

/** By table, then by row. Names of rows that are no models, and words in cells, are in the dictionaries. */
export const published = {
  // RoFormer, table 3, and kexue.fm/archives/8265.
  models: {
    digits: [],
    rows: {
      BERT: ['characters', 'absolute'],
      WoBERT: ['words', 'absolute'],
      NEZHA: ['characters', 'relative'],
      RoFormer: ['words', 'RoPE'],
    },
  },
  // RoFormer, table 5, and kexue.fm/archives/8265: accuracy in percent, validation and test.
  law: {
    digits: [2, 2],
    rows: {
      'BERT-512': [64.13, 67.77],
      'WoBERT-512': [64.07, 68.1],
      'RoFormer-512': [64.13, 68.29],
      'RoFormer-1024': [66.07, 69.79],
    },
  },
  // RoFormer, table 4: length, batch, thousands of steps, loss, accuracy in percent.
  stages: {
    digits: [0, 0, 1, 2, 1],
    rows: {
      1: [512, 256, 200, 1.73, 65],
      2: [1536, 256, 12.5, 1.61, 66.8],
      3: [256, 256, 120, 1.75, 64.6],
      4: [128, 512, 80, 1.83, 63.4],
      5: [1536, 256, 10, 1.58, 67.4],
      6: [512, 512, 30, 1.66, 66.2],
    },
  },
  // RoFormer, table 2: MRPC F1, SST-2, QNLI, STS-B Spearman, QQP F1, MNLI matched and mismatched.
  glue: {
    digits: [1, 1, 1, 1, 1, 1, 1],
    rows: { BERT: [88.9, 93.5, 90.5, 85.8, 71.2, 84.6, 83.4], RoFormer: [89.5, 90.7, 88, 87, 86.4, 80.2, 79.8] },
  },
  // Press et al., section 4.1: trained on, read, perplexity.
  lengths: {
    digits: [0, 0, 2],
    rows: {
      sinusoidal: [3072, 3072, 18.67],
      alibi: [3072, 3072, 17.6],
      short: [512, 512, 19.73],
      long: [512, 3072, 18.4],
    },
  },
} as const satisfies Readonly<
  Record<string, { readonly digits: readonly number[]; readonly rows: Readonly<Record<string, readonly Cell[]>> }>
>;

/** One of the tables, below it what it says and where it is from. */
export function publishedTable(
  name: keyof typeof published,
  { texts, numbers }: { readonly texts: EvidenceTexts; readonly numbers: Numbers },
): readonly HTMLElement[] {
  const { caption, corner, columns, rows: given, note } = texts.published[name];
  const names: Readonly<Record<string, string>> = given;
  const { digits, rows } = published[name];
  const written = (value: Cell, i: number): string =>
    typeof value === 'string' ? (names[value] ?? value) : numbers.fixed(value, digits[i] ?? 0);
  const cell = (value: Cell, i: number): HTMLElement => h('td', {}, written(value, i));
  const table = h(
    'table',
    {},
    h('caption', {}, caption),
    h('thead', {}, h('tr', {}, h('td', {}, corner), ...columns.map((column) => h('th', { scope: 'col' }, column)))),
    h(
      'tbody',
      {},
      ...Object.entries<readonly Cell[]>(rows).map(([row, values]) =>
        h('tr', {}, h('th', { scope: 'row' }, names[row] ?? row), ...values.map(cell)),
      ),
    ),
  );
  const box = h('div', { class: 'scroller published', tabindex: 0, role: 'region', 'aria-label': caption }, table);
  return [h('div', { class: 'prose' }, box), prose(note)];
}
