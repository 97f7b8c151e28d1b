// The three places of RoPE in linear attention: the weights that come out, and what they were divided by.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { more } from '../../figure/more';
import { oneName, slider } from '../../figure/settings';
import type { Numbers } from '../../i18n/language';
import { call, partsOf, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { type FieldGroupData, fieldGroup } from '../../views/field-group';
import { lineChart } from '../../views/line-chart';
import { evenTicks } from '../../views/ticks';
import type { Texts } from './i18n/en';
import { formNumbers, formTokens } from './programs';
import { shown } from './programs.js?shown';

const dims = [2, 4, 8, 16, 32, 64];
const formNames = ['none', 'numerator', 'both', 'cosine'] as const;
const mapNames = ['elu1', 'relu', 'exp'] as const;
const seeds = whole(1, 30);
const places = whole(0, formTokens - 1);

const rowOf = (weights: Float32Array, i: number): Float32Array =>
  weights.subarray(i * formTokens, (i + 1) * formTokens);

function cellsOf(
  texts: Texts['forms'],
  { plain, significant }: Numbers,
  { weights, denominators }: ReturnType<typeof formNumbers>,
): FieldGroupData {
  const seen = weights.map((weight, at) => (at % formTokens > Math.floor(at / formTokens) ? Number.NaN : weight));
  return {
    fields: [
      {
        label: texts.label,
        legend: texts.legend,
        rows: formTokens,
        columns: formTokens,
        values: seen,
        scale: 'diverging',
        limit: 1,
        rowTitle: texts.query,
        columnTitle: texts.key,
        rowName: plain,
        columnName: plain,
        print: (value) => significant(value, 2),
        largestCell: 27,
        tallest: 480,
      },
    ],
    tell({ row: query, column: key }) {
      if (key > query) return texts.later(plain(query), plain(key));
      const sum = rowOf(weights, query).reduce((a, b) => a + b, 0);
      return texts.cell(
        plain(query),
        plain(key),
        significant(weights[query * formTokens + key] ?? 0, 3),
        significant(sum, 4),
        significant(denominators[query] ?? 0, 3),
      );
    },
    print: plain,
  };
}

export function linearForms(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.forms;
  const { plain, significant } = chapter.numbers;
  const fields = {
    form: oneName(texts.form, formNames, 'both', (value) => texts.kinds[value]),
    map: oneName(texts.map, mapNames, 'elu1', (value) => texts.maps[value]),
    dim: slider(chapter.texts.dim, dims, 2, plain),
    seed: slider(texts.seed, seeds, 3, plain),
  };
  return figure(chapter, { name: 'forms', caption: texts.caption }, fields, (_, { form, map, dim, seed }) => {
    const cells = fieldGroup(chapter.frame.figure.cells);
    const chart = lineChart(200);
    return {
      controls: [form.element, map.element, dim.element, more(chapter.frame, seed.element)],
      picture: [cells.element, chart.element],
      show(values) {
        // The cosine form has no features.
        map.element.hidden = values.form === 'cosine';
        const { form: shownForm, map: shownMap, dim: D, seed: number } = values;
        const input = { form: shownForm, map: shownMap, dim: D, seed: number };
        const made = formNumbers(core, input);
        const { weights, denominators, report } = made;
        const largest = weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0);
        cells.update(cellsOf(texts, chapter.numbers, made));
        const ticks = evenTicks(Math.min(0, ...denominators), Math.max(0, ...denominators));
        chart.update({
          label: texts.denominators,
          x: {
            title: texts.position,
            min: -0.5,
            max: formTokens - 0.5,
            ticks: whole(0, formTokens - 1, 4),
            print: plain,
          },
          y: { title: texts.denominators, min: ticks[0] ?? 0, max: ticks.at(-1) ?? 1, ticks, print: plain },
          series: [
            {
              name: texts.denominator,
              look: 'query',
              kind: 'stems',
              points: Array.from(denominators, (value, i) => [i, value]),
            },
          ],
        });
        return {
          summary: texts.summary(
            texts.kinds[values.form],
            plain(report.negative),
            plain(report.zero),
            significant(Math.min(...denominators.map(Math.abs).filter((value) => value > 0)), 3),
            significant(largest, 3),
          ),
          code: program(shown, partsOf(call('formNumbers', input), 'weights', 'denominators')),
          table: () => [
            {
              caption: texts.label,
              corner: `${texts.query} \\ ${texts.key}`,
              columns: places.map(plain),
              rows: places.map((i) => ({
                name: plain(i),
                values: Array.from(rowOf(weights, i), (weight, j) => (j > i ? undefined : weight)),
              })),
              print: (value) => significant(value, 3),
            },
            {
              caption: texts.denominators,
              corner: texts.query,
              columns: [texts.denominator],
              rows: places.map((i) => ({ name: plain(i), values: [denominators[i]] })),
              print: (value) => significant(value, 5),
            },
          ],
        };
      },
      end() {
        cells.destroy();
        chart.destroy();
      },
    };
  });
}
