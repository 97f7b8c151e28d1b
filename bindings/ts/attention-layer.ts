// Multi-head self-attention with projections.
import type { AttentionResult } from './attention.js';
import * as check from './check.js';
import type { AttentionLayer as CoreAttentionLayer, AttentionLayerWeights as CoreWeights } from './core.mjs';
import { ArgumentRangeError, ArgumentTypeError, checkStatus } from './errors.js';
import { destroyer, Handle } from './handle.js';
import type { Heap } from './heap.js';
import { type KeepMaskInput, keepMask } from './mask.js';
import { type Named, outputs } from './outputs.js';
import { type PositionOptions, places } from './positions.js';
import { RopePlan } from './rope.js';
import type { RopeOptions } from './rope-options.js';
import { type SinusoidalOptions, sinusoidal, tableOptions } from './sinusoidal.js';
import { type NdArray, operand, type Tensor, type TensorInput } from './tensor.js';

/** The position encodings of a layer, each with its own options; sizes follow from the layer. */
export type LayerPosition =
  | { encoding: 'none' }
  | ({ encoding: 'rope' } & Omit<RopeOptions, 'headDim'>)
  | ({ encoding: 'sinusoidal' } & Omit<SinusoidalOptions, 'dim' | 'positions'>);

/** Weights [out, in], row major; biases may be left out. */
export interface AttentionLayerWeights {
  /** [heads * headDim, modelDim] */
  query: Float32Array;
  /** [kvHeads * headDim, modelDim] */
  key: Float32Array;
  /** [kvHeads * headDim, modelDim] */
  value: Float32Array;
  /** [modelDim, heads * headDim] */
  output: Float32Array;
  queryBias?: Float32Array;
  keyBias?: Float32Array;
  valueBias?: Float32Array;
  outputBias?: Float32Array;
}

/** What an AttentionLayer is made from. */
export interface AttentionLayerOptions {
  /** M, width of the input and the output. */
  modelDim: number;
  /** H, query heads. */
  heads: number;
  /** G, key/value heads; consecutive query heads share one. Default heads. */
  kvHeads?: number;
  /** D. Default modelDim / heads. */
  headDim?: number;
  /** Default `{ encoding: 'none' }`. */
  position?: LayerPosition;
  /** Default false. */
  causal?: boolean;
  /** Trained weights. Without them, uniform ones from `seed`, with standard deviation 1 / sqrt(inputs). */
  weights?: AttentionLayerWeights;
  /** An integer from 0 to 2^53 - 1; the same seed gives the same weights everywhere. Default 0. */
  seed?: number;
}

/** Options of one pass. */
export interface ForwardOptions<S extends 'none' | 'probabilities' = 'none' | 'probabilities'> extends PositionOptions {
  /** Which keys may be attended to. */
  mask?: KeepMaskInput;
  /** `probabilities`: give the attention weights of every head back as well. */
  returnScores?: S;
}

type Encoding = LayerPosition['encoding'];

const encodings: Readonly<Record<Encoding, number>> = { none: 0, rope: 1, sinusoidal: 2 };

