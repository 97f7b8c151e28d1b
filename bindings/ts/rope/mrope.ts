// Positions of M-RoPE (Qwen2-VL and its successors): three numbers for each token, time, row and column. Text counts
// all three alike; an image or video spans a grid of them.
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';

/** A part of the sequence: so many text tokens, an image [rows, columns], or a video [frames, rows, columns]. */
export type MropeSegment =
  | {
      /** Number of tokens. */
      readonly text: number;
    }
  | {
      /** Rows and columns of patches. */
      readonly image: readonly [number, number];
    }
  | {
      /** Frames, and rows and columns of patches in each. */
      readonly video: readonly [number, number, number];
      /**
       * Distance of two frames in positions; Qwen2.5-VL: second_per_grid * tokens_per_second. Positions are rounded
       * down. Default 1.
       */
      readonly temporalStep?: number;
      /**
       * Number of text tokens before each frame, one number for all or one for each: Qwen3-VL writes timestamps as text, and
       * each frame is an image of its own.
       */
      readonly timestamps?: number | readonly number[];
    };

/**
 * Where the sequence goes on after an image or video: `max`, one after the largest position (Hugging Face until
 * 2025, transformers.js); `grid`, after the larger of rows and columns, whatever the number of frames (Hugging Face
 * since). They differ for a video with more steps in time than rows and columns.
 */
export type MropeAdvance = 'max' | 'grid';

/** Options of mropePositions. */
export interface MropeOptions {
  /** Default `max`. */
  advance?: MropeAdvance;
  /** How many patches are merged into a token along rows and columns (spatial_merge_size); default 1: given merged. */
  spatialMerge?: number;
}

/** The result of mropePositions. */
export interface MropePositions {
  /** Time, row and column of each token: the positions of a plan with three axes. */
  readonly positions: readonly [Int32Array, Int32Array, Int32Array];
  /** Tokens in all. */
  readonly length: number;
  /** The largest position + 1 - length: what to add to the index of a later token (rope_deltas). */
  readonly ropeDelta: number;
  /** The position of the token that comes next, on all three axes: length + ropeDelta. */
  readonly next: number;
}

const where = 'mropePositions';
const videoFields = ['temporalStep', 'timestamps'] as const;
const advances: Readonly<Record<MropeAdvance, number>> = { max: 0, grid: 1 };
const largest = 2 ** 31 - 1;

interface Block {
  readonly frames: number;
  readonly rows: number;
  readonly columns: number;
  readonly step: number;
}

// A run of text, or a grid.
type Part = number | Block;

const segmentKinds: Readonly<
  Record<string, (name: string, segment: Record<string, unknown>, merge: number) => readonly Part[]>
> = {
  text: (name, segment) => [check.integer(where, `${name}.text`, segment.text, 0, 2 ** 30)],
  image: (name, segment, merge) => {
    const [rows, columns] = grid(`${name}.image`, segment.image, 2, merge);
    return [{ frames: 1, rows, columns, step: 1 }];
  },
  video: (name, segment, merge) => {
    const [rows, columns, frames] = grid(`${name}.video`, segment.video, 3, merge);
    if (segment.timestamps === undefined) {
      const step = check.positive(where, `${name}.temporalStep`, segment.temporalStep ?? 1);
      return [{ frames, rows, columns, step }];
    }
    if (segment.temporalStep !== undefined) {
      const problem = 'and timestamps exclude each other; give one of them';
      throw new ArgumentRangeError(where, `${name}.temporalStep`, segment.temporalStep, problem);
    }
    const before = timestamps(`${name}.timestamps`, segment.timestamps, frames);
    return before.flatMap((tokens) => [tokens, { frames: 1, rows, columns, step: 1 }]);
  },
};

// Rows and columns in merged units, then frames.
function grid(name: string, value: unknown, axes: 2 | 3, merge: number): readonly [number, number, number] {
  if (!Array.isArray(value)) throw new ArgumentTypeError(where, name, value, `an array of ${axes} sizes`);
  if (value.length !== axes) {
    throw new ArgumentRangeError(where, name, value, `has ${value.length} entries; expected ${axes}`);
  }
  const sizes = value.map((size, axis) => check.integer(where, `${name}[${axis}]`, size, 1, 2 ** 30));
  const [columns = 1, rows = 1, frames = 1] = sizes.reverse();
  if (rows % merge !== 0 || columns % merge !== 0) {
    const problem = `is [${value.join(', ')}]; rows and columns must be multiples of spatialMerge, ${merge}`;
    throw new ArgumentRangeError(where, name, value, problem);
  }
  return [rows / merge, columns / merge, frames];
}

