// Two curves that are called RoPE's decay, and what they are.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program, rowsOf } from '../../programs/program';
import { whole } from '../../ui/controls';
import { lineChart } from '../../views/line-chart';
import { evenTicks } from '../../views/ticks';
import type { Texts } from './i18n/en';
import { decayCurves, distancesTo } from './programs';
import { shown } from './programs.js?shown';

export const dims = [16, 32, 64, 128, 256];
export const bases = [100, 1000, 10000, 100000, 500000, 1000000];
export const reaches = [64, 256, 1024, 4096, 16384];

/** Round numbers along an axis of distances. */
export function distanceTicks(reach: number): number[] {
  return whole(0, 4).map((i) => (i * reach) / 4);
}

export function decayCurvesFigure(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.curves;
  const common = chapter.texts;
  const { plain, fixed } = chapter.numbers;
  const fields = {
    dim: slider(common.dim, dims, 128, plain),
    base: slider(common.base, bases, 10000, plain),
    reach: slider(common.reach, reaches, 256, plain),
  };
  return figure(chapter, { name: 'curves', caption: texts.caption }, fields, (_, { dim, base, reach }) => {
    const chart = lineChart(260);
    return {
      controls: [together(dim, base, reach)],
      picture: [chart.element],
      show(values) {
        const distances = distancesTo(values.reach);
        const { cosines, shape } = decayCurves(core, values.dim, values.base, values.reach);
        const points = (curve: Float64Array) => distances.map((d, i) => [d, curve[i] ?? 0] as const);
        const step = distances[1] ?? 1;
        const title = step === 1 ? common.distance : common.everyNth(plain(step));
        const lowest = cosines.reduce((a, b) => Math.min(a, b), 0);
        const ticks = evenTicks(lowest, 1);
        chart.update({
          label: texts.label,
          x: { title, min: 0, max: values.reach, ticks: distanceTicks(values.reach), print: plain },
          y: { title: texts.y, min: ticks[0] ?? 0, max: 1, ticks, print: plain },
          series: [
            { name: texts.cosines, look: 'query', kind: 'line', points: points(cosines) },
            { name: texts.shape, look: 'key', kind: 'line', points: points(shape) },
          ],
        });
        const rises = cosines.reduce((n, value, i) => n + (i > 0 && value > (cosines[i - 1] ?? 0) ? 1 : 0), 0);
        return {
          summary: texts.summary(
            plain(values.reach),
            fixed(cosines.at(-1) ?? 0, 2),
            fixed(shape.at(-1) ?? 0, 2),
            plain(rises),
            plain(distances.length - 1),
            plain(step),
          ),
          code: program(shown, rowsOf(call('decayCurves', values.dim, values.base, values.reach), 'cosines', 'shape')),
          table: () => [
            {
              caption: texts.label,
              corner: common.distance,
              columns: [texts.cosines, texts.shape],
              rows: distances.map((d, i) => ({ name: plain(d), values: [cosines[i], shape[i]] })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
      end: chart.destroy,
    };
  });
}