interface Dims {
  readonly modelDim: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

function dimsOf(where: string, options: AttentionLayerOptions): Dims {
  const modelDim = check.integer(where, 'modelDim', options.modelDim, 1, 2 ** 16);
  const heads = check.integer(where, 'heads', options.heads, 1, 2 ** 12);
  const kvHeads = check.integer(where, 'kvHeads', options.kvHeads ?? heads, 1, heads);
  if (heads % kvHeads !== 0) {
    throw new ArgumentRangeError(where, 'kvHeads', kvHeads, `is ${kvHeads}, which does not divide heads, ${heads}`);
  }
  if (options.headDim === undefined && modelDim % heads !== 0) {
    throw new ArgumentRangeError(
      where,
      'heads',
      heads,
      `is ${heads}, which does not divide modelDim, ${modelDim}; give headDim`,
    );
  }
  return {
    modelDim,
    heads,
    kvHeads,
    headDim: check.integer(where, 'headDim', options.headDim ?? modelDim / heads, 1, 2 ** 16),
  };
}

// How many numbers each weight has, and how many inputs its outputs sum over.
function weightSizes({ modelDim, heads, kvHeads, headDim }: Dims) {
  const width = heads * headDim;
  const kvWidth = kvHeads * headDim;
  return {
    query: { rows: width, inputs: modelDim },
    key: { rows: kvWidth, inputs: modelDim },
    value: { rows: kvWidth, inputs: modelDim },
    output: { rows: modelDim, inputs: width },
  } as const;
}

// Copies given weights, or makes seeded ones, into memory that `take` gives.
function placeWeights(
  heap: Heap,
  where: string,
  options: AttentionLayerOptions,
  dims: Dims,
  take: (bytes: number) => number,
): CoreWeights {
  const sizes = weightSizes(dims);
  const pointers: CoreWeights = {
    query: 0,
    key: 0,
    value: 0,
    output: 0,
    queryBias: 0,
    keyBias: 0,
    valueBias: 0,
    outputBias: 0,
  };
  const names = Object.keys(sizes) as (keyof typeof sizes)[];
  if (options.weights === undefined) {
    const seed = check.integer(where, 'seed', options.seed ?? 0, 0);
    names.forEach((name, i) => {
      const { rows, inputs } = sizes[name];
      pointers[name] = take(rows * inputs * 4);
      // Each weight has a stream of its own; sqrt(3 / n) is the bound of a uniform spread of 1 / sqrt(n).
      heap.call((core) => core.fillUniform(seed, i, Math.sqrt(3 / inputs), pointers[name], rows * inputs));
    });
    return pointers;
  }
  if (options.seed !== undefined)
    throw new ArgumentRangeError(where, 'seed', options.seed, 'and weights exclude each other; give one of them');
  const weights = check.options<AttentionLayerWeights>(where, 'weights', options.weights, Object.keys(pointers));
  const place = (name: keyof CoreWeights, length: number) => {
    const data = check.float32(where, `weights.${name}`, weights[name], length);
    pointers[name] = take(data.byteLength);
    heap.write(pointers[name], data);
  };
  for (const name of names) {
    place(name, sizes[name].rows * sizes[name].inputs);
    if (weights[`${name}Bias`] !== undefined) place(`${name}Bias`, sizes[name].rows);
  }
  return pointers;
}

/**
 * Multi-head self-attention with its four projections, made by `rw.attentionLayer()`.
 *
 * @example
 * using layer = rw.attentionLayer({ modelDim: 64, heads: 4, position: { encoding: 'rope' }, causal: true, seed: 7 });
 * const { out, scores } = layer.forward({ data, shape: [1, 10, 64] }, { returnScores: 'probabilities' });
 * // out.shape [1, 10, 64], scores.shape [1, 4, 10, 10]
 */
export class AttentionLayer extends Handle {
  readonly modelDim: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly causal: boolean;
  /** Which encoding the layer was made with. */
  readonly encoding: Encoding;
  readonly #layer: CoreAttentionLayer;
  readonly #rope: RopePlan | undefined;
  readonly #table: Omit<SinusoidalOptions, 'positions'> | undefined;

