// Curves, dots and bands over one x axis, with their names above and the current x marked. Axes are linear or
// logarithmic; a linear y axis through zero shows where zero is.
import { h, observeWidth, svg } from '../ui/dom';

/** How a series looks: a colour and a dash of its own, so that neither alone has to be told apart. */
export type Look = 'query' | 'key' | 'third' | 'quiet' | `pair-${0 | 1 | 2}`;

export interface Series {
  readonly name: string;
  readonly look: Look;
  readonly kind: 'line' | 'dots' | 'rings' | 'stems' | 'band';
  readonly points: readonly (readonly [x: number, y: number])[];
  /** The other edge of a band, at the same x. */
  readonly upper?: readonly number[];
  /** Whether dots move from their old to their new positions, which shows how far each went. */
  readonly moves?: boolean;
}

export interface Axis {
  readonly title: string;
  readonly min: number;
  readonly max: number;
  readonly log?: boolean;
  readonly ticks: readonly number[];
  readonly print: (value: number) => string;
}

export interface ChartData {
  readonly label: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** Upright lines with a name. */
  readonly marks?: readonly { readonly x: number; readonly name?: string; readonly look?: 'now' | 'limit' }[];
  /** Level lines with a name. */
  readonly levels?: readonly { readonly y: number; readonly name: string }[];
  /** Pixels beside the plot, where it is below another picture. */
  readonly sides?: { readonly left: number; readonly right: number };
}

export interface LineChart {
  readonly element: HTMLElement;
  update(data: ChartData): void;
  destroy(): void;
}

const margin = { top: 12, bottom: 42 };

function place(axis: Axis, from: number, to: number): (value: number) => number {
  const scale = axis.log ? Math.log : (value: number) => value;
  const [min, max] = [scale(axis.min), scale(axis.max)];
  return (value) =>
    from + ((scale(Math.min(Math.max(value, axis.min), axis.max)) - min) / (max - min || 1)) * (to - from);
}

// Where not all names have room, every second, fourth, .. one: of even distance, and zero among them.
function everySo(ticks: readonly number[], fit: (tick: number, next: number) => boolean): readonly number[] {
  const zero = Math.max(0, ticks.indexOf(0));
  for (let step = 1; step < ticks.length; step *= 2) {
    const kept = ticks.filter((_, i) => (i - zero) % step === 0);
    if (kept.every((tick, i) => i === 0 || fit(kept[i - 1] ?? tick, tick))) return kept;
  }
  return ticks.slice(zero, zero + 1);
}

type At = (point: readonly [number, number]) => string;

