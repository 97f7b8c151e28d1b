// A widespread mistake and what it does: tables made for one pairing, read as if for the other.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program, rowsOf } from '../../programs/program';
import { whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { lineChart } from '../../views/line-chart';
import type { Texts } from './i18n/en';
import { brokenScores, longestWalk } from './programs';
import { shown } from './programs.js?shown';

const distances = whole(0, 20);
const walks = whole(0, longestWalk);

// Written here once more in PyTorch's terms; neither is anyone's file.
// Lines short enough for a small screen.
const wrong = `emb = torch.cat(
    (freqs, freqs), dim=-1)
cos = emb.cos()
sin = emb.sin()
x1 = x[..., 0::2]
x2 = x[..., 1::2]
y1 = (x1 * cos[..., 0::2]
    - x2 * sin[..., 0::2])
y2 = (x1 * sin[..., 1::2]
    + x2 * cos[..., 1::2])`;
const right = `cos = freqs.cos()
sin = freqs.sin()
x1 = x[..., 0::2]
x2 = x[..., 1::2]
y1 = (x1 * cos
    - x2 * sin)
y2 = (x1 * sin
    + x2 * cos)`;

export function ropeBroken(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.broken;
  const { plain, fixed } = chapter.numbers;
  const fields = { d: slider(texts.d, distances, 3, plain), walk: slider(texts.walk, walks, 100, plain) };
  return figure(chapter, { name: 'broken', caption: texts.caption, wide: true }, fields, (_, { d, walk }) => {
    const chart = lineChart();
    const listing = (title: string, code: string, look: string): HTMLElement =>
      h(
        'div',
        { class: `listing ${look}` },
        h('p', { class: 'strip-title' }, title),
        h('pre', { tabindex: 0, role: 'region', 'aria-label': title }, h('code', {}, code)),
      );
    return {
      controls: [
        h('div', { class: 'side-by-side' }, listing(texts.wrong, wrong, 'wrong'), listing(texts.right, right, 'right')),
        together(d, walk),
      ],
      picture: [chart.element],
      show(values) {
        const scores = brokenScores(core, values.d);
        const all = [...scores.right, ...scores.wrong];
        const [least, most] = [Math.min(0, ...all), Math.max(...all)];
        const step = 50;
        const [bottom, top] = [Math.floor(least / step) * step, Math.ceil(most / step) * step];
        const points = (numbers: Float32Array) => Array.from(numbers, (value, i) => [i, value] as const);
        chart.update({
          label: texts.label,
          x: { title: texts.places, min: 0, max: longestWalk, ticks: whole(0, longestWalk, 50), print: plain },
          y: { title: texts.score, min: bottom, max: top, ticks: whole(bottom, top, step), print: plain },
          series: [
            { name: texts.right, look: 'query', kind: 'line', points: points(scores.right) },
            { name: texts.wrong, look: 'key', kind: 'line', points: points(scores.wrong) },
          ],
          marks: [{ x: values.walk }],
        });
        const at = (numbers: Float32Array, i: number): string => fixed(numbers[i] ?? 0, 3);
        return {
          summary: texts.summary(
            plain(values.walk),
            at(scores.right, 0),
            at(scores.right, values.walk),
            at(scores.wrong, 0),
            at(scores.wrong, values.walk),
          ),
          code: program(shown, rowsOf(call('brokenScores', values.d), 'right', 'wrong')),
          table: () => [
            {
              caption: texts.label,
              corner: texts.walk,
              columns: [texts.right, texts.wrong],
              rows: Array.from(scores.right, (value, i) => ({ name: plain(i), values: [value, scores.wrong[i]] })),
              print: (value) => fixed(value, 4),
            },
          ],
        };
      },
      end: chart.destroy,
    };
  });
}
