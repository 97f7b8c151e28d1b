// Queries that are built to look some positions back, and where each form of attention really looks.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program, rowsOf } from '../../programs/program';
import { whole } from '../../ui/controls';
import { lineChart } from '../../views/line-chart';
import type { Texts } from './i18n/en';
import { aim, aimKeys } from './programs';
import { shown } from './programs.js?shown';

const dims = [16, 32, 64, 128];
const backs = whole(1, 40);
const distances = whole(0, aimKeys - 1);

export function linearAim(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.aim;
  const { plain, fixed } = chapter.numbers;
  const fields = { back: slider(texts.back, backs, 8, plain), dim: slider(chapter.texts.dim, dims, 64, plain) };
  return figure(chapter, { name: 'aim', caption: texts.caption }, fields, (_, { back, dim }) => {
    const chart = lineChart(240);
    return {
      controls: [together(back, dim)],
      picture: [chart.element],
      show(values) {
        const curves = aim(core, values.dim, values.back);
        const most = (curve: Float32Array): number => curve.reduce((a, b) => Math.max(a, b), 0);
        const points = (curve: Float32Array) => {
          const largest = most(curve);
          return Array.from(curve, (weight, d) => [d, weight / largest] as const);
        };
        chart.update({
          label: texts.label,
          x: {
            title: texts.distance,
            min: 0,
            max: aimKeys - 1,
            ticks: [...whole(0, aimKeys - 8, 8), aimKeys - 1],
            print: plain,
          },
          y: { title: texts.y, min: 0, max: 1.15, ticks: [0, 0.5, 1], print: plain },
          series: [
            { name: texts.softmax, look: 'query', kind: 'line', points: points(curves.softmax) },
            { name: texts.cosine, look: 'key', kind: 'line', points: points(curves.cosine) },
            { name: texts.features, look: 'third', kind: 'line', points: points(curves.features) },
          ],
          marks: [{ x: values.back, name: texts.aimed, look: 'limit' }],
        });
        const largest = (curve: Float32Array): string => fixed(most(curve), 4);
        return {
          summary: texts.summary(
            plain(values.back),
            largest(curves.softmax),
            largest(curves.cosine),
            largest(curves.features),
            plain(curves.features.indexOf(most(curves.features))),
          ),
          code: program(shown, rowsOf(call('aim', values.dim, values.back), 'softmax', 'cosine', 'features')),
          table: () => [
            {
              caption: texts.label,
              corner: texts.distance,
              columns: [texts.softmax, texts.cosine, texts.features],
              rows: distances.map((d) => ({
                name: plain(d),
                values: [curves.softmax[d], curves.cosine[d], curves.features[d]],
              })),
              print: (value) => fixed(value, 5),
            },
          ],
        };
      },
      end: chart.destroy,
    };
  });
}
