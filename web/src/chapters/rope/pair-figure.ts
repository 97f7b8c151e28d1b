// RoPE in one pair of coordinates: turning query and key by their positions leaves the distance in the score.
import type { Ropewalk } from 'ropewalk';
import type { ChapterState } from '../../figure/chapter';
import { type Figure, figure } from '../../figure/figure';
import { more } from '../../figure/more';
import { toggle } from '../../figure/settings';
import type { Numbers } from '../../i18n/language';
import { rangeControl, whole } from '../../ui/controls';
import { h } from '../../ui/dom';
import { type Field, integer } from '../../ui/state';
import { type ChartData, lineChart } from '../../views/line-chart';
import { lengths, plane } from '../../views/plane';
import { type ScorePanelData, scorePanel } from '../../views/score-panel';
import type { Texts } from './i18n/en';
import {
  type Arrow,
  pairs,
  planOptions,
  type Rotation,
  rotationCode,
  rotationOf,
  type Vector,
  vectorOf,
} from './pair-numbers';
import { scoresByDistance } from './programs';

const farthest = 64;

// An arrow in the address: angle in degrees and length, as 35,0.9.
function arrow(angle: number, length: number): Field<Arrow> {
  return {
    initial: { angle, length },
    parse(text) {
      const [a = Number.NaN, l = Number.NaN, ...more] = text.split(',').map(Number);
      const fits =
        Number.isInteger(a) && Math.abs(a) <= 180 && l >= lengths.min && l <= lengths.max && more.length === 0;
      return fits ? { angle: a, length: l } : undefined;
    },
    print: (value) => `${value.angle},${value.length}`,
  };
}

// By how much the score has moved since the lock was set, as long as arrows, pair and distance are the same.
function driftSinceLock(): (locked: boolean, key: string, score: number) => number | undefined {
  let since: { readonly key: string; readonly score: number; readonly drift: number } | undefined;
  return (locked, key, score) => {
    const known = since?.key === key ? since : { key, score, drift: 0 };
    since = locked ? { ...known, drift: Math.max(known.drift, Math.abs(score - known.score)) } : undefined;
    return since?.drift;
  };
}

function curveOf(
  texts: Texts['pair'],
  plain: (value: number) => string,
  values: readonly number[],
  mark: { readonly x: number; readonly name: string },
): ChartData {
  return {
    label: texts.curve,
    x: {
      title: texts.curveX,
      min: -farthest,
      max: farthest,
      ticks: whole(-farthest, farthest, 16),
      print: plain,
    },
    y: { title: texts.curve, min: -1.25, max: 1.25, ticks: [-1, 0, 1], print: plain },
    series: [
      {
        name: texts.curveY,
        look: 'quiet',
        kind: 'stems',
        points: values.map((value, i) => [i - farthest, value]),
      },
    ],
    marks: [mark],
  };
}

// Both go as far as the first of them can.
function bothMoved(m: number, n: number, step: number): { readonly m: number; readonly n: number } {
  const both = Math.min(Math.max(step, -Math.min(m, n)), farthest - Math.max(m, n));
  return { m: m + both, n: n + both };
}

function scoreOf(fixed: Numbers['fixed'], shown: Rotation, notes: readonly string[]): ScorePanelData {
  const coordinates = ([x, y]: Vector): string => `(${fixed(x, 3)}, ${fixed(y, 3)})`;
  return {
    score: shown.score,
    printed: fixed(shown.score, 6),
    notes,
    vectors: {
      query: [shown.query, shown.turnedQuery].map(coordinates),
      key: [shown.key, shown.turnedKey].map(coordinates),
    },
  };
}

