// The head of the page: two words that walk along a line, each with its needles, and their score. Walking together they
// keep it.

import { frequencies } from 'virtual:first-view';
import type { Ropewalk } from 'ropewalk';
import type { Numbers } from '../i18n/language';
import type { FrameTexts } from '../i18n/texts';
import { announce } from '../ui/announce';
import { flagControl } from '../ui/controls';
import { h, svg } from '../ui/dom';
import { flag, integer, type State } from '../ui/state';
import type { Coming } from '../work/coming';
import { walkers } from './needles-picture';

const last = 23; // places of the line, from 0
const size = 20; // of a needle's square
const names = ['m', 'n'] as const;
const looks = { m: 'query', n: 'key' } as const;

// A row of needles, level at first; `turn` sets their angles in radians.
function needleRow(count: number): { readonly element: SVGElement; turn(angles: readonly number[]): void } {
  const lines = Array.from({ length: count }, (_, i) => {
    const [x, y] = [size * (i + 0.5), size / 2];
    const line = svg('line', { x1: x, y1: y, x2: x + size / 2 - 2, y2: y });
    line.style.transformOrigin = `${x}px ${y}px`;
    return line;
  });
  return {
    element: svg('svg', { viewBox: `0 0 ${size * count} ${size}`, 'aria-hidden': 'true' }, ...lines),
    turn(angles) {
      for (const [i, line] of lines.entries()) line.style.transform = `rotate(${-(angles[i] ?? 0)}rad)`;
    },
  };
}

// A word that is dragged along its line or moved by the arrow keys.
function walker(word: string, look: string, moved: (place: number) => void) {
  const chip = h('button', {
    type: 'button',
    role: 'slider',
    class: `walker ${look}`,
    'aria-label': word,
    'aria-valuemin': 0,
    'aria-valuemax': last,
  });
  chip.append(word);
  const rail = h('div', { class: 'rail' }, chip);
  let place = 0;
  const steps: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
  chip.addEventListener('keydown', (event) => {
    const to = { Home: 0, End: last }[event.key] ?? place + (steps[event.key] ?? Number.NaN);
    if (Number.isNaN(to)) return;
    event.preventDefault();
    moved(to);
  });
  chip.addEventListener('pointerdown', ({ pointerId }) => chip.setPointerCapture(pointerId));
  chip.addEventListener('pointermove', ({ pointerId, clientX }) => {
    if (!chip.hasPointerCapture(pointerId)) return;
    // The middle of the word goes from half of it after the left end to half of it before the right one.
    const { left, width } = rail.getBoundingClientRect();
    const half = chip.offsetWidth / 2;
    moved(Math.round(((clientX - left - half) / (width - 2 * half)) * last));
  });
  return {
    element: rail,
    show(next: number) {
      place = next;
      chip.style.setProperty('--at', String(place / last));
      chip.ariaValueNow = String(place);
    },
  };
}

/** Gives what shows it, and what ends it. The score comes with the core. */
export function hero(
  { page: { title, hero: texts } }: FrameTexts,
  { plain, fixed }: Numbers,
  state: State,
  core: Coming<Ropewalk>,
): { readonly element: HTMLElement; end(): void } {
  const [first = 0, second = 0] = texts.words;
  const section = state.section('hero', {
    m: integer(0, last, first),
    n: integer(0, last, second),
    alone: flag(false),
  });
  const words = [first, second].map((i) => (title[i] ?? '').trim());
  const move = (name: (typeof names)[number], wanted: number): void => {
    const { m, n, alone } = section.values;
    const kept = (place: number): number => Math.min(Math.max(place, 0), last);
    if (alone) section.set({ [name]: kept(wanted) }, name);
    else {
      // Both go as far as the first of them can.
      const step = wanted - section.values[name];
      const both = Math.min(Math.max(step, -Math.min(m, n)), last - Math.max(m, n));
      section.set({ m: m + both, n: n + both }, 'walk');
    }
  };
  const lanes = names.map((name, i) => ({
    walker: walker(words[i] ?? '', looks[name], (place) => move(name, place)),
    needles: needleRow(frequencies.length),
    look: looks[name],
  }));
  const alone = flagControl(texts.alone, (value) => section.set({ alone: value }));
  const score = h('p', { class: 'hero-score' }, '\u00a0');
  const element = h(
    'div',
    { role: 'group', 'aria-label': texts.note },
    ...lanes.map((lane) => h('div', { class: `lane ${lane.look}` }, lane.walker.element, lane.needles.element)),
    score,
    alone.element,
    h('p', { class: 'needles-note' }, texts.note),
  );
  let walk: ReturnType<typeof walkers> | undefined;
  let isOver = false;
  let before: number | undefined;
  function show(): void {
    const { values } = section;
    for (const [i, name] of names.entries()) {
      lanes[i]?.walker.show(values[name]);
      lanes[i]?.needles.turn(frequencies.map((frequency) => values[name] * frequency));
    }
    alone.show(values.alone);
    if (core.now === undefined || isOver) return;
    walk ??= walkers(core.now, words);
    const now = walk.score(values.m, values.n);
    // Turned numbers are rounded to 32 bits.
    const stays = before !== undefined && Math.abs(now - before) < 1e-4;
    before = now;
    score.textContent = texts.score(plain(values.m - values.n), fixed(now, 3), stays);
    if (element.contains(document.activeElement)) announce(score.textContent);
  }
  show();
  core.whenHere(show);
  const unsubscribe = section.subscribe(show);
  return {
    element,
    end() {
      isOver = true;
      unsubscribe();
      walk?.dispose();
    },
  };
}
