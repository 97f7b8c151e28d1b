// Two arrows in the plane, each as set and as turned. The set ones can be dragged by a ring at the tip, or turned and
// stretched with the arrow keys.
import { svg } from '../ui/dom';

type Vector = readonly [x: number, y: number];

export interface PlaneArrow {
  /** As set: degrees counterclockwise, and length. */
  readonly angle: number;
  readonly length: number;
  /** As set and as turned: coordinates. */
  readonly set: Vector;
  readonly turned: Vector;
  /** By how much, in radians. */
  readonly turn: number;
  /** The ring's value in words. */
  readonly spoken: string;
}

export type ArrowName = 'query' | 'key';

export interface PlaneTexts {
  readonly label: string;
  readonly names: Readonly<Record<ArrowName, string>>;
  readonly handles: Readonly<Record<ArrowName, string>>;
}

export interface Plane {
  readonly element: SVGSVGElement;
  update(arrows: Readonly<Record<ArrowName, PlaneArrow>>): void;
}

/** Longest and shortest an arrow can be made. */
export const lengths = { min: 0.1, max: 1.1 };

// Units of the drawing per unit of the plane; y grows upwards in the plane and downwards on the screen.
const unit = 100;
const edge = 140;
const point = ([x, y]: Vector): string => `${(x * unit).toFixed(2)} ${(-y * unit).toFixed(2)}`;

const symbols = { query: { letter: 'q', index: 'm' }, key: { letter: 'k', index: 'n' } } as const;
const spirals = { query: 32, key: 17 } as const;

// The way that an arrow turned, all rounds of it, on a spiral that leaves earlier rounds visible.
function spiralPath(start: number, turn: number, inner: number): string {
  const steps = Math.max(2, Math.ceil(Math.abs(turn) / 0.1));
  const points = Array.from({ length: steps + 1 }, (_, i) => {
    const angle = start + (turn * i) / steps;
    const radius = (inner + (1.2 * Math.abs(angle - start)) / (2 * Math.PI)) / unit;
    return point([radius * Math.cos(angle), radius * Math.sin(angle)]);
  });
  return `M${points.join('L')}`;
}

// A line with its head, as one path.
function arrowPath([x, y]: Vector, head: number): string {
  const length = Math.hypot(x, y) || 1;
  const [dx, dy] = [(x / length) * (head / unit), (y / length) * (head / unit)];
  const wing = (side: number): string => point([x - dx - side * dy * 0.5, y - dy + side * dx * 0.5]);
  return `M0 0L${point([x - dx, y - dy])}M${wing(1)}L${point([x, y])}L${wing(-1)}Z`;
}

function shape(name: ArrowName) {
  const { letter, index } = symbols[name];
  const turnedLabel = svg('text', { class: 'turned' });
  const sub = (text: string) => svg('tspan', { class: 'index', dy: 2.5 }, text);
  turnedLabel.append('R', sub(index), svg('tspan', { dy: -2.5 }, ` ${letter}`));
  return {
    spiral: svg('path', { class: 'spiral' }),
    set: svg('path', { class: 'set' }),
    turned: svg('path', { class: 'turned' }),
    setLabel: svg('text', {}, letter),
    turnedLabel,
    ring: svg('circle', { class: 'ring', r: 4.5 }),
    // Transparent and large enough for a finger.
    grip: svg('circle', { class: 'grip', r: 22 }),
  };
}