  /** @internal */
  constructor(heap: Heap, options: AttentionLayerOptions) {
    const where = 'attentionLayer';
    const known = ['modelDim', 'heads', 'kvHeads', 'headDim', 'position', 'causal', 'weights', 'seed'];
    const given = check.options<AttentionLayerOptions>(where, 'options', options, known);
    const dims = dimsOf(where, given);
    const causal = check.boolean(where, 'causal', given.causal ?? false);
    const position = given.position ?? { encoding: 'none' };
    if (typeof position !== 'object' || position === null) {
      throw new ArgumentTypeError(where, 'position', position, "an object such as { encoding: 'rope' }");
    }
    check.choice(where, 'position.encoding', position.encoding, encodings);
    const { encoding, ...own } = position;
    const size = { rope: 'headDim', sinusoidal: 'dim', none: '' }[encoding];
    if (size in own)
      throw new ArgumentRangeError(where, `position.${size}`, own, 'is not an option; it follows from the layer');
    let rope: RopePlan | undefined;
    let table: Omit<SinusoidalOptions, 'positions'> | undefined;
    if (encoding === 'rope') rope = new RopePlan(heap, { ...own, headDim: dims.headDim }).adopted();
    else if (encoding === 'sinusoidal') {
      check.options(
        where,
        'position',
        own,
        tableOptions.filter((name) => name !== 'dim'),
      );
      table = { ...own, dim: dims.modelDim };
      sinusoidal(heap, { ...table, positions: [] }); // checks the options now, not at the first pass
    } else check.options(where, 'position', own, []);

    const layer = heap.construct(where, (core) => new core.AttentionLayer());
    try {
      heap.scope(where, (take) => {
        const weights = placeWeights(heap, where, given, dims, take);
        checkStatus(
          heap.call(() => layer.create(dims, weights)),
          where,
        );
      });
    } catch (error) {
      heap.destroy(layer);
      rope?.dispose();
      throw error;
    }
    super(heap, destroyer(heap, layer, rope));
    this.#layer = layer;
    this.#rope = rope;
    this.#table = table;
    this.modelDim = dims.modelDim;
    this.heads = dims.heads;
    this.kvHeads = dims.kvHeads;
    this.headDim = dims.headDim;
    this.causal = causal;
    this.encoding = encoding;
  }

  /**
   * One pass. `out` has x's shape; `scores` [B, H, T, T] are the attention weights, if asked for.
   *
   * @param x [T, modelDim] or [B, T, modelDim]; it is not changed.
   * @throws ArgumentRangeError where sizes do not fit; StateError after dispose().
   */
  forward<S extends 'none' | 'probabilities' = 'none'>(
    x: Tensor,
    options?: ForwardOptions<S>,
  ): AttentionResult<Tensor, S>;
  forward<S extends 'none' | 'probabilities' = 'none'>(
    x: Exclude<TensorInput, Tensor>,
    options?: ForwardOptions<S>,
  ): AttentionResult<NdArray, S>;
  forward(x: TensorInput, options: ForwardOptions = {}): AttentionResult<Tensor | NdArray, 'none' | 'probabilities'> {
    const where = 'attentionLayer.forward';
    this.alive(where);
    check.options(where, 'options', options, ['offset', 'positions', 'mask', 'returnScores']);
    const input = operand(this.heap, where, 'x', x);
    const rank = input.shape.length;
    if ((rank !== 2 && rank !== 3) || input.shape.at(-1) !== this.modelDim) {
      throw new ArgumentRangeError(
        where,
        'x',
        x,
        `has shape [${input.shape.join(', ')}]; expected [T, ${this.modelDim}] or [B, T, ${this.modelDim}]`,
      );
    }
    const batch = input.shape.at(-3) ?? 1;
    const tokens = input.shape.at(-2) ?? 1;
    const at = places(where, options, batch, tokens, this.#rope?.axes ?? 1);
    if (at.perBatch && this.#table !== undefined) {
      throw new ArgumentRangeError(
        where,
        'positions',
        options.positions,
        `has ${batch * tokens} entries; a sinusoidal layer takes one position per token, ${tokens}`,
      );
    }
    const scores = [batch, this.heads, tokens, tokens] as const;
    const keep = keepMask(this.heap, where, options.mask, scores);
    const wantsScores =
      check.choice(where, 'returnScores', options.returnScores ?? 'none', { none: 0, probabilities: 1 }) !== 0;
    const table =
      this.#table &&
      sinusoidal(this.heap, { ...this.#table, positions: at.values ?? { length: tokens, offset: at.offset } });

    const shapes: Named<'scores', readonly number[]> = wantsScores
      ? { out: input.shape, scores }
      : { out: input.shape };
    return outputs(this.heap, where, input.tensor !== undefined, shapes, (results, take) => {
      const added = table === undefined ? 0 : take(table.byteLength);
      if (table !== undefined) this.heap.write(added, table);
      const call = {
        out: results.out,
        probabilities: results.scores ?? 0,
        positions: at.place(this.heap, take),
        input: { x: input.place(take), batch, tokens, added, causal: this.causal, keep: keep(take) },
      };
      this.alive(where);
      checkStatus(
        this.heap.call(() => this.#layer.forward(call, this.#rope?.plan ?? null)),
        where,
      );
    });
  }
}
