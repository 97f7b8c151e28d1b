// An affine map with weights that are packed once: a projection, a product with a constant matrix, a matrix times a vector.

import type { Linear as CoreLinear, MainModule } from '../core.mjs';
import { WeightType } from '../enums.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, wrongShape } from '../runtime/errors.js';
import { destroyer, Handle } from '../runtime/handle.js';
import type { Heap } from '../runtime/heap.js';
import { type Out, type OutOption, output, type ResultOf } from '../runtime/outputs.js';
import { operand, type TensorInput } from '../runtime/tensor.js';
import { activations, type LayerActivation } from './activations.js';
import {
  checkKeeping,
  type Keeping,
  vectorAddress,
  type Weight,
  type WeightArithmetic,
  type WeightInput,
  type WeightStorage,
  weight,
  withPacked,
} from './weights.js';

/** Options of `rw.linear`. */
export interface LinearOptions {
  /**
   * W, [outputs, inputs], as torch.nn.Linear has it: a tensor, or an array with its shape, float32, the bits of float16 or
   * bfloat16, or blocks of a GGUF file. It is copied.
   */
  weight: Exclude<WeightInput, Float32Array>;
  /** b, [outputs]. Default none. */
  bias?: WeightInput;
  /** How W is kept. Default `as given`. */
  storage?: WeightStorage;
  /** How products with blocks are computed. Default `int8`. */
  arithmetic?: WeightArithmetic;
  /** The function f of each output. Default none. */
  activation?: LayerActivation;
}

/**
 * y = f(x W^T + b), made by `rw.linear()`. Sums run over the inputs in an order that depends on their number only, so that
 * a row's bits do not depend on the rows beside it.
 *
 * @example
 * using up = rw.linear({ weight: { data: w, shape: [3072, 768] }, bias, activation: 'gelu' });
 * const y = up.apply(x);                        // x [1, 128, 768], y [1, 128, 3072]
 * up.apply({ data: row, shape: [768] }, { out });   // one row into a Float32Array(3072)
 */
export class Linear extends Handle {
  /** How many numbers a row of x has. */
  readonly inputs: number;
  /** How many numbers a row of the result has. */
  readonly outputs: number;
  /** Bytes of the weights as they are kept. */
  readonly bytes: number;
  readonly #linear: CoreLinear;
  readonly #activation: number;

  /** @internal */
  constructor(heap: Heap, options: LinearOptions) {
    const where = 'linear';
    const given = check.options(where, 'options', options, ['weight', 'bias', 'storage', 'arithmetic', 'activation']);
    const { weight: w, bias: b, activation } = given;
    const keeping = checkKeeping(where, given);
    const activated = activation === undefined ? -1 : check.choice(where, 'activation', activation, activations);
    const [rows, columns] = matrixShape(where, w);
    const matrix = weight(heap, where, 'weight', w, [rows, columns], [rows, columns]);
    const bias = b === undefined ? undefined : weight(heap, where, 'bias', b, [1, rows]);
    const linear = create(heap, where, matrix, bias, keeping);
    super(heap, destroyer(heap, linear));
    this.#linear = linear;
    this.#activation = activated;
    this.outputs = rows;
    this.inputs = columns;
    this.bytes = linear.bytes;
    Object.freeze(this);
  }

  /**
   * Multiplies each row of x. A tensor gives a tensor and a plain array a plain array, unless `out` says otherwise.
   *
   * @param x [.., inputs]; of one axis or more, and any number of rows.
   * @returns [.., outputs]
   * @throws ArgumentTypeError, ArgumentRangeError where x or out does not fit; StateError for what was disposed of.
   *
   * @example
   * const hidden = rw.tensor([1, 3072]);
   * up.apply(x, { out: hidden });   // decoding: nothing is allocated
   */
  apply<X extends TensorInput, O extends Out = undefined>(x: X, options: OutOption<O> = {}): ResultOf<X, O> {
    const where = 'linear.apply';
    const { out } = check.options(where, 'options', options, ['out']);
    const input = operand(this.heap, where, 'x', x);
    this.alive(where);
    const { shape } = input;
    if (shape.length === 0 || shape[shape.length - 1] !== this.inputs) {
      const problem = `has shape [${shape.join(', ')}]; its last axis must be the inputs, ${this.inputs}`;
      throw new ArgumentRangeError(where, 'x', x, problem);
    }
    const rows = check.sizeOf(shape.slice(0, -1));
    const result = check.shape(where, 'the shape of the result', [...shape.slice(0, -1), this.outputs]);
    return output<X, O>(this.heap, where, input.tensor !== undefined, result, out, (to, scratch) => {
      const from = input.address(scratch);
      this.heap.call(() => this.#linear.apply(to, from, rows, this.#activation));
    });
  }
}

// [outputs, inputs] of a weight that says so.
function matrixShape(where: string, w: unknown): readonly [number, number] {
  const given =
    typeof w === 'object' && w !== null && !Array.isArray(w) ? (w as { shape?: unknown; dims?: unknown }) : {};
  const dims = given.shape ?? given.dims;
  if (dims === undefined) {
    throw new ArgumentTypeError(where, 'weight', w, 'a tensor, or an object with data and shape [outputs, inputs]');
  }
  const shape = check.shape(where, 'weight.shape', dims);
  const [rows = 0, columns = 0] = shape;
  if (shape.length === 2) return [rows, columns];
  throw wrongShape(where, 'weight', w, shape, '[outputs, inputs]');
}

function create(heap: Heap, where: string, matrix: Weight, bias: Weight | undefined, keeping: Keeping): CoreLinear {
  const make = (core: MainModule) => new core.Linear();
  return heap.made(where, make, (linear) => {
    withPacked(heap, where, matrix, keeping, (packed) =>
      heap.scope(where, (scratch) => {
        const biasAt = bias === undefined ? 0 : vectorAddress(bias, scratch);
        heap.run(where, () => linear.create(packed, bias?.type ?? WeightType.float32, biasAt));
      }),
    );
    return linear;
  });
}
