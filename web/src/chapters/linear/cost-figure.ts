// Two orders of the same product: their shapes to scale, their work, and that they give the same.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { lineChart } from '../../views/line-chart';
import { type Factor, type ProductsData, products } from '../../views/products';
import type { Texts } from './i18n/en';
import { cost, costLengths, orderDifference } from './programs';
import { shown } from './programs.js?shown';

const dims = [16, 32, 64, 128];
// So many of the tokens, the first ones, are computed in both orders.
const checkedOf = (tokens: number): number => Math.min(tokens, 64);
const powers = [1e3, 1e6, 1e9, 1e12];

const costCode = (checked: number, dim: number): string =>
  program(
    shown,
    `const costs = costLengths.map((tokens) => cost(tokens, ${dim}));
const difference = ${call('orderDifference', checked, dim)};
const result = [...costs.flatMap(({ square, state }) => [square, state]), difference];`,
  );

// The factors of both orders, with their sides.
function productsOf(texts: Texts['cost'], T: number, D: number): ProductsData {
  type Side = readonly [letter: 'T' | 'D', length: number];
  const [byT, byD]: readonly [Side, Side] = [
    ['T', T],
    ['D', D],
  ];
  const matrix = (name: string, rows: Side, columns: Side, look: Factor['look'] = 'operand'): Factor => ({
    name,
    size: `${rows[0]} × ${columns[0]}`,
    rows: rows[1],
    columns: columns[1],
    look,
  });
  const [Q, K, V] = [matrix('Q', byT, byD), matrix('Kᵀ', byD, byT), matrix('V', byT, byD)];
  const out = matrix(texts.out, byT, byD);
  const [weights, state] = [matrix(texts.weights, byT, byT, 'key'), matrix(texts.state, byD, byD, 'query')];
  return {
    longest: Math.max(T, D),
    orders: [
      {
        title: texts.squareFirst,
        note: texts.each('$T^2D$'),
        steps: [
          [Q, '·', K, '=', weights],
          [weights, '·', V, '=', out],
        ],
      },
      {
        title: texts.stateFirst,
        note: texts.each('$TD^2$'),
        steps: [
          [K, '·', V, '=', state],
          [Q, '·', state, '=', out],
        ],
      },
    ],
  };
}

export function linearCost(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.cost;
  const common = chapter.texts;
  const { plain, significant, bound, power } = chapter.numbers;
  const fields = { tokens: slider(common.tokens, costLengths, 1024, plain), dim: slider(common.dim, dims, 64, plain) };
  return figure(chapter, { name: 'cost', caption: texts.caption }, fields, (_, { tokens, dim }) => {
    const shapes = products();
    const chart = lineChart(220);
    // Dragging along the tokens need not multiply matrices again.
    let known = { checked: 0, dim: 0, difference: 0 };
    return {
      controls: [together(tokens, dim)],
      picture: [shapes.element, chart.element],
      show(values) {
        const { tokens: T, dim: D } = values;
        const checked = checkedOf(T);
        if (known.dim !== D || known.checked !== checked) {
          known = { checked, dim: D, difference: orderDifference(core, checked, D) };
        }
        const now = cost(T, D);
        shapes.update(productsOf(texts, T, D));
        const costs = costLengths.map((length) => ({ length, ...cost(length, D) }));
        chart.update({
          label: texts.label,
          x: {
            title: common.tokens,
            min: 16,
            max: 16384,
            log: true,
            ticks: costLengths.filter((_, i) => i % 5 === 0),
            print: plain,
          },
          y: { title: texts.y, min: 1e3, max: 1e12, log: true, ticks: powers, print: power },
          series: [
            {
              name: texts.squareFirst,
              look: 'key',
              kind: 'line',
              points: costs.map(({ length, square }) => [length, square]),
            },
            {
              name: texts.stateFirst,
              look: 'query',
              kind: 'line',
              points: costs.map(({ length, state }) => [length, state]),
            },
          ],
          marks: [{ x: T, name: `T = ${plain(T)}` }],
        });
        return {
          summary: texts.summary(
            plain(now.square),
            plain(now.state),
            now.square === now.state
              ? texts.sameWork
              : texts.moreWork(now.square > now.state, plain(Math.max(now.square / now.state, now.state / now.square))),
            plain(checked),
            bound(known.difference, 2),
          ),
          code: costCode(checked, D),
          table: () => [
            {
              caption: texts.label,
              corner: common.tokens,
              columns: [texts.squareFirst, texts.stateFirst],
              rows: costs.map(({ length, square, state }) => ({ name: plain(length), values: [square, state] })),
              print: plain,
            },
            {
              caption: texts.check,
              corner: '',
              columns: [texts.difference],
              rows: [{ name: texts.first(plain(checked)), values: [known.difference] }],
              print: (value) => significant(value, 3),
            },
          ],
        };
      },
      end: chart.destroy,
    };
  });
}