function timestamps(name: string, value: unknown, frames: number): readonly number[] {
  if (!Array.isArray(value)) return new Array<number>(frames).fill(check.integer(where, name, value, 0, 2 ** 30));
  if (value.length !== frames) {
    throw new ArgumentRangeError(where, name, value, `has ${value.length} entries, the video ${frames} frames`);
  }
  return value.map((tokens, frame) => check.integer(where, `${name}[${frame}]`, tokens, 0, 2 ** 30));
}

function partsOf(segments: unknown, merge: number): readonly Part[] {
  if (!Array.isArray(segments)) throw new ArgumentTypeError(where, 'segments', segments, 'an array of segments');
  return segments.flatMap((segment: unknown, i) => {
    const name = `segments[${i}]`;
    check.keys(where, name, segment, [...Object.keys(segmentKinds), ...videoFields]);
    const given = segment as Record<string, unknown>;
    const kinds = Object.keys(given).filter((key) => Object.hasOwn(segmentKinds, key));
    const [kind = ''] = kinds;
    const read = segmentKinds[kind];
    if (read === undefined || kinds.length > 1) {
      throw new ArgumentTypeError(where, name, segment, 'an object with one of text, image, video');
    }
    check.keys(where, name, given, kind === 'video' ? [kind, ...videoFields] : [kind]);
    return read(name, given, merge);
  });
}

const tokensOf = (part: Part) => (typeof part === 'number' ? part : part.frames * part.rows * part.columns);
const lastFrame = ({ frames, step }: Block) => Math.floor((frames - 1) * step);

/**
 * The three position lists of a sequence of text, images and videos, for plans with `axes` of layout `sections` or
 * `interleaved`. A grid's tokens run through frames, then rows, then columns.
 *
 * @throws ArgumentRangeError where a grid is no multiple of spatialMerge or a position passes 2^31 - 1.
 *
 * @example
 * const { positions, ropeDelta } = mropePositions([{ text: 1 }, { image: [4, 3] }, { text: 1 }]);
 * plan.rotate(q, { positions });   // t 0 1 1 .. 1 5, h 0 1 1 1 2 .. 4 5, w 0 1 2 3 1 .. 3 5
 */
export function mropePositions(segments: readonly MropeSegment[], options: MropeOptions = {}): MropePositions {
  const given = check.options(where, 'options', options, ['advance', 'spatialMerge']);
  const merge = check.integer(where, 'spatialMerge', given.spatialMerge ?? 1, 1, 2 ** 15);
  const byGrid = check.choice(where, 'advance', given.advance ?? 'max', advances) === advances.grid;
  const parts = partsOf(check.read(segments), merge);
  const length = parts.reduce<number>((sum, part) => sum + tokensOf(part), 0);
  if (length > 2 ** 30) {
    throw new ArgumentRangeError(where, 'segments', segments, `hold ${length} tokens; at most 2^30 fit`);
  }
  const positions = [new Int32Array(length), new Int32Array(length), new Int32Array(length)] as const;
  let token = 0;
  let start = 0;
  let top = -1;
  for (const part of parts) {
    if (tokensOf(part) === 0) continue;
    const last = typeof part === 'number' ? part - 1 : Math.max(lastFrame(part), part.rows - 1, part.columns - 1);
    top = Math.max(top, start + last);
    if (top > largest) {
      throw new ArgumentRangeError(where, 'segments', segments, `reach position ${top}; at most 2^31 - 1 fits`);
    }
    fill(positions, token, part, start);
    token += tokensOf(part);
    start += byGrid && typeof part !== 'number' ? Math.max(part.rows, part.columns) : last + 1;
  }
  return { positions, length, ropeDelta: top + 1 - length, next: top + 1 };
}

function fill(positions: MropePositions['positions'], token: number, part: Part, start: number): void {
  const [time, row, column] = positions;
  const count = tokensOf(part);
  for (let i = 0; i < count; ++i) {
    const at = token + i;
    if (typeof part === 'number') {
      time[at] = row[at] = column[at] = start + i;
      continue;
    }
    const perFrame = part.rows * part.columns;
    time[at] = start + Math.floor(Math.floor(i / perFrame) * part.step);
    row[at] = start + (Math.floor(i / part.columns) % part.rows);
    column[at] = start + (i % part.columns);
  }
}
