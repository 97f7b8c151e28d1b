// The sizes of a bias, and the positions of its queries and keys.
import * as check from '../runtime/check.js';

/** The sizes of a bias [H, Tq, Tk]. */
export interface BiasShape {
  /** Tq, how many queries. */
  queries: number;
  /** Tk, how many keys. */
  keys: number;
  /** Query i has position i + queryOffset, key j position j. Default keys - queries: the last query is at the last key. */
  queryOffset?: number;
}

/** @internal */
export const shapeFields = ['queries', 'keys', 'queryOffset'] as const;

/** @internal */
export function biasShape(where: string, given: BiasShape): Required<BiasShape> {
  const queries = check.integer(where, 'queries', given.queries, 0, 2 ** 24);
  const keys = check.integer(where, 'keys', given.keys, 0, 2 ** 24);
  return { queries, keys, queryOffset: check.position(where, 'queryOffset', given.queryOffset ?? keys - queries) };
}
