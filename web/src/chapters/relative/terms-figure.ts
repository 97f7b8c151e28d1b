// The terms that the scores of Shaw, M4 and M3 are made of, as maps that add up.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { oneName, slider, together } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { fieldGroup } from '../../views/field-group';
import type { Texts } from './i18n/en';
import { terms, termWords } from './programs';
import { shown } from './programs.js?shown';

const methods = ['shaw', 'm4', 'm3'] as const;
const parts = { shaw: ['content', 'query', 'score'], m4: ['content', 'query', 'key', 'score'], m3: ['score'] } as const;

export function relativeTerms(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.split;
  const { plain, fixed } = chapter.numbers;
  const fields = {
    method: oneName(texts.method, methods, 'm4', (method) => texts.methods[method]),
    seed: slider(texts.seed, whole(1, 20), 1, plain),
  };
  return figure(chapter, { name: 'terms', caption: texts.caption, wide: true }, fields, (_, { method, seed }) => {
    const maps = fieldGroup(chapter.frame.figure.cells);
    return {
      controls: [together(method, seed)],
      picture: [maps.element],
      show(values) {
        const names = parts[values.method];
        const made = terms(core, values.method, values.seed);
        const limit = Math.ceil(10 * Math.max(...made.flatMap((map) => Array.from(map, Math.abs)))) / 10;
        const short = (value: number): string => fixed(value, 2);
        maps.update({
          fields: names.map((name, i) => ({
            title: texts[name],
            label: texts.label(texts[name]),
            legend: texts.legend,
            rows: termWords,
            columns: termWords,
            rowTitle: texts.row,
            columnTitle: texts.column,
            rowName: plain,
            columnName: plain,
            values: Array.from(made[i] ?? []),
            scale: 'diverging',
            limit,
            print: short,
          })),
          tell({ row, column }) {
            const [score = '', ...others] = made.map((map) => short(map[row * termWords + column] ?? 0)).reverse();
            const told = others.reverse().map((value, i) => `${texts[names[i] ?? 'score']} ${value}`);
            return texts.cell(plain(row), plain(column), told.join(', '), score);
          },
          print: short,
        });
        const size = (map: Float32Array | undefined): string => short(Math.hypot(...(map ?? [])) / termWords);
        const key = values.method === 'm4' ? size(made[2]) : short(0);
        return {
          summary: values.method === 'm3' ? texts.summaryOne : texts.summary(size(made[1]), key),
          code: program(
            shown,
            `const result = ${call('terms', values.method, values.seed)}.flatMap((map) => [...map]);`,
          ),
          table: () =>
            names.map((name, i) => ({
              caption: texts.label(texts[name]),
              corner: `${texts.row} \\ ${texts.column}`,
              columns: whole(0, termWords - 1).map(plain),
              rows: whole(0, termWords - 1).map((row) => ({
                name: plain(row),
                values: Array.from(made[i]?.subarray(row * termWords, (row + 1) * termWords) ?? []),
              })),
              print: (value: number) => fixed(value, 4),
            })),
        };
      },
      end: maps.destroy,
    };
  });
}
