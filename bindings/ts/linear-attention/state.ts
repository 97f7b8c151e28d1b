// Linear attention token by token: the sums over all keys so far, which do not grow with their number.

import type { KeepMaskInput } from '../attention/mask.js';
import { LinearStateCall } from '../calls.js';
import type { LinearAttentionState as CoreState, MainModule } from '../core.mjs';
import type { RopePlan } from '../rope/rope.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { destroyer, Handle, orDisposed } from '../runtime/handle.js';
import type { Heap } from '../runtime/heap.js';
import type { Layout } from '../runtime/layout.js';
import type { Out, OutOption, ResultOf } from '../runtime/outputs.js';
import { checkedPositionsOf } from '../runtime/positions.js';
import type { TensorInput } from '../runtime/tensor.js';
import { isDetached, type OwnBytes } from '../runtime/typed-arrays.js';
import { type CheckedForm, checkForm, checkPosition, formFields, type LinearForm, type RopeForm } from './form.js';
import { checkReturn, type LinearAttentionResult, runLinear } from './linear-attention.js';
import { linearOperands } from './shapes.js';
import { type LinearStateIdentity, packState, unpackState } from './state-bytes.js';

/** The position encodings of `rw.linearAttentionState`. */
export type LinearStatePosition =
  | {
      /** The result does not depend on positions. */
      encoding: 'none';
    }
  | {
      /** Features of queries and keys are rotated. */
      encoding: 'rope';
      /** Rotates heads of size D. */
      plan: RopePlan;
      /** Default `numerator`; for cosine similarity `both`, the only one. */
      form?: RopeForm;
      /** Position of the first token; the others follow one by one. Default 0. */
      offset?: number;
    };

/** Options of `rw.linearAttentionState`. */
export interface LinearAttentionStateOptions extends LinearForm {
  /** D, size of a query's and a key's head. */
  headDim: number;
  /** Dv, size of a value's head. Default headDim. */
  valueDim?: number;
  /** G, heads of keys and values; queries may have any multiple of them. Default 1. */
  kvHeads?: number;
  /** B. Default 1. */
  batch?: number;
  /** The position encoding. Default none. */
  position?: LinearStatePosition;
}

/** Options of `state.append`. */
export interface LinearAppendOptions<O extends Out = undefined> extends OutOption<O> {
  /** Which keys enter the sums: [T] or [B, T], 1 or true keeps. Hidden keys still count as positions. Default all. */
  mask?: KeepMaskInput;
  /** Default `BHTD`. */
  layout?: Layout;
  /** Whether to return the denominators. Default false. */
  returnDenominators?: boolean;
}

/**
 * The state of causal linear attention, made by `rw.linearAttentionState()`: B G F (Dv + 1) sums, however many tokens
 * were appended. F is D, or D + 1 for cosine similarity. Summation is compensated: after a hundred thousand single tokens the
 * sums are as exact as after one call.
 *
 * @example
 * using state = rw.linearAttentionState({ headDim: 64, kvHeads: 8, position: { encoding: 'rope', plan } });
 * const { out } = state.append(q, k, v);   // the prompt, [8, T, 64]
 * state.append(q1, k1, v1);                // the next token, [8, 1, 64]
 */
export class LinearAttentionState extends Handle {
  /** B. */
  readonly batch: number;
  /** G, heads of keys and values. */
  readonly kvHeads: number;
  /** D, size of a query's and a key's head. */
  readonly headDim: number;
  /** Dv, size of a value's head. */
  readonly valueDim: number;
  /** Bytes of the sums. They do not grow with the number of tokens. */
  readonly bytes: number;
  readonly #state: CoreState;
  readonly #options: LinearAttentionStateOptions;
  readonly #form: CheckedForm;
  readonly #identity: LinearStateIdentity;
  readonly #start: number;
  #tokens = 0;

