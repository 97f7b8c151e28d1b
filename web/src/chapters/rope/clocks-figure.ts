// All pairs of a query and a key as clocks: both hands turn, the angle between them stays.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { stepControl, whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { oneOf } from '../../ui/state';
import { dials } from '../../views/dials';
import { pairClocks, pairClocksCode } from './head-numbers';
import type { Texts } from './i18n/en';

// No query stands before the beginning.
const keys = whole(30, 130);
const distances = whole(-30, 30);

export function ropeClocks(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.clocks;
  const { plain, fixed, measure } = chapter.numbers;
  const fields = { n: oneOf(keys, 30), d: oneOf(distances, 3) };
  return figure(chapter, { name: 'clocks', caption: texts.caption }, fields, (section) => {
    const n = stepControl(texts.n, keys, plain, (value) => section.set({ n: value }, 'n'), 'key');
    const d = stepControl(texts.d, distances, plain, (value) => section.set({ d: value }, 'd'), 'query');
    const view = dials();
    return {
      controls: [h('div', { class: 'pair-of-controls' }, n.element, d.element)],
      picture: [view.element],
      show(values) {
        const m = values.n + values.d;
        n.show(values.n);
        d.show(values.d);
        const all = pairClocks(core, m, values.n);
        const degrees = ([x, y]: readonly [number, number]): string => fixed((Math.atan2(y, x) * 180) / Math.PI, 1);
        view.update(
          texts.label,
          all.map(({ query, key, between, wavelength }, i) => ({
            name: texts.pair(plain(i)),
            note: `${degrees(between)}°`,
            hands: [
              { x: key[0], y: key[1], look: 'key' },
              { x: query[0], y: query[1], look: 'query' },
            ],
            spoken: texts.spoken(plain(i), measure(wavelength), degrees(between)),
          })),
        );
        const table = (caption: string, hand: 'query' | 'key' | 'between') => ({
          caption,
          corner: texts.corner,
          columns: ['cos', 'sin'],
          rows: all.map((clock, i) => ({ name: plain(i), values: [...clock[hand]] })),
          print: (value: number) => fixed(value, 4),
        });
        return {
          summary: texts.summary(plain(m), plain(values.n), plain(values.d), degrees(all[0]?.between ?? [1, 0])),
          code: pairClocksCode(m, values.n),
          table: () => [table(texts.queryHand, 'query'), table(texts.keyHand, 'key'), table(texts.between, 'between')],
        };
      },
    };
  });
}
