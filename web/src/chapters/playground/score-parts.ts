// The parts of attention scores, and what can be said of them. Knows nothing of the DOM.
import { scoreMap } from './score-map';

/**
 * [H, T, T] each, as the package gives them: biased is content + position (softly capped, where the model does that),
 * probabilities what softmax makes of it.
 */
export interface ScoreParts {
  readonly content: Float32Array;
  readonly position: Float32Array;
  readonly biased: Float32Array;
  readonly probabilities: Float32Array;
}

export const partNames = ['content', 'position', 'biased', 'probabilities'] as const satisfies (keyof ScoreParts)[];
export type PartName = (typeof partNames)[number];

/** What is drawn: all parts of one head side by side, or one part of several heads. */
export const viewNames = ['apart', 'probabilities', 'biased', 'content', 'position'] as const;
export type ViewName = (typeof viewNames)[number];

/** Maps that are drawn at once, at most. */
export const headsAtOnce = 8;

/** One map: a part of a head. */
export interface MapName {
  readonly part: PartName;
  readonly head: number;
}

/** The maps of a view; of more heads than are drawn at once, those around `head`. */
export function mapsOf(view: ViewName, head: number, heads: number): MapName[] {
  if (view === 'apart') return partNames.map((part) => ({ part, head }));
  const first = Math.floor(head / headsAtOnce) * headsAtOnce;
  return Array.from({ length: Math.min(headsAtOnce, heads - first) }, (_, i) => ({ part: view, head: first + i }));
}

/** [T, T] of one map, NaN where nothing may be seen. */
export function mapValues(
  scores: ScoreParts,
  { part, head }: MapName,
  tokens: number,
  isHidden: (row: number, column: number) => boolean,
): Float32Array {
  return scoreMap(scores[part], head, tokens).map((value, i) =>
    isHidden(Math.floor(i / tokens), i % tokens) ? Number.NaN : value,
  );
}

/** The root mean square of the numbers that there are. */
export function rootMeanSquare(maps: readonly Float32Array[]): number {
  let [sum, count] = [0, 0];
  for (const map of maps) {
    for (const value of map) {
      if (Number.isNaN(value)) continue;
      sum += value * value;
      count += 1;
    }
  }
  return count === 0 ? 0 : Math.sqrt(sum / count);
}

/** The visibility of keys to a query. */
export interface Visibility {
  readonly causal: boolean;
  /** Positions to either side, the query's own included; 0: all. */
  readonly window: number;
  /** Whether the window starts anew at each multiple of its size. Default: it moves with the query. */
  readonly chunked?: boolean | undefined;
  /** First keys that a window never hides. Default 0. */
  readonly sinkTokens?: number;
}

export function hides({
  causal,
  window,
  chunked,
  sinkTokens = 0,
}: Visibility): (row: number, column: number) => boolean {
  const chunk = (position: number): number => Math.floor(position / window);
  return (row, column) => {
    const isNear = window === 0 || (chunked ? chunk(row) === chunk(column) : Math.abs(row - column) < window);
    return column > row ? causal || !isNear : !isNear && column >= sinkTokens;
  };
}
