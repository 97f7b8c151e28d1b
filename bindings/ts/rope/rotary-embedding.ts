// Rotation by tables that someone else made.
import { RotateByTablesCall } from '../calls.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, wrongShape } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { type HeadOptions, inPlace } from '../runtime/in-place.js';
import { checkedPositions } from '../runtime/positions.js';
import { type NdArray, operand, type Tensor, type TensorInput } from '../runtime/tensor.js';
import { type Pairing, pairings } from './options.js';

/** Options of `rw.rotaryEmbedding`. Semantics are those of ONNX RotaryEmbedding (opset 23). */
export interface RotaryEmbeddingOptions<O extends Float32Array | undefined = Float32Array | undefined>
  extends HeadOptions<O> {
  /** [positions, pairs], or, without `positions`, a row for every token: [B, T, pairs]. */
  cos: TensorInput;
  /** As cos. */
  sin: TensorInput;
  /** Which row of the tables each token takes: [T], or [B, T] flat. A row that they do not have is refused. */
  positions?: check.IntegersInput;
  /** Default `half`. */
  pairing?: Pairing;
}

/** @internal */
export function rotaryEmbedding(
  heap: Heap,
  x: unknown,
  options: RotaryEmbeddingOptions,
): Tensor | Float32Array | NdArray<Float32Array> {
  const where = 'rotaryEmbedding';
  const known = ['cos', 'sin', 'positions', 'pairing', 'shape', 'layout', 'out'] as const;
  const given = check.options(where, 'options', options, known);
  const input = check.read(x);
  const pairing = check.choice(where, 'pairing', given.pairing ?? 'half', pairings);
  const cos = operand(heap, where, 'cos', given.cos);
  const sin = operand(heap, where, 'sin', given.sin);
  if (cos.shape.join() !== sin.shape.join()) {
    const problem = `has shape [${sin.shape.join(', ')}], cos [${cos.shape.join(', ')}]`;
    throw new ArgumentRangeError(where, 'sin', given.sin, problem);
  }
  const axes = given.positions === undefined ? 3 : 2;
  if (cos.shape.length !== axes) {
    const expected = axes === 2 ? '[positions, pairs]' : '[B, T, pairs] where there are no positions';
    throw wrongShape(where, 'cos', given.cos, cos.shape, expected);
  }
  const pairs = cos.shape.at(-1) ?? 0;
  const rows = pairs === 0 ? 0 : cos.size / pairs;
  return inPlace(heap, where, input, given, undefined, ({ tokensFirst, batch, heads, tokens, dim }, scratch) => {
    if (2 * pairs > dim) {
      const problem = `has ${pairs} pairs; heads of size ${dim} have at most ${Math.floor(dim / 2)}`;
      throw new ArgumentRangeError(where, 'cos', given.cos, problem);
    }
    if (axes === 3 && (cos.shape[0] !== batch || cos.shape[1] !== tokens)) {
      throw wrongShape(where, 'cos', given.cos, cos.shape, `[${batch}, ${tokens}, pairs], as x has it`);
    }
    const values = tableRows(where, given.positions, batch, tokens, rows);
    const tables = { cos: cos.address(scratch), sin: sin.address(scratch), rows, pairs };
    const rowsAt = heap.put(scratch, values);
    return (pointer) => {
      const shape = { x: pointer, tokensFirst, batch, heads, tokens };
      const call = { heads: shape, headDim: dim, tables, tableRows: rowsAt, pairing };
      const fields = heap.putCall(scratch, RotateByTablesCall, call);
      return heap.call((core) => core.rotateByTables(fields));
    };
  });
}

// The table row of each token, [batch, tokens].
function tableRows(where: string, positions: unknown, batch: number, tokens: number, rows: number): Float64Array {
  if (positions === undefined) return Float64Array.from({ length: rows }, (_, i) => i);
  const at = checkedPositions(where, { positions: positions as check.IntegersInput }, batch, tokens);
  const values = at.values ?? new Float64Array();
  const outside = values.findIndex((p) => p < 0 || p >= rows);
  if (outside >= 0) {
    const problem = `is ${values[outside]}; the tables have rows from 0 to ${rows - 1}`;
    throw new ArgumentRangeError(where, `positions[${outside}]`, values[outside], problem);
  }
  return at.perBatch ? values : Float64Array.from({ length: batch * tokens }, (_, i) => values[i % tokens] ?? 0);
}
