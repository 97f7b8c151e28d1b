// Arrows from the origin of the plane that turn to where they are told, where motion is welcome, and at once elsewhere.
import { svg } from '../ui/dom';

export interface TurningArrow {
  /** The same arrow at each update. */
  readonly name: string;
  readonly label: string;
  readonly look: 'query' | 'key' | 'third';
  /** In radians, counterclockwise from the right; all rounds of it. */
  readonly angle: number;
  readonly length: number;
  /** Drawn with dashes: where an arrow was, or might be. */
  readonly isFaint: boolean;
  readonly isShown: boolean;
  /** Whether a line leads from its tip to its real part, which is drawn too. */
  readonly hasShadow: boolean;
  /** Whether the circle is drawn on which its tip moves. */
  readonly hasCircle: boolean;
}

export interface TurningArrows {
  readonly element: SVGSVGElement;
  update(label: string, arrows: readonly TurningArrow[]): void;
}

// Units of the drawing per unit of the plane.
const unit = 100;
const edge = 135;
const head = 9;

// Room for a label: a line of text, and to either side of its middle for each character.
const line = 15;
const halfCharacter = 3.5;

function shapeOf({ look }: TurningArrow) {
  const parts = {
    circle: svg('circle', { class: 'circle' }),
    shadow: svg('path', { class: 'shadow' }),
    line: svg('path'),
    text: svg('text'),
  };
  const turner = svg('g', { class: 'turner' }, parts.line);
  const place = svg('g', { class: 'turner' }, parts.text);
  return { ...parts, turner, place, all: svg('g', { class: look }, parts.circle, parts.shadow, turner, place) };
}

// Where the label of an arrow is by itself: beyond the tip, and in the picture. A long one needs more room beside an arrow
// than above it.
function labelOf({ label, angle, length }: TurningArrow) {
  const half = halfCharacter * label.length;
  const reach = length * unit + 13 + Math.max(0, half - 4) * Math.abs(Math.cos(angle));
  const x = Math.min(Math.max(reach * Math.cos(angle), half - edge), edge - half);
  return { x, y: 3 - reach * Math.sin(angle), half };
}

export function turningArrows(): TurningArrows {
  const element = svg('svg', {
    class: 'plane turning',
    viewBox: `${-edge} ${-edge} ${2 * edge} ${2 * edge}`,
    role: 'img',
  });
  element.append(svg('path', { class: 'axis', d: `M${-edge} 0H${edge}M0 ${-edge}V${edge}` }));
  const shapes = new Map<string, ReturnType<typeof shapeOf>>();
  return {
    element,
    update(label, arrows) {
      element.setAttribute('aria-label', label);
      for (const arrow of arrows) {
        const { name, angle, isFaint } = arrow;
        const shape = shapes.get(name) ?? shapeOf(arrow);
        if (!shapes.has(name)) element.append(shape.all);
        shapes.set(name, shape);
        const length = arrow.length * unit;
        const [x, y] = [length * Math.cos(angle), -length * Math.sin(angle)];
        shape.line.setAttribute('class', isFaint ? 'set' : 'turned');
        const tip = `M${length - head} ${head / 2}L${length} 0L${length - head} ${-head / 2}Z`;
        shape.line.setAttribute('d', isFaint ? `M0 0H${length}` : `M0 0H${length - head}${tip}`);
        shape.turner.style.transform = `rotate(${-angle}rad)`;
        shape.circle.setAttribute('r', String(length));
        shape.shadow.setAttribute('d', `M${x} ${y}V0M0 0H${x}`);
        shape.all.classList.toggle('away', !arrow.isShown);
        shape.circle.classList.toggle('away', !arrow.hasCircle);
        shape.shadow.classList.toggle('away', !arrow.hasShadow);
      }
      // Labels leave each other room. Those of dashed arrows give way.
      const taken: { readonly x: number; readonly y: number; readonly half: number }[] = [];
      for (const arrow of arrows.toSorted((a, b) => Number(a.isFaint) - Number(b.isFaint))) {
        const shape = shapes.get(arrow.name);
        if (shape === undefined) continue;
        shape.text.textContent = arrow.label;
        const { x, y, half } = labelOf(arrow);
        const isFree = (at: number): boolean =>
          at > line - edge &&
          at < edge &&
          taken.every((other) => Math.abs(x - other.x) >= half + other.half || Math.abs(at - other.y) >= line);
        const outwards = y > 0 ? line : -line;
        const at = [0, 1, -1, 2, -2, -3].map((lines) => y + lines * outwards).find(isFree) ?? y;
        if (arrow.isShown && arrow.label !== '') taken.push({ x, y: at, half });
        shape.place.style.transform = `translate(${x}px, ${at}px)`;
      }
    },
  };
}
