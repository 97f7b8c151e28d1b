// Curves, dots and bands over one x axis, with their names above and the present place marked. Axes are linear or
// logarithmic; a linear y axis through zero shows where zero is.
import { h, observeWidth, svg } from '../dom';

/** How a series looks: a colour and a dash of its own, so that neither alone has to be told apart. */
export type Look = 'query' | 'key' | 'third' | 'quiet';

export interface Series {
  readonly name: string;
  readonly look: Look;
  readonly kind: 'line' | 'dots' | 'stems' | 'band';
  readonly points: readonly (readonly [x: number, y: number])[];
  /** The other edge of a band, at the same x. */
  readonly upper?: readonly number[];
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
}

export interface LineChart {
  readonly element: HTMLElement;
  update(data: ChartData): void;
  destroy(): void;
}

const margin = { left: 46, right: 12, top: 12, bottom: 42 };

function place(axis: Axis, from: number, to: number): (value: number) => number {
  const scale = axis.log ? Math.log : (value: number) => value;
  const [min, max] = [scale(axis.min), scale(axis.max)];
  return (value) =>
    from + ((scale(Math.min(Math.max(value, axis.min), axis.max)) - min) / (max - min || 1)) * (to - from);
}

type At = (point: readonly [number, number]) => string;

function seriesShape({ look, kind, points, upper }: Series, at: At, zero: number): SVGElement[] {
  const through = points.map(at);
  switch (kind) {
    case 'line':
      return [svg('path', { class: `line ${look}`, d: `M${through.join('L')}` })];
    case 'band': {
      const back = points.map(([x], i) => at([x, upper?.[i] ?? 0])).reverse();
      return [svg('path', { class: `band ${look}`, d: `M${[...through, ...back].join('L')}Z` })];
    }
    case 'stems':
    case 'dots': {
      const stems = kind === 'stems' ? points.map((p) => `M${at([p[0], zero])}L${at(p)}`).join('') : '';
      const dots = through.map((p) => {
        const [cx = '', cy = ''] = p.split(' ');
        const radius = points.length > 140 ? 1.2 : points.length > 70 ? 1.8 : 2.6;
        // Hollow dots are larger: where two series meet, both can be seen.
        return svg('circle', { class: `dot ${look}`, cx, cy, r: look === 'key' ? radius + 2.2 : radius });
      });
      return [svg('path', { class: `stems ${look}`, d: stems }), ...dots];
    }
  }
}

export function lineChart(height = 230): LineChart {
  const names = h('ul', { class: 'series-names' });
  const picture = svg('svg', { class: 'chart', role: 'img', height });
  const yTitle = h('p', { class: 'axis-title' });
  const element = h('div', { class: 'chart-box' }, names, yTitle, picture);
  let data: ChartData | undefined;
  let width = 0;

  function show(): void {
    if (data === undefined || width === 0) return;
    const { x, y, series, marks = [], levels = [] } = data;
    const [left, right] = [margin.left, width - margin.right];
    const [top, bottom] = [margin.top, height - margin.bottom];
    const toX = place(x, left, right);
    const toY = place(y, bottom, top);
    const at: At = ([px, py]) => `${toX(px).toFixed(1)} ${toY(py).toFixed(1)}`;
    const hasZero = !y.log && y.min <= 0 && y.max >= 0;
    const xText = (value: number, i: number): SVGElement =>
      svg(
        'text',
        {
          class: 'tick',
          x: toX(value),
          y: bottom + 17,
          'text-anchor': i === 0 && toX(value) < left + 8 ? 'start' : toX(value) > right - 14 ? 'end' : 'middle',
        },
        x.print(value),
      );
    // Names of the x axis that would touch each other are left out.
    let last = -1e9;
    const xTicks = x.ticks.filter((value) => {
      const room = 7.5 * x.print(value).length;
      // At either edge a name stands beside its place, not across it.
      const from = toX(value) < left + 8 ? toX(value) : toX(value) - (toX(value) > right - 14 ? room : room / 2);
      if (from - last < 6) return false;
      last = from + room;
      return true;
    });
    picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    picture.setAttribute('aria-label', data.label);
    yTitle.textContent = y.title;
    picture.replaceChildren(
      svg('path', { class: 'grid', d: y.ticks.map((v) => `M${left} ${toY(v)}H${right}`).join('') }),
      svg('path', { class: 'axis', d: hasZero ? `M${left} ${toY(0)}H${right}` : `M${left} ${bottom}H${right}` }),
      ...series.filter(({ kind }) => kind === 'band').flatMap((each) => seriesShape(each, at, 0)),
      ...levels.flatMap((level) => [
        svg('path', { class: 'level', d: `M${left} ${toY(level.y)}H${right}` }),
        svg('text', { class: 'tick level-name', x: left + 5, y: toY(level.y) - 5, 'text-anchor': 'start' }, level.name),
      ]),
      ...marks.map((mark) => svg('path', { class: mark.look ?? 'now', d: `M${toX(mark.x)} ${top}V${bottom}` })),
      ...series.filter(({ kind }) => kind !== 'band').flatMap((each) => seriesShape(each, at, hasZero ? 0 : y.min)),
      ...marks.flatMap((mark) => {
        if (mark.name === undefined) return [];
        // Away from the middle, where another mark may stand, as far as there is room.
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
    names.replaceChildren(
      ...series.map(({ name, look, kind }) => {
        const d = kind === 'band' ? 'M0 2H28V12H0Z' : kind === 'line' ? 'M0 7H28' : '';
        const dot =
          kind === 'dots' || kind === 'stems' ? [svg('circle', { class: `dot ${look}`, cx: 14, cy: 7, r: 3 })] : [];
        const sample = svg(
          'svg',
          { class: 'chart sample', width: 28, height: 14, 'aria-hidden': 'true' },
          svg('path', { class: `${kind === 'band' ? 'band' : 'line'} ${look}`, d }),
          ...dot,
        );
        return h('li', {}, sample, name);
      }),
    );
  }

  const stop = observeWidth(element, (now) => {
    width = now;
    show();
  });
  return {
    element,
    update(next) {
      data = next;
      show();
    },
    destroy: stop,
  };
}
