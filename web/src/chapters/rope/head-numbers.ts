// The numbers of the figures of whole heads under RoPE. Know nothing of the DOM.
import type { Ropewalk } from 'ropewalk';
import { literal } from '../../programs/literal';

export const clockHead = 32;

export interface PairClock {
  /** Directions of the query's and the key's hand. */
  readonly query: readonly [x: number, y: number];
  readonly key: readonly [x: number, y: number];
  /** Direction of the turn by m - n: the angle between the two. */
  readonly between: readonly [x: number, y: number];
  readonly wavelength: number;
}

export function pairClocks(core: Ropewalk, m: number, n: number): PairClock[] {
  const plan = core.rope({ headDim: clockHead });
  try {
    const { cos, sin } = plan.tables([m, n, m - n]);
    const pairs = clockHead / 2;
    const hand = (row: number, i: number) => [cos[row * pairs + i] ?? 1, sin[row * pairs + i] ?? 0] as const;
    return Array.from(plan.wavelengths, (wavelength, i) => ({
      query: hand(0, i),
      key: hand(1, i),
      between: hand(2, i),
      wavelength,
    }));
  } finally {
    plan.dispose();
  }
}

export function pairClocksCode(m: number, n: number): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const plan = rw.rope({ headDim: ${clockHead} });
const { cos, sin } = plan.tables([${m}, ${n}, ${m - n}]);   // query, key, and the turn between
const result = [0, 1, 2].flatMap((row) =>
  Array.from({ length: ${clockHead / 2} }, (_, i) => [cos[row * ${clockHead / 2} + i], sin[row * ${clockHead / 2} + i]]),
).flat();
`;
}

/** Coordinates of the head whose memory is shown. */
export const layoutHead = 8;
const numbers = Float32Array.from({ length: layoutHead }, (_, i) => i + 1);
const half = layoutHead / 2;
/** Where coordinate i of a head with interleaved pairs goes in one with halves. */
export const toHalves = (i: number): number => (i % 2) * half + Math.floor(i / 2);

export interface Layouts {
  /** The numbers as they lie in memory, before and after the turn. */
  readonly interleaved: Turned;
  readonly half: Turned;
  /** Numbers in interleaved order, turned as if they lay in halves. */
  readonly mixed: Turned;
}

interface Turned {
  readonly before: Float32Array;
  readonly after: Float32Array;
}

export function layouts(core: Ropewalk, position: number): Layouts {
  const turn = (pairing: 'interleaved' | 'half', before: Float32Array): Turned => {
    const plan = core.rope({ headDim: layoutHead, pairing });
    try {
      return { before, after: plan.rotate(before, { offset: position }) };
    } finally {
      plan.dispose();
    }
  };
  const halves = new Float32Array(layoutHead);
  for (const [i, value] of numbers.entries()) halves[toHalves(i)] = value;
  return {
    interleaved: turn('interleaved', numbers),
    half: turn('half', halves),
    mixed: turn('half', numbers),
  };
}

export function layoutsCode(position: number): string {
  const order = Array.from({ length: layoutHead }, (_, at) => numbers.findIndex((_, i) => toHalves(i) === at));
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const interleaved = rw.rope({ headDim: ${layoutHead}, pairing: 'interleaved' });
const half = rw.rope({ headDim: ${layoutHead}, pairing: 'half' });

const x = Float32Array.from(${literal(Array.from(numbers))});
const xInHalves = Float32Array.from(${literal(order)}, (i) => x[i]);
const at = { offset: ${position} };
const result = [
  ...interleaved.rotate(x, at),
  ...half.rotate(xInHalves, at),
  ...half.rotate(x, at),   // the wrong pairing for x
];
`;
}

/** The worked example: a head of four numbers. */
export const workedVector = [1, 2, 3, 4] as const;

export interface Worked {
  readonly frequencies: Float64Array;
  /** Each number of them for every coordinate. */
  readonly cos: Float32Array;
  readonly sin: Float32Array;
  readonly turned: Float32Array;
}

export function worked(core: Ropewalk, position: number): Worked {
  const plan = core.rope({ headDim: 4, pairing: 'interleaved' });
  try {
    const { cos, sin } = plan.tables([position], 'coordinates');
    const turned = plan.rotate(Float32Array.from(workedVector), { offset: position });
    return { frequencies: plan.inverseFrequencies, cos, sin, turned };
  } finally {
    plan.dispose();
  }
}

export function workedCode(position: number): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const plan = rw.rope({ headDim: 4, pairing: 'interleaved' });

