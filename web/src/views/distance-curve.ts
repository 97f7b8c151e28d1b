// A value at every whole distance from -reach to reach: a stem and a dot for each, because between two words there is
// nothing, and the present one marked.
import { h, observeWidth, svg } from '../dom';

export interface DistanceCurveData {
  /** At distances -reach .. reach. */
  readonly values: readonly number[];
  readonly current: number;
  /** Half of the height of the picture. */
  readonly limit: number;
  readonly print: (value: number) => string;
}

export interface DistanceCurve {
  readonly element: HTMLElement;
  update(data: DistanceCurveData): void;
  destroy(): void;
}

const height = 168;
const margin = { left: 48, right: 12, top: 10, bottom: 40 };

export function distanceCurve(texts: {
  readonly label: string;
  readonly x: string;
  readonly y: string;
}): DistanceCurve {
  const picture = svg('svg', { class: 'curve', role: 'img', 'aria-label': texts.label, height });
  const element = h('div', { class: 'curve-box' }, h('p', { class: 'curve-title' }, texts.label), picture);
  let data: DistanceCurveData | undefined;
  let width = 0;

  function show(): void {
    if (data === undefined || width === 0) return;
    const { values, current, limit, print } = data;
    const reach = (values.length - 1) / 2;
    const plot = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
    const x = (distance: number): number => margin.left + ((distance + reach) / (2 * reach)) * plot.width;
    const y = (value: number): number => margin.top + ((limit - value) / (2 * limit)) * plot.height;
    const at = (distance: number, value: number): string => `${x(distance).toFixed(1)} ${y(value).toFixed(1)}`;
    const each = values.map((value, i) => ({ value, distance: i - reach }));
    const value = values[current + reach] ?? 0;

    const numbered = [-limit, 0, limit].map((v) =>
      svg('text', { class: 'tick y', x: margin.left - 8, y: y(v) + 4 }, print(v)),
    );
    const places = [-reach, -reach / 2, 0, reach / 2, reach].map((d) =>
      svg('text', { class: 'tick x', x: x(d), y: height - margin.bottom + 16 }, print(d)),
    );
    picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    picture.replaceChildren(
      svg('path', { class: 'grid', d: [-limit, limit].map((v) => `M${at(-reach, v)}L${at(reach, v)}`).join('') }),
      svg('path', { class: 'axis', d: `M${at(-reach, 0)}L${at(reach, 0)}` }),
      svg('path', { class: 'stems', d: each.map((e) => `M${at(e.distance, 0)}L${at(e.distance, e.value)}`).join('') }),
      ...each.map((e) =>
        svg('circle', { class: 'dot', cx: x(e.distance), cy: y(e.value), r: width > 500 ? 1.8 : 1.2 }),
      ),
      svg('path', { class: 'now', d: `M${at(current, 0)}L${at(current, value)}` }),
      svg('circle', { class: 'now', cx: x(current), cy: y(value), r: 5 }),
      ...numbered,
      ...places,
      svg('text', { class: 'tick x', x: x(0), y: height - 6 }, texts.x),
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
