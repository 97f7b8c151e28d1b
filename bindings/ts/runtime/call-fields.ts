// Options and calls as the core takes them: their fields one after the other, as doubles. Objects would cost a call into
// the core for each field. A list of fields says their order: that of the core's reader, in embind/. Here are those
// that several files share, of attention and of layers.
import type { Heap, Take } from './heap.js';
import { forStages } from './score-stages.js';

/** Of positions, in calls.h. @internal */
export const positionsFields = { values: 0, count: 0, perBatch: false, offset: 0 } as const;
/** Of heads that are turned, in rope.cpp. @internal */
export const headsFields = { x: 0, tokensFirst: false, batch: 0, heads: 0, tokens: 0 } as const;
/** Of rows of relative tables, in attention_call.h. @internal */
export const rowsFields = { limit: 0, keyMinusQuery: false } as const;

// Those of attention_call.h, and of layers.cpp.
const mask = { data: 0, batchStride: 0, headStride: 0, queryStride: 0, keyStride: 0 } as const;
const relative = {
  rows: rowsFields,
  ...{ queryTable: 0, keyTable: 0, productTable: 0, valueTable: 0 },
} as const;
const sight = {
  ...{ causal: false, left: 0, right: 0, sinkTokens: 0 },
  ...{ queryOffset: 0, queryOffsets: 0, keyPositions: 0, keyLengths: 0 },
} as const;
const options = {
  ...{ scale: 0, softcap: 0, keep: mask, bias: mask, sinks: 0 },
  ...{ distanceBias: 0, distanceFirst: 0, distanceCount: 0, distanceRanges: 0, distanceRangeCount: 0 },
  relative,
} as const;
const scores = {
  ...forStages(() => 0),
  ...{ plainQ: 0, plainK: 0, slots: 0, slotCount: 0 },
} as const;
const capture = {
  ...{ q: 0, k: 0, v: 0, qRotated: 0, kRotated: 0, vRotated: 0, context: 0 },
  ...{ normed: 0, attentionOut: 0, hidden: 0, mlp: 0, scores },
} as const;

/** @internal */
export const attentionFields = {
  ...{ out: 0, q: 0, k: 0, v: 0, batch: 0, heads: 0, kvHeads: 0, queries: 0, keys: 0, headDim: 0, valueDim: 0 },
  ...{ tokensFirst: false, sight, options, scores },
} as const;
/** @internal */
export const layerFields = {
  ...{ out: 0, x: 0, batch: 0, tokens: 0, positions: positionsFields },
  ...{ turnValues: false, sight, options, capture },
} as const;

/** A field is a number (addresses among them), a flag, or has fields of its own; which number it is here says nothing. @internal */
export interface FieldList {
  readonly [name: string]: number | boolean | FieldList;
}

/** The object that fields are taken from. @internal */
export type CallOf<F> = {
  readonly [N in keyof F]: F[N] extends boolean ? boolean : F[N] extends number ? number : CallOf<F[N]>;
};

/** @internal */
export type PositionsCall = CallOf<typeof positionsFields>;
/** @internal */
export type AttentionCall = CallOf<typeof attentionFields>;
/** @internal */
export type LayerCall = CallOf<typeof layerFields>;
/** @internal */
export type CoreMask = CallOf<typeof mask>;
/** @internal */
export type RelativeTerms = CallOf<typeof relative>;
/** @internal */
export type SightCall = CallOf<typeof sight>;
/** @internal */
export type CoreOptions = CallOf<typeof options>;
/** @internal */
export type ScoresCall = CallOf<typeof scores>;
/** @internal */
export type CaptureCall = CallOf<typeof capture>;

interface Call {
  readonly [name: string]: number | boolean | Call;
}

function append(numbers: number[], fields: FieldList, call: Call): void {
  for (const name in fields) {
    const list = fields[name];
    if (typeof list === 'object') append(numbers, list, call[name] as Call);
    else numbers.push(Number(call[name]));
  }
}

/** The address of a call's fields. @internal */
export function putFields<F extends FieldList>(heap: Heap, fields: F, call: CallOf<F>, take: Take): number {
  const numbers: number[] = [];
  append(numbers, fields, call as Call);
  return heap.putDoubles(take, numbers);
}
