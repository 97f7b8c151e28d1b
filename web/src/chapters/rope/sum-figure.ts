// Several pairs that add up to one score, by distance: direction comes with the angles between query and key.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { type Look, lineChart } from '../../views/line-chart';
import type { Texts } from './i18n/en';
import { pairSums, summedPairs } from './programs';
import { shown } from './programs.js?shown';

const reach = 16;
const looks: readonly Look[] = ['pair-0', 'pair-1', 'pair-2', 'quiet'];

export function ropeSum(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.sum;
  const { plain, fixed } = chapter.numbers;
  const fields = {
    d: slider(texts.d, whole(-reach, reach), 5, plain),
    seed: slider(texts.seed, whole(1, 20), 1, plain),
  };
  return figure(chapter, { name: 'sum', caption: texts.caption }, fields, (_, { d, seed }) => {
    const chart = lineChart(260);
    return {
      controls: [together(d, seed)],
      picture: [chart.element],
      show(values) {
        const curves = pairSums(core, values.seed, reach);
        const names = [...whole(0, summedPairs - 1).map((i) => texts.pair(plain(i))), texts.all];
        const most = Math.ceil(Math.max(...curves.flatMap((curve) => Array.from(curve, Math.abs))));
        chart.update({
          label: texts.label,
          x: { title: texts.distance, min: -reach, max: reach, ticks: whole(-reach, reach, 4), print: plain },
          y: { title: texts.y, min: -most, max: most, ticks: [-most, 0, most], print: plain },
          series: names.map((name, i) => ({
            name,
            look: looks[i] ?? 'quiet',
            kind: i < summedPairs ? 'line' : 'stems',
            points: Array.from(curves[i] ?? [], (value, at) => [at - reach, value] as const),
          })),
          marks: [{ x: values.d }],
        });
        const at = (distance: number): string[] => curves.map((curve) => fixed(curve[distance + reach] ?? 0, 2));
        const here = at(values.d);
        return {
          summary: texts.summary(
            plain(values.d),
            here.slice(0, -1).join(' + ').replaceAll('+ −', '− '),
            here.at(-1) ?? '',
            plain(-values.d),
            at(-values.d).at(-1) ?? '',
          ),
          code: program(
            shown,
            `const curves = ${call('pairSums', values.seed, reach)};
const result = Array.from(curves[0], (_, i) => curves.map((curve) => curve[i])).flat();`,
          ),
          table: () => [
            {
              caption: texts.label,
              corner: texts.distance,
              columns: names,
              rows: whole(-reach, reach).map((distance, i) => ({
                name: plain(distance),
                values: curves.map((curve) => curve[i]),
              })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
      end: chart.destroy,
    };
  });
}