  /** @internal */
  constructor(heap: Heap, options: LinearAttentionStateOptions) {
    const where = 'linearAttentionState';
    const known = ['headDim', 'valueDim', 'kvHeads', 'batch', 'position', ...formFields] as const;
    const given = check.options(where, 'options', options, known);
    const headDim = check.integer(where, 'headDim', given.headDim, 1, 2 ** 16);
    const shape = {
      headDim,
      valueDim: check.integer(where, 'valueDim', given.valueDim ?? headDim, 1, 2 ** 16),
      kvHeads: check.integer(where, 'kvHeads', given.kvHeads ?? 1, 1, 2 ** 16),
      batch: check.integer(where, 'batch', given.batch ?? 1, 1, 2 ** 16),
    };
    checkPosition(where, given.position, ['encoding', 'plan', 'form', 'offset']);
    const form = checkForm(heap, where, given, given.position, shape);
    const offset = given.position?.encoding === 'rope' ? given.position.offset : undefined;
    const start = check.position(where, 'position.offset', offset ?? 0);
    const sums = shape.batch * shape.kvHeads * (headDim + 1) * shape.valueDim;
    if (sums > 2 ** 28) {
      const problem = `makes, with the other sizes, a state of ${sums} sums; at most 2^28 fit`;
      throw new ArgumentRangeError(where, 'headDim', headDim, problem);
    }
    const make = (core: MainModule) => new core.LinearAttentionState();
    const state = heap.made(where, make, (made) =>
      heap.scope(where, (scratch) => {
        const fields = heap.putCall(scratch, LinearStateCall, { form: form.core, shape });
        heap.run(where, () => made.create(fields));
        return made;
      }),
    );
    super(heap, destroyer(heap, state));
    this.#state = state;
    const { outputNorm } = given;
    const weight = outputNorm?.weight && { weight: outputNorm.weight.slice() };
    this.#options = outputNorm ? { ...given, outputNorm: { ...outputNorm, ...weight } } : given;
    this.#form = form;
    this.#start = start;
    this.bytes = state.bytes;
    this.batch = shape.batch;
    this.kvHeads = shape.kvHeads;
    this.headDim = headDim;
    this.valueDim = shape.valueDim;
    const { kernel, normalize, rotateNormalizer } = form.core;
    this.#identity = {
      ...shape,
      kind: kernel | (normalize ? 256 : 0) | (rotateNormalizer ? 512 : 0),
      plan: form.plan?.plan.fingerprint ?? 0,
      payload: state.bytes,
    };
    Object.freeze(this);
  }

  /** How many tokens were appended. */
  get tokens(): number {
    return this.#tokens;
  }

  /** The position of the next token. */
  get position(): number {
    return this.#start + this.#tokens;
  }

  /**
   * Adds tokens and gives attention of their queries. Each query sees its own key and all before it. A sequence in several
   * calls gives the result of one call, up to rounding. A decoding step is one token.
   *
   * @param q [B, H, T, D]; kvHeads divides H, and consecutive query heads share a key head.
   * @param k [B, kvHeads, T, D]
   * @param v [B, kvHeads, T, Dv]
   * @throws ArgumentRangeError where sizes do not fit; StateError after dispose() of this or of the plan. The state is
   *   then as it was.
   */
  append<X extends TensorInput, O extends Out = undefined>(
    q: X,
    k: TensorInput,
    v: TensorInput,
    options: LinearAppendOptions<O> = {},
  ): LinearAttentionResult<ResultOf<X>, ResultOf<X, O>> {
    const where = 'linearAttentionState.append';
    const { changes } = this.heap;
    const given = check.options(where, 'options', options, ['mask', 'layout', 'returnDenominators', 'out']);
    const operands = linearOperands(this.heap, where, { q, k, v }, given.layout ?? 'BHTD');
    this.alive(where);
    this.heap.unchanged(where, 'state', changes);
    const { queries, keys, values, refuseIf } = operands;
    refuseIf(queries.batch !== this.batch, 'q', `has batch size ${queries.batch}, the state has ${this.batch}`);
    refuseIf(queries.dim !== this.headDim, 'q', `has head size ${queries.dim}, the state has ${this.headDim}`);
    refuseIf(queries.tokens !== keys.tokens, 'q', `has ${queries.tokens} tokens, k has ${keys.tokens}`);
    refuseIf(keys.heads !== this.kvHeads, 'k', `has ${keys.heads} heads, the state has ${this.kvHeads}`);
    refuseIf(values.dim !== this.valueDim, 'v', `has head size ${values.dim}, the state has ${this.valueDim}`);
    this.#form.plan?.usableIn(this.heap, where, 'position.plan');
    const at = checkedPositionsOf(where, 'position', this.position, this.batch, keys.tokens, 1);
    const call = {
      operands,
      form: this.#form,
      causal: true,
      mask: given.mask,
      positions: { queries: at, keys: at },
      returnDenominators: checkReturn(where, given.returnDenominators, this.#form.core.normalize),
      out: given.out,
    };
    const result = runLinear<X, O>(this.heap, where, call, (fields, plan) => {
      this.heap.changes += 1;
      return this.#state.append(fields, plan);
    });
    this.#tokens += keys.tokens;
    return result;
  }

  /** Forgets all tokens; the next one has the position that the first one had. */
  reset(): this {
    const where = 'linearAttentionState.reset';
    this.alive(where);
    this.heap.call(() => this.#state.reset());
    this.#tokens = 0;
    this.heap.changes += 1;
    return this;
  }

  /** An independent copy of the state, with the same options and sums. The caller disposes of it. */
  clone(): LinearAttentionState {
    const where = 'linearAttentionState.clone';
    this.alive(where);
    const copy = new LinearAttentionState(this.heap, this.#options);
    return orDisposed([copy], () => copy.restore(this.save()));
  }

  /**
   * The state as bytes: a header with the form and the sizes, and the sums.
   *
   * @example
   * const bytes = state.save();             // Uint8Array(64 + state.bytes)
   * rw.linearAttentionState(sameOptions).restore(bytes);
   */
  save(): OwnBytes {
    const where = 'linearAttentionState.save';
    this.alive(where);
    const sums = this.heap.floatsOf(where, this.bytes / 4, (out) => this.heap.call(() => this.#state.save(out)));
    return packState(this.#identity, this.#tokens, this.#start, new Uint8Array(sums.buffer));
  }

  /**
   * Replaces sums, number of tokens and position by those that `save` gave. outputNorm, which is not saved, may differ.
   *
   * @throws ArgumentTypeError for anything but a Uint8Array; ArgumentRangeError for bytes that were cut or altered, that
   *   are no saved state, or one of other sizes, another form, plan or offset. The state is then as it was.
   */
  restore(bytes: Uint8Array): this {
    const where = 'linearAttentionState.restore';
    this.alive(where);
    if (!check.isTypedArray(bytes, 'Uint8Array') || isDetached(bytes)) {
      throw new ArgumentTypeError(where, 'bytes', bytes, 'a Uint8Array');
    }
    const { tokens, start, payload } = unpackState(where, bytes, this.#identity);
    if (start !== this.#start) {
      const problem = `are of a state whose first token stood at ${start}; here it stands at ${this.#start}`;
      throw new ArgumentRangeError(where, 'bytes', bytes, problem);
    }
    this.heap.scope(where, (scratch) => {
      const pointer = this.heap.put(scratch, payload);
      this.heap.call(() => this.#state.restore(pointer));
    });
    this.#tokens = tokens;
    this.heap.changes += 1;
    return this;
  }
}
