// What each method of context extension does to every wavelength, and which angles are new to the model.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { more } from '../../figure/more';
import { oneName, slider, together } from '../../figure/settings';
import type { Numbers } from '../../i18n/language';
import { call, program, rowsOf } from '../../programs/program';
import { whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { richText } from '../../ui/rich-text';
import { type Dial, dials } from '../../views/dials';
import { lineChart, nameOf } from '../../views/line-chart';
import type { Texts } from './i18n/en';
import { completePairs, methodNames, methods, type Reach, reachOf } from './numbers';
import { contextHead, waves } from './programs';
import { shown } from './programs.js?shown';

const bases = [10000, 100000, 500000];
const lengths = [256, 512, 1024, 2048, 4096, 8192, 32768];
const factors = [1, 2, 4, 8, 16, 32];
const pairs = contextHead / 2;
// Half a degree: an angle that much beyond is not yet a new one.
const hardly = Math.PI / 360;
const turn = 2 * Math.PI;

const isNew = ({ seen, used }: Reach): boolean => seen < turn && used > seen + hardly;

function dialOf(
  texts: Texts['waves'],
  { plain, significant }: Numbers,
  i: number,
  reach: Reach = { seen: 0, used: 0 },
): Dial {
  const { seen, used } = reach;
  const turns = significant(used / turn, 2);
  return {
    name: texts.pair(plain(i)),
    note: turns,
    hands: [],
    arcs: [
      { from: 0, to: Math.min(seen, turn), look: 'seen' },
      ...(isNew(reach) ? [{ from: seen, to: Math.min(used, turn), look: 'unseen' } as const] : []),
    ],
    look: isNew(reach) ? 'warn' : undefined,
    spoken: texts.spoken(plain(i), significant(seen / turn, 2), turns, isNew(reach)),
  };
}

export function contextWaves(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.waves;
  const { plain, significant, power } = chapter.numbers;
  const fields = {
    method: oneName(texts.method, methodNames, 'none', (value) => texts.methods[value]),
    length: slider(texts.length, lengths, 2048, plain),
    factor: slider(texts.factor, factors, 8, plain),
    base: slider(texts.base, bases, 10000, plain),
  };
  return figure(chapter, { name: 'waves', caption: texts.caption }, fields, (_, { method, length, factor, base }) => {
    const chart = lineChart(270);
    const view = dials();
    // All of them in one place, so that the picture stays where it is while methods are compared.
    const abouts = methodNames.map((value) => h('p', { class: 'strip-note' }, ...richText(texts.about[value])));
    return {
      controls: [
        method.element,
        h('div', { class: 'one-of' }, ...abouts),
        together(length, factor),
        more(chapter.frame, base.element),
      ],
      picture: [
        chart.element,
        h(
          'div',
          {},
          h('p', { class: 'strip-title' }, texts.dials),
          h(
            'ul',
            { class: 'series-names' },
            nameOf({ name: texts.seen, look: 'query', kind: 'line' }),
            nameOf({ name: texts.unseen, look: 'key', kind: 'line' }),
          ),
          view.element,
        ),
      ],
      show(values) {
        for (const [i, about] of abouts.entries()) about.classList.toggle('off', methodNames[i] !== values.method);
        const scaling = methods[values.method](values);
        const { trained, scaled, attentionFactor } = waves(core, values.base, scaling);
        const target = values.length * values.factor;
        // No method stretches further; so the axis is the same for all of them.
        const top = 10 ** Math.ceil(Math.log10(Math.max((trained.at(-1) ?? 1) * values.factor, target)));
        const ticks = [1, 10, 100, 1000, 1e4, 1e5, 1e6, 1e7, 1e8].filter((value) => value <= top);
        const points = (all: Float64Array) => Array.from(all, (wave, i) => [i, wave] as const);
        chart.update({
          label: texts.label,
          x: { title: texts.pairIndex, min: -0.5, max: pairs - 0.5, ticks: [0, 8, 16, 24, 31], print: plain },
          y: { title: texts.wavelength, min: 1, max: top, log: true, ticks, print: power },
          series: [
            { name: texts.trained, look: 'query', kind: 'rings', points: points(trained) },
            { name: texts.now, look: 'third', kind: 'dots', points: points(scaled), moves: true },
          ],
          levels: [
            { y: values.length, name: texts.trainedLength },
            ...(values.factor > 1 ? [{ y: target, name: texts.target }] : []),
          ],
        });
        const reaches = whole(0, pairs - 1).map((i) => reachOf(trained[i] ?? 1, scaled[i] ?? 1, values));
        const fresh = reaches.filter(isNew);
        const most = Math.max(0, ...fresh.map(({ seen, used }) => Math.min(used, turn) - seen));
        view.update(
          texts.dials,
          whole(1, pairs - 1, 2).map((i) => dialOf(texts, chapter.numbers, i, reaches[i])),
        );
        return {
          summary: texts.summary(
            plain(completePairs(core, values)),
            plain(pairs),
            plain(fresh.length),
            plain(Math.round((360 * most) / turn)),
            plain(target),
            attentionFactor === 1 ? '' : significant(attentionFactor, 4),
          ),
          code: program(shown, rowsOf(call('waves', values.base, scaling), 'trained', 'scaled')),
          table: () => [
            {
              caption: texts.label,
              corner: texts.pairIndex,
              columns: [texts.trained, texts.methods[values.method]],
              rows: Array.from(trained, (wave, i) => ({ name: plain(i), values: [wave, scaled[i]] })),
              print: (value) => significant(value, 5),
            },
          ],
        };
      },
      end: chart.destroy,
    };
  });
}
