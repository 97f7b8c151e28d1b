// Many random queries and keys: the mean of their scores and how far they scatter, at each distance.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program, rowsOf } from '../../programs/program';
import { h } from '../../ui/dom';
import { lineChart } from '../../views/line-chart';
import { workControl } from '../../views/work-control';
import { dims, distanceTicks } from './curves-figure';
import type { Texts } from './i18n/en';
import { distancesTo, randomScores } from './programs';
import { shown } from './programs.js?shown';

const counts = [30, 300, 3000, 30000];
// So few are done at once; more are for the worker.
const atOnce = 30;
const reach = 256;

type RandomInput = Parameters<typeof randomScores>[1];
type RandomScores = ReturnType<typeof randomScores>;

// What the worker did last; also for the figure of another language.
let known: { readonly input: RandomInput; readonly scores: RandomScores } | undefined;

export function decayRandom(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.random;
  const common = chapter.texts;
  const { plain, fixed, bound } = chapter.numbers;
  const fields = { pairs: slider(texts.pairs, counts, 3000, plain), dim: slider(common.dim, dims, 64, plain) };
  return figure(chapter, { name: 'random', caption: texts.caption }, fields, (section, { pairs, dim }) => {
    const chart = lineChart(230);
    // The slider sets how many are wanted.
    const drawn = h('p', { class: 'strip-note' });
    let shownAgain: () => void = () => undefined;
    const inputOf = (count: number): RandomInput => ({ dim: section.values.dim, base: 10000, pairs: count, reach });
    const work = workControl(chapter.frame.figure, plain, async (signal, progress) => {
      const input = inputOf(section.values.pairs);
      known = {
        input,
        scores: await chapter.work.run<typeof randomScores>('randomScores', input, { signal, progress }),
      };
      shownAgain();
    });
    // What is shown is always true of what it says: the few pairs at once until the worker has done more.
    const current = (): { readonly input: RandomInput; readonly scores: RandomScores } => {
      const { dim, pairs } = section.values;
      if (known?.input.dim === dim && known.input.pairs === pairs) return known;
      const input = inputOf(atOnce);
      return { input, scores: randomScores(core, input) };
    };
    return {
      controls: [together(pairs, dim), h('div', { class: 'row' }, work.element, drawn)],
      picture: [chart.element],
      again(show) {
        shownAgain = show;
      },
      show(values) {
        const { input, scores } = current();
        drawn.textContent = input.pairs === values.pairs ? '' : texts.drawn(plain(input.pairs), plain(values.pairs));
        const distances = distancesTo(reach);
        const spread = scores.spread[0] ?? 0;
        const limit = Math.max(0.1, Math.ceil(spread * 20) / 10);
        const at = (numbers: Float64Array, i: number): number => numbers[i] ?? 0;
        chart.update({
          label: texts.label,
          x: { title: common.distance, min: 0, max: reach, ticks: distanceTicks(reach), print: plain },
          y: { title: texts.y, min: -limit, max: limit, ticks: [-limit, 0, limit], print: plain },
          series: [
            {
              name: texts.spread,
              look: 'query',
              kind: 'band',
              points: distances.map((d, i) => [d, at(scores.mean, i) - at(scores.spread, i)]),
              upper: distances.map((_, i) => at(scores.mean, i) + at(scores.spread, i)),
            },
            { name: texts.mean, look: 'query', kind: 'line', points: distances.map((d, i) => [d, at(scores.mean, i)]) },
          ],
        });
        const farthest = scores.mean.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
        return {
          summary: texts.summary(
            plain(input.pairs),
            bound(farthest, 2),
            fixed(at(scores.spread, 0), 3),
            fixed(at(scores.spread, reach), 3),
          ),
          code: program(shown, rowsOf(call('randomScores', input), 'mean', 'spread')),
          table: () => [
            {
              caption: texts.label,
              corner: common.distance,
              columns: [texts.mean, texts.spread],
              rows: distances.map((d, i) => ({ name: plain(d), values: [scores.mean[i], scores.spread[i]] })),
              print: (value) => fixed(value, 5),
            },
          ],
        };
      },
      reset() {
        work.cancel();
        known = undefined;
        shownAgain();
      },
      end() {
        work.cancel();
        chart.destroy();
      },
    };
  });
}
