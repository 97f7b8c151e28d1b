// One query and one key: how large their score is at each distance, and Su's bound on it.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program, rowsOf } from '../../programs/program';
import { whole } from '../../ui/controls';
import { lineChart } from '../../views/line-chart';
import { dims, distanceTicks } from './curves-figure';
import type { Texts } from './i18n/en';
import { boundedScores, distancesTo } from './programs';
import { shown } from './programs.js?shown';

const seeds = whole(1, 30);
const reach = 256;
const base = 10000;

export function decayBound(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.bound;
  const common = chapter.texts;
  const { plain, significant } = chapter.numbers;
  const fields = { seed: slider(texts.seed, seeds, 1, plain), dim: slider(common.dim, dims, 64, plain) };
  return figure(chapter, { name: 'bound', caption: texts.caption }, fields, (_, { seed, dim }) => {
    const chart = lineChart(260);
    return {
      controls: [together(seed, dim)],
      picture: [chart.element],
      show(values) {
        const distances = distancesTo(reach);
        const { sizes, bound } = boundedScores(core, values.dim, base, values.seed, reach);
        const top = 10 ** Math.ceil(Math.log10(bound.reduce((a, b) => Math.max(a, b), 1)));
        const ticks = [0.1, 1, 10, 100, 1000, 10000, 100000].filter((value) => value <= top);
        chart.update({
          label: texts.label,
          x: { title: common.distance, min: 0, max: reach, ticks: distanceTicks(reach), print: plain },
          y: { title: texts.y, min: 0.1, max: top, log: true, ticks, print: plain },
          series: [
            { name: texts.score, look: 'query', kind: 'line', points: distances.map((d, i) => [d, sizes[i] ?? 0]) },
            { name: texts.bound, look: 'key', kind: 'line', points: distances.map((d, i) => [d, bound[i] ?? 0]) },
          ],
        });
        const nearest = bound.reduce(
          (least, value, i) => Math.min(least, value / (sizes[i] || 1e-9)),
          Number.POSITIVE_INFINITY,
        );
        return {
          summary: texts.summary(
            significant(sizes[0] ?? 0, 3),
            significant(sizes.at(-1) ?? 0, 3),
            // Rounded down: what it says of all distances has to be true of the nearest.
            plain(nearest < 10 ? Math.floor(10 * nearest) / 10 : Math.floor(nearest)),
          ),
          code: program(shown, rowsOf(call('boundedScores', values.dim, base, values.seed, reach), 'sizes', 'bound')),
          table: () => [
            {
              caption: texts.label,
              corner: common.distance,
              columns: [texts.score, texts.bound],
              rows: distances.map((d, i) => ({ name: plain(d), values: [sizes[i], bound[i]] })),
              print: (value) => significant(value, 5),
            },
          ],
        };
      },
      end: chart.destroy,
    };
  });
}
