// All pairs of a query and a key as clocks: both hands turn, the angle between them stays.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { slider, together } from '../../figure/settings';
import { call, program } from '../../programs/program';
import { whole } from '../../ui/controls';
import { dials } from '../../views/dials';
import type { Texts } from './i18n/en';
import { pairClocks } from './programs';
import { shown } from './programs.js?shown';

type Hand = readonly [x: number, y: number];

// No query is before the beginning.
const keys = whole(30, 130);
const distances = whole(-30, 30);

export function ropeClocks(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.clocks;
  const { plain, fixed, measure } = chapter.numbers;
  const fields = { n: slider(texts.n, keys, 30, plain, 'key'), d: slider(texts.d, distances, 3, plain, 'query') };
  return figure(chapter, { name: 'clocks', caption: texts.caption }, fields, (_, { n, d }) => {
    const view = dials();
    return {
      controls: [together(n, d)],
      picture: [view.element],
      show(values) {
        const m = values.n + values.d;
        const { query, key, between, wavelengths } = pairClocks(core, m, values.n);
        const degrees = ([x, y]: Hand): string => fixed((Math.atan2(y, x) * 180) / Math.PI, 1);
        const hand = ([x, y]: Hand = [1, 0], look: 'key' | 'query') => ({ x, y, look });
        view.update(
          texts.label,
          between.map((turn, i) => ({
            name: texts.pair(plain(i)),
            note: `${degrees(turn)}°`,
            hands: [hand(key[i], 'key'), hand(query[i], 'query')],
            spoken: texts.spoken(plain(i), measure(wavelengths[i] ?? 0), degrees(turn)),
          })),
        );
        const table = (caption: string, hands: readonly Hand[]) => ({
          caption,
          corner: texts.corner,
          columns: ['cos', 'sin'],
          rows: hands.map((each, i) => ({ name: plain(i), values: [...each] })),
          print: (value: number) => fixed(value, 4),
        });
        return {
          summary: texts.summary(plain(m), plain(values.n), plain(values.d), degrees(between[0] ?? [1, 0])),
          code: program(
            shown,
            `const { query, key, between } = ${call('pairClocks', m, values.n)};
const result = [...query, ...key, ...between].flat();`,
          ),
          table: () => [table(texts.queryHand, query), table(texts.keyHand, key), table(texts.between, between)],
        };
      },
    };
  });
}