export function ropePair(chapter: ChapterState<Texts>, core: Ropewalk): Figure {
  const texts = chapter.texts.pair;
  const { plain, fixed, significant, measure, bound } = chapter.numbers;
  const fields = {
    q: arrow(20, 1),
    k: arrow(75, 0.8),
    m: integer(0, farthest, 12),
    n: integer(0, farthest, 5),
    lock: toggle(texts.lock, false),
    pair: integer(0, pairs - 1, 8),
  };
  return figure(chapter, { name: 'pair', caption: texts.caption, wide: true }, fields, (section, { lock }) => {
    const plan = core.rope(planOptions);
    const walk = (mover: 'm' | 'n', wanted: number): void => {
      const { m, n, lock } = section.values;
      if (lock) section.set(bothMoved(m, n, wanted - (mover === 'm' ? m : n)), 'walk');
      else section.set({ [mover]: wanted }, mover);
      // If that was less than the slider wanted, it has to go back.
      showPositions();
    };
    const range = { min: 0, max: farthest };
    const sliders = {
      m: rangeControl(texts.position(texts.query, 'm'), { ...range, look: 'query' }, (value) => walk('m', value)),
      n: rangeControl(texts.position(texts.key, 'n'), { ...range, look: 'key' }, (value) => walk('n', value)),
      pair: rangeControl(texts.pair, { min: 0, max: pairs - 1 }, (pair) => section.set({ pair }, 'pair')),
    };
    const picture = plane(
      { label: texts.plane, names: texts, handles: { query: texts.handle(texts.query), key: texts.handle(texts.key) } },
      (name, value) => section.set(name === 'query' ? { q: value } : { k: value }, name),
    );
    const curve = lineChart(190);
    const pairNote = h('p', { class: 'pair-note' });
    const panel = scorePanel(texts);
    const driftOf = driftSinceLock();

    function showPositions(): void {
      const { m, n } = section.values;
      const position = (value: number) => ({ value, reading: plain(value), spoken: texts.positionValue(plain(value)) });
      sliders.m.show(position(m));
      sliders.n.show(position(n));
    }

    function showNumbers(shown: Rotation): void {
      const { q, k, m, n, lock: isLocked, pair } = section.values;
      showPositions();
      const frequency = significant(shown.frequency, 3);
      const wavelength = measure(shown.wavelength);
      const spoken = texts.pairValue(plain(pair), frequency, wavelength);
      sliders.pair.show({ value: pair, reading: plain(pair), spoken });
      pairNote.textContent = texts.pairNote(frequency, wavelength);
      const drift = driftOf(isLocked, JSON.stringify([q, k, m - n, pair]), shown.score);
      const notes = [texts.distance(plain(m - n)), drift === undefined ? '' : texts.drift(bound(drift, 1))];
      panel.update(scoreOf(fixed, shown, notes));
    }

    const { m, n, pair } = sliders;
    return {
      // The plane is a control as well: it stays where the table replaces the curve.
      controls: [
        h(
          'div',
          { class: 'rotation' },
          picture.element,
          h(
            'div',
            { class: 'side' },
            m.element,
            n.element,
            lock.element,
            pairNote,
            panel.element,
            more(chapter.frame, pair.element),
          ),
        ),
      ],
      picture: [curve.element],
      drawn: [picture.element, panel.element],
      show({ q, k, m, n, pair }) {
        const shown = rotationOf(core, plan, pair, [q, m], [k, n]);
        const spoken = ({ angle, length }: Arrow): string => texts.handleValue(plain(angle), fixed(length, 2));
        picture.update({
          query: { ...q, set: shown.query, turned: shown.turnedQuery, turn: m * shown.frequency, spoken: spoken(q) },
          key: { ...k, set: shown.key, turned: shown.turnedKey, turn: n * shown.frequency, spoken: spoken(k) },
        });
        showNumbers(shown);
        const values = scoresByDistance(core, plan, pair, vectorOf(q), vectorOf(k), farthest);
        curve.update(curveOf(texts, plain, values, { x: m - n, name: fixed(shown.score, 2) }));
        return {
          summary: texts.summary(plain(m), plain(n), fixed(shown.score, 4)),
          code: rotationCode(pair, q, k, m, n, farthest),
          table: () => [
            {
              caption: texts.table,
              corner: texts.curveX,
              columns: [texts.curveY],
              rows: values.map((value, i) => ({ name: plain(i - farthest), values: [value] })),
              print: (value) => fixed(value, 6),
            },
          ],
        };
      },
      end() {
        curve.destroy();
        plan.dispose();
      },
    };
  });
}