// The ring of an arrow is dragged, or moved with the arrow keys.
function listen(
  handle: SVGElement,
  plane: SVGSVGElement,
  arrow: () => PlaneArrow | undefined,
  set: (angle: number, length: number) => void,
): void {
  handle.addEventListener('pointerdown', (event) => {
    handle.setPointerCapture(event.pointerId);
    handle.focus({ preventScroll: true });
    event.preventDefault();
  });
  handle.addEventListener('pointermove', (event) => {
    const toPlane = plane.getScreenCTM()?.inverse();
    if (!handle.hasPointerCapture(event.pointerId) || toPlane === undefined) return;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(toPlane);
    set((Math.atan2(-y, x) * 180) / Math.PI, Math.hypot(x, y) / unit);
  });
  handle.addEventListener('keydown', (event) => {
    const now = arrow();
    if (now === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const fine = event.shiftKey ? 1 : 5;
    const steps: Record<string, readonly [number, number]> = {
      ArrowLeft: [fine, 0],
      ArrowRight: [-fine, 0],
      ArrowUp: [0, fine / 100],
      ArrowDown: [0, -fine / 100],
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    set(now.angle + step[0], now.length + step[1]);
  });
}

export function plane(
  texts: PlaneTexts,
  changed: (name: ArrowName, arrow: { angle: number; length: number }) => void,
): Plane {
  const element = svg('svg', {
    class: 'plane',
    viewBox: `${-edge} ${-edge} ${2 * edge} ${2 * edge}`,
    role: 'group',
    'aria-label': texts.label,
  });
  const grid = [-1, -0.5, 0.5, 1].flatMap((at) => [
    svg('path', { class: 'grid', d: `M${-edge} ${at * unit}H${edge}` }),
    svg('path', { class: 'grid', d: `M${at * unit} ${-edge}V${edge}` }),
  ]);
  element.append(
    ...grid,
    svg('path', { class: 'axis', d: `M${-edge} 0H${edge}M0 ${-edge}V${edge}` }),
    svg('circle', { class: 'axis', r: unit }),
  );
  const shapes = { query: shape('query'), key: shape('key') };
  const handles = { query: svg('g'), key: svg('g') };
  let shown: Readonly<Record<ArrowName, PlaneArrow>> | undefined;

  const set = (name: ArrowName, angle: number, length: number): void => {
    const whole = Math.round(angle);
    const wrapped = whole > 180 ? whole - 360 : whole <= -180 ? whole + 360 : whole;
    changed(name, {
      angle: wrapped,
      length: Math.min(Math.max(Math.round(length * 100) / 100, lengths.min), lengths.max),
    });
  };

  for (const name of ['key', 'query'] as const) {
    const { spiral, set: arrow, turned, setLabel, turnedLabel, ring, grip } = shapes[name];
    const handle = svg(
      'g',
      {
        class: 'handle',
        tabindex: 0,
        role: 'slider',
        'aria-label': texts.handles[name],
        'aria-valuemin': -180,
        'aria-valuemax': 180,
      },
      ring,
      grip,
    );
    handles[name] = handle;
    element.append(svg('g', { class: name }, spiral, arrow, setLabel, turned, turnedLabel));
    listen(
      handle,
      element,
      () => shown?.[name],
      (angle, length) => set(name, angle, length),
    );
  }
  // Last, so that no arrow lies over a ring.
  element.append(svg('g', { class: 'key' }, handles.key), svg('g', { class: 'query' }, handles.query));

  return {
    element,
    update(arrows) {
      shown = arrows;
      for (const name of ['query', 'key'] as const) {
        const { angle, set: base, turned, turn, spoken } = arrows[name];
        const parts = shapes[name];
        parts.spiral.setAttribute('d', spiralPath(Math.atan2(base[1], base[0]), turn, spirals[name]));
        parts.set.setAttribute('d', `M0 0L${point(base)}`);
        parts.turned.setAttribute('d', arrowPath(turned, 9));
        for (const circle of [parts.ring, parts.grip]) {
          circle.setAttribute('cx', String(base[0] * unit));
          circle.setAttribute('cy', String(-base[1] * unit));
        }
        place(parts.setLabel, base, 12, 0);
        // Where both tips meet, one label has to do.
        parts.setLabel.setAttribute(
          'visibility',
          Math.hypot(turned[0] - base[0], turned[1] - base[1]) < 0.2 ? 'hidden' : 'visible',
        );
        const other = arrows[name === 'query' ? 'key' : 'query'].turned;
        place(parts.turnedLabel, turned, 13, 9, stepAside(turned, other, name === 'query' ? 1 : -1));
        handles[name].setAttribute('aria-valuenow', String(angle));
        handles[name].setAttribute('aria-valuetext', spoken);
      }
    },
  };
}

// A label beyond the tip, but inside the picture. A wide one needs more room beside an arrow than above it, and where
// the other arrow points the same way it steps aside.
function place(label: SVGTextElement, tip: Vector, away: number, wide: number, aside = 0): void {
  const length = Math.hypot(...tip) || 1;
  const [x, y] = [tip[0] / length, tip[1] / length];
  const reach = length * unit + away + wide * Math.abs(x);
  const inside = (value: number): number => Math.min(Math.max(value, -edge + 14), edge - 14);
  label.setAttribute('x', String(inside(x * reach - y * aside)));
  label.setAttribute('y', String(inside(-y * reach - x * aside) + 3));
}

// How far, and to which side, the label of an arrow has to step to leave room for the other's.
function stepAside(arrow: Vector, other: Vector, ifEqual: number): number {
  const between = Math.atan2(other[0] * arrow[1] - other[1] * arrow[0], other[0] * arrow[0] + other[1] * arrow[1]);
  const near = Math.max(0, 1 - Math.abs(between) / 0.5);
  return 13 * near * (Math.sign(between) || ifEqual);
}
