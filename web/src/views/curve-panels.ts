// Curves that are compared, each in a panel of its own over the same axes: how it goes now, and how it went before. One
// place along the x axis is read out in all panels at once.
import { h, svg } from '../ui/dom';
import type { Axis } from './line-chart';
import { nameOf } from './line-chart';

type Points = readonly (readonly [x: number, y: number])[];

export interface CurvePanel {
  readonly name: string;
  /** Read out beside the name. */
  readonly reading: string;
  readonly now: Points;
  readonly before: Points;
}

export interface CurvePanelsData {
  readonly label: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly names: { readonly now: string; readonly before: string };
  readonly panels: readonly CurvePanel[];
  /** The place that is read out. */
  readonly at: number | undefined;
  /** A place that is marked in all panels. */
  readonly limit?: number;
}

export interface CurvePanels {
  readonly element: HTMLElement;
  update(data: CurvePanelsData): void;
}

// The plots' own units: their boxes are as wide and high as there is room, and lines keep their width.
const [wide, high] = [100, 100];

const placeX = ({ min, max }: Axis, value: number): number => ((value - min) / (max - min)) * wide;
const placeY = ({ min, max }: Axis, value: number): number =>
  high - ((Math.min(Math.max(value, min), max) - min) / (max - min)) * high;

const pathOf = (points: Points, { x, y }: CurvePanelsData): string =>
  points.length === 0
    ? ''
    : `M${points.map((point) => `${placeX(x, point[0]).toFixed(2)} ${placeY(y, point[1]).toFixed(2)}`).join('L')}`;

interface Panel {
  readonly element: HTMLElement;
  update(panel: CurvePanel, data: CurvePanelsData): void;
}

function panelOf(): Panel {
  const [name, reading] = [h('span', { class: 'panel-name' }), h('span', { class: 'panel-reading' })];
  const [grid, edge, before, now, mark] = ['grid', 'limit', 'line quiet', 'line query', 'now'].map((look) =>
    svg('path', { class: look }),
  );
  const lines = [grid, edge, before, now, mark].filter((line) => line !== undefined);
  const plot = svg('svg', { class: 'chart', viewBox: `0 0 ${wide} ${high}`, preserveAspectRatio: 'none' }, ...lines);
  const [yNames, xNames] = [h('div', { class: 'panel-y' }), h('div', { class: 'panel-x' })];
  return {
    element: h('div', { class: 'curve-panel' }, name, reading, yNames, plot, xNames),
    update(panel, data) {
      const { x, y, at, limit } = data;
      const upright = (place: number | undefined): string =>
        place === undefined ? '' : `M${placeX(x, place)} 0V${high}`;
      name.textContent = panel.name;
      reading.textContent = panel.reading;
      yNames.replaceChildren(...[y.max, y.min].map((value) => h('span', {}, y.print(value))));
      xNames.replaceChildren(...[x.min, x.max].map((value) => h('span', {}, x.print(value))));
      grid?.setAttribute('d', y.ticks.map((tick) => `M0 ${placeY(y, tick)}H${wide}`).join(''));
      before?.setAttribute('d', pathOf(panel.before, data));
      now?.setAttribute('d', pathOf(panel.now, data));
      edge?.setAttribute('d', upright(limit));
      mark?.setAttribute('d', upright(at));
    },
  };
}

/**
 * @param places that can be read out, along the x axis.
 * @param pointed is told the place under the pointer or the keyboard, or undefined when both are gone.
 */
export function curvePanels(places: readonly number[], pointed: (at: number | undefined) => void): CurvePanels {
  const legend = h('ul', { class: 'series-names' });
  const yTitle = h('p', { class: 'axis-title' });
  const xTitle = h('p', { class: 'axis-title columns' });
  const panels: Panel[] = [];
  // Arrow keys have to reach us, so this is an application to a screen reader; the table is there for reading.
  const grid = h('div', { class: 'curve-panels', tabindex: 0, role: 'application' });
  let data: CurvePanelsData | undefined;

  const nearest = (value: number): number | undefined =>
    places.reduce((best, place) => (Math.abs(place - value) < Math.abs(best - value) ? place : best), places[0] ?? 0);
  const follow = ({ target, clientX }: PointerEvent): void => {
    const plot = (target as Element).closest('.curve-panel')?.querySelector('svg');
    if (!plot || data === undefined) return;
    const { left, width } = plot.getBoundingClientRect();
    pointed(nearest(data.x.min + ((clientX - left) / width) * (data.x.max - data.x.min)));
  };
  grid.addEventListener('pointermove', follow);
  grid.addEventListener('pointerdown', follow);
  grid.addEventListener('pointerleave', ({ pointerType }) => {
    // A finger that leaves has not lost interest: what it touched stays readable.
    if (pointerType === 'mouse' && document.activeElement !== grid) pointed(undefined);
  });
  grid.addEventListener('blur', () => pointed(undefined));
  grid.addEventListener('keydown', (event) => {
    const i = places.indexOf(data?.at ?? Number.NaN);
    const last = places.length - 1;
    const to = { ArrowLeft: i < 0 ? last : i - 1, ArrowRight: i + 1, Home: 0, End: last }[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    pointed(places[Math.min(Math.max(to, 0), last)]);
  });

  return {
    element: h('div', {}, legend, yTitle, grid, xTitle),
    update(next) {
      data = next;
      while (panels.length > next.panels.length) panels.pop()?.element.remove();
      for (const [i, panel] of next.panels.entries()) {
        const made = panels[i] ?? panelOf();
        if (panels[i] === undefined) {
          panels.push(made);
          grid.append(made.element);
        }
        made.update(panel, next);
      }
      grid.setAttribute('aria-label', next.label);
      yTitle.textContent = next.y.title;
      xTitle.textContent = next.x.title;
      const { now, before } = next.names;
      legend.replaceChildren(
        nameOf({ name: now, look: 'query', kind: 'line' }),
        nameOf({ name: before, look: 'quiet', kind: 'line' }),
      );
    },
  };
}
