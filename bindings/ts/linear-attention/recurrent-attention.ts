// Linear attention as a recurrence with gates and corrections: ONNX LinearAttention.
import { LinearRecurrenceCall } from '../calls.js';
import * as enums from '../enums.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, wrongShape } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { type HeadShape, headShape, type Layout } from '../runtime/layout.js';
import { type Out, type OutOption, outputs, type ResultOf } from '../runtime/outputs.js';
import { type NdArray, type Operand, operand, type Tensor, type TensorInput } from '../runtime/tensor.js';
import { linearOperands } from './shapes.js';

/**
 * How a token changes the state S [D, Dv]. `linear` adds k vᵀ. `gated` first scales S by e^decay (Yang et al.,
 * arXiv:2312.06635). `delta` writes beta (v - Sᵀ k) in place of v (arXiv:2406.06484).
 * `gated_delta` does both (arXiv:2412.06464).
 */
export type UpdateRule = 'linear' | 'gated' | 'delta' | 'gated_delta';

/** Options of `rw.recurrentAttention`. Names and order of steps are those of ONNX LinearAttention (opset 27). */
export interface RecurrentAttentionOptions<O extends Out = undefined> extends OutOption<O> {
  /** Default `gated_delta`. */
  updateRule?: UpdateRule;
  /** Multiplies the result. Default 1 / sqrt(D); 0 means the default. */
  scale?: number;
  /**
   * For the gated rules: logarithms of what S is scaled by before each token, so 0 keeps everything and numbers above 0
   * make it grow. Per head (k's shape without the last axis) or per key coordinate (k's shape).
   */
  decay?: TensorInput;
  /** For the delta rules: how much is written. k's shape without the last axis; the axis of heads may be 1. */
  beta?: TensorInput;
  /** S before the first token, [B, G, D, Dv]: the `state` of an earlier call. Default zeros. */
  state?: TensorInput;
  /** Default `BHTD`, for all but the state. */
  layout?: Layout;
}

/** The result of `rw.recurrentAttention`: of the inputs' kind, tensors or plain arrays; `out` of the kind of the option. */
export interface RecurrentAttentionResult<
  T extends Tensor | NdArray<Float32Array>,
  R extends Tensor | NdArray<Float32Array> = T,
> {
  /** The queries' shape with the values' head size. */
  readonly out: R;
  /** S after the last token, [B, G, D, Dv]. */
  readonly state: T;
}

const updateRules: check.Choices<UpdateRule, typeof enums.UpdateRule> = enums.UpdateRule;

interface Gate {
  readonly operand: Operand;
  readonly shape: HeadShape;
}

// A gate that the rule takes is required, one that it does not take is refused.
function gate(
  heap: Heap,
  where: string,
  name: 'decay' | 'beta',
  value: TensorInput | undefined,
  rule: { readonly name: string; readonly takes: boolean },
  accepts: readonly (readonly number[])[],
  layout: Layout,
): Gate | undefined {
  if (!rule.takes) {
    if (value === undefined) return undefined;
    throw new ArgumentRangeError(where, name, value, `is not taken by the update rule '${rule.name}'`);
  }
  if (value === undefined) {
    throw new ArgumentTypeError(where, name, value, `a tensor or an array: the update rule '${rule.name}' takes it`);
  }
  const given = operand(heap, where, name, value);
  const same = (shape: readonly number[]) => shape.join() === given.shape.join();
  if (!accepts.some(same)) {
    const lists = accepts.map((shape) => `[${shape.join(', ')}]`);
    throw wrongShape(where, name, value, given.shape, [...new Set(lists)].join(' or '));
  }
  // Per head there is one number where the others have a head's coordinates.
  const perKey = name === 'decay' && same(accepts[1] ?? []);
  return { operand: given, shape: headShape(where, name, perKey ? given.shape : [...given.shape, 1], layout) };
}

// k's shape without the last axis, and the same with one head.
function gateShapes(shape: readonly number[], layout: Layout) {
  const perHead = shape.slice(0, -1);
  const axis = layout === 'BTHD' && shape.length > 2 ? perHead.length - 1 : perHead.length - 2;
  return { perHead, shared: perHead.map((size, i) => (i === axis ? 1 : size)) };
}

/** @internal */
export function recurrentAttention<X extends TensorInput, O extends Out>(
  heap: Heap,
  qInput: X,
  kInput: TensorInput,
  vInput: TensorInput,
  options: RecurrentAttentionOptions<O>,
): RecurrentAttentionResult<ResultOf<X>, ResultOf<X, O>> {
  const where = 'recurrentAttention';
  const known = ['updateRule', 'scale', 'decay', 'beta', 'state', 'layout', 'out'] as const;
  const given = check.options(where, 'options', options, known);
  const layout = given.layout ?? 'BHTD';
  const operands = linearOperands(heap, where, { q: qInput, k: kInput, v: vInput }, layout);
  const { q, k, v, queries, keys, values, tokensFirst, outShape, refuseIf } = operands;
  refuseIf(queries.tokens !== keys.tokens, 'q', `has ${queries.tokens} tokens, k has ${keys.tokens}`);
  const name = given.updateRule ?? 'gated_delta';
  const rule = check.choice(where, 'updateRule', name, updateRules);
  const scale = check.float32Number(where, 'scale', given.scale ?? 0) || 1 / Math.sqrt(queries.dim);
  const { perHead, shared } = gateShapes(k.shape, layout);
  const gated = { name, takes: name.includes('gated') };
  const delta = { name, takes: name.includes('delta') };
  const decay = gate(heap, where, 'decay', given.decay, gated, [perHead, k.shape], layout);
  const beta = gate(heap, where, 'beta', given.beta, delta, [perHead, shared], layout);
  const stateShape = [keys.batch, keys.heads, keys.dim, values.dim];
  const past = given.state === undefined ? undefined : operand(heap, where, 'state', given.state);
  if (past && past.shape.join() !== stateShape.join()) {
    throw wrongShape(where, 'state', given.state, past.shape, `[${stateShape.join(', ')}]`);
  }
  const isTensor = q.tensor !== undefined;
  const shapes = { out: outShape, state: stateShape };
  const result = outputs<'state'>(heap, where, isTensor, shapes, given.out, (at, scratch) => {
    const call = {
      out: at.out,
      present: at.state ?? 0,
      q: q.address(scratch),
      k: k.address(scratch),
      v: v.address(scratch),
      decay: decay?.operand.address(scratch),
      beta: beta?.operand.address(scratch),
      past: past?.address(scratch),
      rule,
      scale,
      batch: queries.batch,
      heads: queries.heads,
      kvHeads: keys.heads,
      tokens: queries.tokens,
      headDim: queries.dim,
      valueDim: values.dim,
      decayDim: decay?.shape.dim,
      betaHeads: beta?.shape.heads,
      tokensFirst,
    };
    const fields = heap.putCall(scratch, LinearRecurrenceCall, call);
    heap.run(where, (core) => core.linearRecurrence(fields));
  });
  return { out: result.out, state: result.state } as RecurrentAttentionResult<ResultOf<X>, ResultOf<X, O>>;
}
