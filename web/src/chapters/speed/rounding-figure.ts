// The error of angles formed in float32, by position: a number on two logarithmic axes, and hands that drift apart.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { h } from '../../ui/dom';
import { dials } from '../../views/dials';
import { lineChart, nameOf } from '../../views/line-chart';
import type { Texts } from './i18n/en';
import { angleErrors, exponents } from './programs';
import { shown } from './programs.js?shown';
import { angleHands, shownPairs } from './rounding';

const bases = [10000, 100000, 500000];
const ruleOfThumb = 6e-8;

export function speedError(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.error;
  const { plain, significant, fixed, power } = chapter.numbers;
  const reading = (exponent: number): string => plain(2 ** exponent - 1);
  const fields = { at: slider(texts.at, exponents, 20, reading), base: slider(texts.base, bases, 10000, plain) };
  return figure(chapter, { name: 'error', caption: texts.caption }, fields, (_, { at, base }) => {
    const view = dials();
    const chart = lineChart(230);
    // Slow enough to be kept while only the position moves.
    let known: { readonly base: number; readonly errors: number[] } | undefined;
    return {
      controls: [together(at, base)],
      picture: [
        h(
          'div',
          {},
          h(
            'ul',
            { class: 'series-names' },
            nameOf({ name: texts.exact, look: 'query', kind: 'line' }),
            nameOf({ name: texts.rounded, look: 'key', kind: 'line' }),
          ),
          view.element,
        ),
        chart.element,
      ],
      show(values) {
        known = known?.base === values.base ? known : { base: values.base, errors: angleErrors(core, values.base) };
        const { errors } = known;
        const position = 2 ** values.at - 1;
        const { exact, rounded } = angleHands(core, values.base, position);
        const degrees = (i: number): string => {
          const [[ax, ay], [bx, by]] = [exact[i] ?? [1, 0], rounded[i] ?? [1, 0]];
          return fixed((Math.abs(Math.atan2(ax * by - ay * bx, ax * bx + ay * by)) * 180) / Math.PI, 2);
        };
        view.update(
          texts.hands,
          Array.from({ length: shownPairs }, (_, i) => ({
            name: texts.pair(plain(i)),
            note: `${degrees(i)}°`,
            hands: [
              { x: exact[i]?.[0] ?? 1, y: exact[i]?.[1] ?? 0, look: 'query' },
              { x: rounded[i]?.[0] ?? 1, y: rounded[i]?.[1] ?? 0, look: 'key' },
            ],
            spoken: texts.spoken(plain(i), degrees(i)),
          })),
        );
        const x = { min: 2 ** 4, max: 2 ** 24 };
        chart.update({
          label: texts.label,
          x: { title: texts.position, ...x, log: true, ticks: [16, 512, 16384, 524288, 16777216], print: plain },
          y: { title: texts.y, min: 1e-7, max: 10, log: true, ticks: [1e-6, 1e-4, 1e-2, 1], print: power },
          series: [
            {
              name: texts.rule,
              look: 'quiet',
              kind: 'line',
              points: [x.min, x.max].map((p) => [p, ruleOfThumb * p] as const),
            },
            {
              name: texts.measured,
              look: 'key',
              kind: 'rings',
              points: exponents.map((exponent, i) => [2 ** exponent, errors[i] ?? 0] as const),
            },
          ],
          marks: [{ x: 2 ** values.at }],
        });
        return {
          summary: texts.summary(plain(position), significant(errors[exponents.indexOf(values.at)] ?? 0, 2)),
          code: program(shown, `const result = ${call('angleErrors', values.base)};`),
          table: () => [
            {
              caption: texts.label,
              corner: texts.position,
              columns: [texts.measured],
              rows: exponents.map((exponent, i) => ({ name: plain(2 ** exponent), values: [errors[i]] })),
              print: (value) => significant(value, 3),
            },
          ],
        };
      },
      end: chart.destroy,
    };
  });
}
