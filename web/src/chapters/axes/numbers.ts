// The numbers of the figures on positions with several axes. Know nothing of the DOM.
import { type MropeSegment, mropePositions, type RopeAxes, type RopeOptions, type Ropewalk } from 'ropewalk';
import { literal } from '../../programs/literal';

/** Patches along each side of the picture. */
export const side = 8;
const headDim = 64;
const pairs = headDim / 2;

// One entry makes a layout appear in the menu, in the address and in the figure.
export const gridLayouts = {
  flat: undefined,
  axial: { layout: 'axial', dims: [headDim / 2, headDim / 2] },
  vision: { layout: 'vision' },
  pixtral: { layout: 'pixtral' },
} as const satisfies Record<string, RopeAxes | undefined>;

export type GridLayout = keyof typeof gridLayouts;
export const gridLayoutNames = Object.keys(gridLayouts) as GridLayout[];

const patches = Array.from({ length: side * side }, (_, i) => i);
const rowOf = (patch: number): number => Math.floor(patch / side);
const columnOf = (patch: number): number => patch % side;

function placesOf(layout: GridLayout): number[] | [number[], number[]] {
  return layout === 'flat' ? patches : [patches.map(rowOf), patches.map(columnOf)];
}

const optionsOf = (layout: GridLayout, base: number): RopeOptions => {
  const axes = gridLayouts[layout];
  return { headDim, base, ...(axes && { axes }) };
};

/** The score of one patch's query with every patch's key, all vectors being ones, divided by D: [side, side]. */
export function gridScores(core: Ropewalk, layout: GridLayout, base: number, query: number): Float32Array {
  const plan = core.rope(optionsOf(layout, base));
  try {
    const turned = plan.rotate(new Float32Array(patches.length * headDim).fill(1), { positions: placesOf(layout) });
    const keys = { data: turned, shape: [patches.length, headDim] };
    const one = { data: turned.slice(query * headDim, (query + 1) * headDim), shape: [1, headDim] };
    const { scores } = core.attention(one, keys, keys, { scale: 1 / headDim, returnScores: 'raw' });
    return scores?.data ?? new Float32Array();
  } finally {
    plan.dispose();
  }
}

export function gridCode(layout: GridLayout, base: number, query: number): string {
  const places =
    layout === 'flat'
      ? 'patches'
      : `[
  patches.map((patch) => Math.floor(patch / ${side})),   // row
  patches.map((patch) => patch % ${side}),               // column
]`;
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const D = ${headDim};
const patches = Array.from({ length: ${side * side} }, (_, i) => i);
const positions = ${places};

const plan = rw.rope(${literal(optionsOf(layout, base))});
const turned = plan.rotate(new Float32Array(patches.length * D).fill(1), { positions });
const keys = { data: turned, shape: [patches.length, D] };
const query = { data: turned.slice(${query} * D, ${query + 1} * D), shape: [1, D] };
const { scores } = rw.attention(query, keys, keys, { scale: 1 / D, returnScores: 'raw' });
const result = scores.data;
`;
}

export interface Sequence {
  readonly before: number;
  readonly rows: number;
  readonly columns: number;
  readonly frames: number;
  readonly after: number;
}

const segmentsOf = ({ before, rows, columns, frames, after }: Sequence): MropeSegment[] => [
  { text: before },
  frames === 1 ? { image: [rows, columns] } : { video: [frames, rows, columns] },
  { text: after },
];

export interface Ids {
  /** Time, row and column of each token. */
  readonly positions: readonly [Int32Array, Int32Array, Int32Array];
  readonly length: number;
  readonly next: number;
}

export function ids(sequence: Sequence): Ids {
  return mropePositions(segmentsOf(sequence));
}

const sectionAxes = {
  sections: { layout: 'sections', sections: [8, 12, 12] },
  interleaved: { layout: 'interleaved', sections: [12, 10, 10] },
} as const satisfies Record<string, RopeAxes>;

/** For both M-RoPE layouts, which axis each pair follows: found by moving one axis at a time. */
export function axisOfPairs(core: Ropewalk): Int32Array[] {
  return Object.values(sectionAxes).map((axes) => {
    const plan = core.rope({ headDim, axes });
    try {
      // Row a of the table: position 1 on axis a, 0 on the others.
      const { sin } = plan.tables([
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
      ]);
      return Int32Array.from({ length: pairs }, (_, i) => [0, 1, 2].findIndex((axis) => sin[axis * pairs + i] !== 0));
    } finally {
      plan.dispose();
    }
  });
}

export function idsCode(sequence: Sequence): string {
  return `import { load, mropePositions } from 'ropewalk';

const { positions } = mropePositions(${literal(segmentsOf(sequence))});

// Which axis each pair follows: move one axis at a time and see which pairs turn.
const rw = await load({ simd: 'deterministic' });
const axisOfPairs = (axes) => {
  const { sin } = rw.rope({ headDim: ${headDim}, axes }).tables([[1, 0, 0], [0, 1, 0], [0, 0, 1]]);
  return Array.from({ length: ${pairs} }, (_, i) => [0, 1, 2].findIndex((a) => sin[a * ${pairs} + i] !== 0));
};
const result = [
  ...positions.flatMap((axis) => Array.from(axis)),
  ...axisOfPairs(${literal(sectionAxes.sections)}),
  ...axisOfPairs(${literal(sectionAxes.interleaved)}),
];
`;
}
