// Causal linear attention as a recurrence: a state of fixed size beside a growing cache, and pieces of any length.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import type { Numbers } from '../../i18n/language';
import { call, program } from '../../programs/program';
import { type ChartData, lineChart } from '../../views/line-chart';
import { evenTicks } from '../../views/ticks';
import type { Texts } from './i18n/en';
import { memory, memorySteps, pieceDifferences, piecedTokens } from './programs';
import { shown } from './programs.js?shown';

const dims = [16, 32, 64, 128];
const lengths = [64, 128, 256, 512, 1024, 2048, 4096];
const pieces = [1, 2, 7, 16, 64, 100, 256];
// Exact agreement has no logarithm: it is drawn on the axis.
const least = 1e-9;

const stateCode = (dim: number, tokens: number, piece: number): string =>
  program(
    shown,
    `const { cache, state } = ${call('memory', dim, tokens)};
const result = [...cache.flatMap((bytes) => [bytes, state]), ...${call('pieceDifferences', dim, piece)}];`,
  );

function errorsOf(texts: Texts['state'], { plain, power }: Numbers, differences: Float64Array): ChartData {
  return {
    label: texts.differences,
    x: { title: texts.token, min: 0, max: piecedTokens - 1, ticks: [0, 64, 128, 192, 255], print: plain },
    y: {
      title: texts.differences,
      min: least,
      max: 1e-3,
      log: true,
      ticks: [1e-9, 1e-7, 1e-5, 1e-3],
      print: power,
    },
    series: [
      {
        name: texts.error,
        look: 'query',
        kind: 'dots',
        points: Array.from(differences, (value, i) => [i, Math.max(value, least)]),
      },
    ],
  };
}

export function linearState(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.state;
  const common = chapter.texts;
  const { plain, significant, measure, bound } = chapter.numbers;
  const fields = {
    tokens: slider(common.tokens, lengths, 512, plain),
    dim: slider(common.dim, dims, 64, plain),
    chunk: slider(texts.chunk, pieces, 7, plain),
  };
  return figure(chapter, { name: 'state', caption: texts.caption }, fields, (_, { tokens, dim, chunk }) => {
    const piece = (value: number): string => texts.chunkValue(plain(value));
    const [bytes, errors] = [lineChart(210), lineChart(190)];
    return {
      controls: [together(tokens, dim, chunk)],
      picture: [bytes.element, errors.element],
      show(values) {
        const { cache, state } = memory(core, values.dim, values.tokens);
        const step = values.tokens / memorySteps;
        const ticks = evenTicks(0, Math.max(cache.at(-1) ?? 0, state) / 1024);
        bytes.update({
          label: texts.label,
          x: {
            title: texts.x,
            min: step,
            max: values.tokens,
            ticks: [1, 4, 8, 12, 16].map((i) => i * step),
            print: plain,
          },
          y: { title: texts.y, min: 0, max: ticks.at(-1) ?? 1, ticks, print: plain },
          series: [
            {
              name: texts.cache,
              look: 'key',
              kind: 'line',
              points: cache.map((size, i) => [(i + 1) * step, size / 1024]),
            },
            {
              name: texts.own,
              look: 'query',
              kind: 'line',
              points: cache.map((_, i) => [(i + 1) * step, state / 1024]),
            },
          ],
        });
        const differences = pieceDifferences(core, values.dim, values.chunk);
        errors.update(errorsOf(texts, chapter.numbers, differences));
        return {
          summary: texts.summary(
            plain(values.tokens),
            measure((cache.at(-1) ?? 0) / 1024),
            measure(state / 1024),
            piece(values.chunk),
            bound(
              differences.reduce((a, b) => Math.max(a, b), 0),
              2,
            ),
          ),
          code: stateCode(values.dim, values.tokens, values.chunk),
          table: () => [
            {
              caption: texts.label,
              corner: texts.x,
              columns: [texts.cache, texts.own],
              rows: cache.map((size, i) => ({ name: plain((i + 1) * step), values: [size, state] })),
              print: plain,
            },
            {
              caption: texts.differences,
              corner: texts.token,
              columns: [texts.error],
              rows: Array.from(differences, (value, i) => ({ name: plain(i), values: [value] })),
              print: (value) => significant(value, 3),
            },
          ],
        };
      },
      end() {
        bytes.destroy();
        errors.destroy();
      },
    };
  });
}