const q = Float32Array.of(${workedVector.join(', ')});
const angles = [0, 0, 1, 1].map((i) => ${position} * plan.inverseFrequencies[i]);
const { cos, sin } = plan.tables([${position}], 'coordinates');
const partner = [-q[1], q[0], -q[3], q[2]];
const turned = plan.rotate(q, { offset: ${position} });
const result = [...q, ...angles, ...cos, ...partner, ...sin, ...turned];
`;
}

export const brokenHead = 8;
const query = Float32Array.from({ length: brokenHead }, (_, i) => i + 1);
const key = Float32Array.from({ length: brokenHead }, (_, i) => brokenHead - i);
export const longestWalk = 200;

export interface Broken {
  /** Scores with both words moved on by 0 .. longestWalk. */
  readonly right: Float32Array;
  readonly broken: Float32Array;
}

/**
 * Tables that are made for pairs (i, i + d/2), read at every second entry as if for pairs (2i, 2i + 1): the first
 * coordinate of pair i is turned by frequency 2i, the second by frequency 2i + 1, both counted modulo d/2.
 */
export function brokenScores(core: Ropewalk, distance: number): Broken {
  const pairs = brokenHead / 2;
  const plain = core.rope({ headDim: brokenHead, pairing: 'interleaved' });
  const frequencies = plain.inverseFrequencies;
  const every = (from: 0 | 1) =>
    core.rope({
      headDim: brokenHead,
      pairing: 'interleaved',
      scaling: {
        type: 'custom',
        inverseFrequencies: Array.from({ length: pairs }, (_, i) => frequencies[(2 * i + from) % pairs] ?? 0),
      },
    });
  const [first, second] = [every(0), every(1)];
  try {
    const steps = longestWalk + 1;
    const repeated = (x: Float32Array): Float32Array =>
      Float32Array.from({ length: steps * brokenHead }, (_, i) => x[i % brokenHead] ?? 0);
    const turnRight = (x: Float32Array, offset: number) => plain.rotate(repeated(x), { offset });
    const turnBroken = (x: Float32Array, offset: number): Float32Array => {
      const [a, b] = [first.rotate(repeated(x), { offset }), second.rotate(repeated(x), { offset })];
      return a.map((value, i) => (i % 2 === 0 ? value : (b[i] ?? 0)));
    };
    return {
      right: rowProducts(core, turnRight(query, distance), turnRight(key, 0)),
      broken: rowProducts(core, turnBroken(query, distance), turnBroken(key, 0)),
    };
  } finally {
    for (const plan of [plain, first, second]) plan.dispose();
  }
}

// Row i of one with row i of the other: each pair of rows as a batch entry of its own.
function rowProducts(core: Ropewalk, q: Float32Array, k: Float32Array): Float32Array {
  const shape = [q.length / brokenHead, 1, 1, brokenHead];
  const keys = { data: k, shape };
  const { scores } = core.attention({ data: q, shape }, keys, keys, { scale: 1, returnScores: 'raw' });
  return scores?.data ?? new Float32Array();
}

export function brokenCode(distance: number): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const [D, steps] = [${brokenHead}, ${longestWalk + 1}];
const plan = (inverseFrequencies) =>
  rw.rope({ headDim: D, pairing: 'interleaved', scaling: { type: 'custom', inverseFrequencies } });
const w = rw.rope({ headDim: D }).inverseFrequencies;
const right = plan(Array.from(w));
// What the broken code turns by: each coordinate of a pair by another frequency.
const first = plan([0, 1, 2, 3].map((i) => w[(2 * i) % 4]));
const second = plan([0, 1, 2, 3].map((i) => w[(2 * i + 1) % 4]));

const repeated = (x) => Float32Array.from({ length: steps * D }, (_, i) => x[i % D]);
const turnRight = (x, offset) => right.rotate(repeated(x), { offset });
const turnBroken = (x, offset) => {
  const [a, b] = [first.rotate(repeated(x), { offset }), second.rotate(repeated(x), { offset })];
  return a.map((value, i) => (i % 2 === 0 ? value : b[i]));
};
const scores = (turn) => {
  const q = { data: turn(${literal(Array.from(query))}, ${distance}), shape: [steps, 1, 1, D] };
  const k = { data: turn(${literal(Array.from(key))}, 0), shape: [steps, 1, 1, D] };
  return rw.attention(q, k, k, { scale: 1, returnScores: 'raw' }).scores.data;
};
const [whole, wrong] = [scores(turnRight), scores(turnBroken)];
const result = Array.from(whole, (value, i) => [value, wrong[i]]).flat();
`;
}