function seriesShape({ look, kind, points, upper, moves }: Series, at: At, zero: number, room: number): SVGElement[] {
  const through = points.map(at);
  switch (kind) {
    case 'line':
      return [svg('path', { class: `line ${look}`, d: `M${through.join('L')}` })];
    case 'band': {
      const back = points.map(([x], i) => at([x, upper?.[i] ?? 0])).reverse();
      return [svg('path', { class: `band ${look}`, d: `M${[...through, ...back].join('L')}Z` })];
    }
    case 'stems':
    case 'rings':
    case 'dots': {
      const stems = kind === 'stems' ? points.map((p) => `M${at([p[0], zero])}L${at(p)}`).join('') : '';
      // Rings are larger: where two series meet, both can be seen. Those beside each other do not touch.
      const half = room / points.length / 2 - 0.6;
      const usual = points.length > 140 ? 1.2 : points.length > 70 ? 1.8 : 2.6;
      const radius = kind === 'stems' ? usual : Math.max(1.2, Math.min(usual, half - 1.4));
      const r = kind === 'rings' ? Math.max(radius, Math.min(radius + 2.2, half)) : radius;
      const shape = `${kind === 'rings' ? 'ring' : 'dot'} ${look}`;
      const circle = (p: string): SVGElement => {
        const [cx, cy] = p.split(' ');
        return svg('circle', { class: `${shape} moves`, cx, cy, r });
      };
      // Those that stay are one shape: hundreds of elements would take the browser long.
      const disc = (p: string): string => `M${p}m${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
      const dots = moves ? through.map(circle) : [svg('path', { class: shape, d: through.map(disc).join('') })];
      return [svg('path', { class: `stems ${look}`, d: stems }), ...dots];
    }
  }
}

/** A name beside a sample of how its series looks. */
export function nameOf({ name, look, kind }: Pick<Series, 'name' | 'look' | 'kind'>): HTMLElement {
  const d = kind === 'band' ? 'M0 2H28V12H0Z' : kind === 'line' ? 'M0 7H28' : '';
  const isDot = kind === 'dots' || kind === 'stems' || kind === 'rings';
  const dot = isDot
    ? [svg('circle', { class: `${kind === 'rings' ? 'ring' : 'dot'} ${look}`, cx: 14, cy: 7, r: 3 })]
    : [];
  const sample = svg(
    'svg',
    { class: 'chart sample', width: 28, height: 14, 'aria-hidden': 'true' },
    svg('path', { class: `${kind === 'band' ? 'band' : 'line'} ${look}`, d }),
    ...dot,
  );
  return h('li', {}, sample, name);
}

// Milliseconds.
const moveTime = 400;
const calm = matchMedia('(prefers-reduced-motion: reduce)');

function move(dots: readonly SVGElement[], before: readonly number[]): void {
  if (calm.matches || before.length !== dots.length) return;
  for (const [i, dot] of dots.entries()) {
    const way = (before[i] ?? 0) - Number(dot.getAttribute('cy'));
    if (way === 0) continue;
    const keyframes = [{ transform: `translateY(${way}px)` }, { transform: 'none' }];
    dot.animate(keyframes, { duration: moveTime, easing: 'ease-in-out' });
  }
}

export function lineChart(height = 230): LineChart {
  const names = h('ul', { class: 'series-names' });
  const picture = svg('svg', { class: 'chart', role: 'img', height });
  const yTitle = h('p', { class: 'axis-title' });
  const element = h('div', { class: 'chart-box' }, names, yTitle, picture);
  let data: ChartData | undefined;
  let width = 0;
  const movingDots = (): SVGElement[] => [...picture.querySelectorAll<SVGElement>('.moves')];

  function show(): void {
    if (data === undefined || width === 0) return;
    const { x, y, series, marks = [], levels = [] } = data;
    const { left: before, right: after } = data.sides ?? { left: 46, right: 12 };
    const [left, right] = [before, width - after];
    const [top, bottom] = [margin.top, height - margin.bottom];
    const toX = place(x, left, right);
    const toY = place(y, bottom, top);
    const at: At = ([px, py]) => `${toX(px).toFixed(1)} ${toY(py).toFixed(1)}`;
    // A name is above its line, or below it where another line is close above.
    const levelNameY = (value: number): number => {
      const gaps = levels.map((other) => toY(value) - toY(other.y));
      return toY(value) + (gaps.some((gap) => gap > 0 && gap < 18) ? 14 : -5);
    };
    const hasZero = !y.log && y.min <= 0 && y.max >= 0;
    const half = (value: number): number => (7.5 * x.print(value).length) / 2;
    // Below its point, but within the picture.
    const nameAt = (value: number): number => Math.min(toX(value), width - half(value));
    const xText = (value: number): SVGElement =>
      svg('text', { class: 'tick', x: nameAt(value), y: bottom + 17, 'text-anchor': 'middle' }, x.print(value));
    const xTicks = everySo(x.ticks, (a, b) => nameAt(b) - half(b) - (nameAt(a) + half(a)) >= 6);
    picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    picture.setAttribute('aria-label', data.label);
    yTitle.textContent = y.title;
    picture.replaceChildren(
      svg('path', { class: 'grid', d: y.ticks.map((v) => `M${left} ${toY(v)}H${right}`).join('') }),
      svg('path', { class: 'axis', d: hasZero ? `M${left} ${toY(0)}H${right}` : `M${left} ${bottom}H${right}` }),
      ...series.filter(({ kind }) => kind === 'band').flatMap((each) => seriesShape(each, at, 0, right - left)),
      ...levels.flatMap((level) => [
        svg('path', { class: 'level', d: `M${left} ${toY(level.y)}H${right}` }),
        svg(
          'text',
          { class: 'tick level-name', x: left + 5, y: levelNameY(level.y), 'text-anchor': 'start' },
          level.name,
        ),
      ]),
      ...marks.map((mark) => svg('path', { class: mark.look ?? 'now', d: `M${toX(mark.x)} ${top}V${bottom}` })),
      ...series
        .filter(({ kind }) => kind !== 'band')
        .flatMap((each) => seriesShape(each, at, hasZero ? 0 : y.min, right - left)),
      ...marks.flatMap((mark) => {
        if (mark.name === undefined) return [];
        // Away from the middle, where another mark may be, as far as there is room.
        const room = 7.5 * mark.name.length + 5;
        const isRight = toX(mark.x) > (left + right) / 2;
        const goesLeft = isRight ? toX(mark.x) + room > right : toX(mark.x) - room >= left;
        const [px, anchor] = goesLeft ? [toX(mark.x) - 5, 'end'] : [toX(mark.x) + 5, 'start'];
        return [svg('text', { class: 'tick mark-name', x: px, y: top + 9, 'text-anchor': anchor }, mark.name)];
      }),
      ...y.ticks.map((v) =>
        svg('text', { class: 'tick', x: left - 8, y: toY(v) + 4, 'text-anchor': 'end' }, y.print(v)),
      ),
      ...xTicks.map(xText),
      svg('text', { class: 'tick', x: (left + right) / 2, y: height - 6, 'text-anchor': 'middle' }, x.title),
    );
    names.hidden = series.length < 2;
    names.replaceChildren(...series.map(nameOf));
  }

  const stop = observeWidth(element, (now) => {
    width = now;
    show();
  });
  return {
    element,
    update(next) {
      const before = movingDots().map((dot) => Number(dot.getAttribute('cy')));
      data = next;
      show();
      move(movingDots(), before);
    },
    destroy: stop,
  };
}
