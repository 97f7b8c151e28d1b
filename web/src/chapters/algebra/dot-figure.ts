// The dot product of two rows by their distance: the same on both sides, unless a matrix is between them.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { lineChart } from '../../views/line-chart';
import type { Texts } from './i18n/en';
import { dotCurve, reach } from './programs';
import { shown } from './programs.js?shown';

const dims = [4, 8, 16, 32, 64, 128];
// At distance 0 there are no two sides to compare.
const distances = whole(1, reach);
const shifts = whole(-20, 20);

export function algebraDot(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.dot;
  const { plain, fixed } = chapter.numbers;
  const fields = {
    dim: slider(texts.dim, dims, 64, plain),
    d: slider(texts.d, distances, 7, plain),
    s: slider(texts.s, shifts, 0, plain),
  };
  return figure(chapter, { name: 'dot', caption: texts.caption }, fields, (_, { d, dim, s }) => {
    const chart = lineChart();
    return {
      controls: [together(d, dim, s)],
      picture: [chart.element],
      show(values) {
        const curve = dotCurve(core, values.dim, values.s);
        const at = (distance: number): number => curve[distance + reach] ?? 0;
        const top = values.dim / 2;
        const least = curve.reduce((a, b) => Math.min(a, b), 0);
        chart.update({
          label: texts.label,
          x: { title: texts.x, min: -reach, max: reach, ticks: whole(-reach, reach, 16), print: plain },
          y: {
            title: texts.y,
            min: Math.floor(least),
            max: top * 1.05,
            ticks: [Math.floor(least), 0, top / 2, top].filter((v, i, all) => all.indexOf(v) === i),
            print: plain,
          },
          series: [
            { name: texts.y, look: 'query', kind: 'stems', points: whole(-reach, reach).map((x) => [x, at(x)]) },
          ],
          marks: [values.d, -values.d].map((x) => ({ x, name: plain(x) })),
        });
        const [ahead, behind] = [fixed(at(values.d), 3), fixed(at(-values.d), 3)];
        return {
          summary:
            values.s === 0
              ? texts.even(plain(values.d), ahead, behind)
              : texts.moved(plain(values.d), ahead, behind, plain(values.s)),
          code: program(shown, `const result = ${call('dotCurve', values.dim, values.s)};`),
          table: () => [
            {
              caption: texts.label,
              corner: texts.x,
              columns: [texts.y],
              rows: whole(-reach, reach).map((x) => ({ name: plain(x), values: [at(x)] })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
      end: chart.destroy,
    };
  });
}
