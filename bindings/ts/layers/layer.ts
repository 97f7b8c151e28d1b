// The base of layers with attention: sizes, a cache that fits, passes.

import type { KvCache } from '../kv-cache/kv-cache.js';
import { StateError } from '../runtime/errors.js';
import { Handle } from '../runtime/handle.js';
import type { Heap } from '../runtime/heap.js';
import type { Out } from '../runtime/outputs.js';
import type { TensorInput } from '../runtime/tensor.js';
import { type LayerCacheOptions, layerCache } from './cache.js';
import type { CaptureName } from './capture.js';
import { type ForwardOptions, type PassLayer, pass } from './pass.js';

/** A layer as its own class has made it. @internal */
export interface MadeLayer extends Omit<PassLayer, 'heap' | 'where' | 'alive'> {
  /** Bytes of the weights as they are kept. */
  readonly bytes: number;
  /** Frees all that it owns. */
  free(): void;
}

/** A layer with attention: what AttentionLayer and TransformerLayer have in common. */
export abstract class Layer extends Handle {
  /** M, width of the input and the output. */
  readonly modelDim: number;
  /** H, query heads. */
  readonly heads: number;
  /** G, key/value heads. */
  readonly kvHeads: number;
  /** D, size of a query's and a key's head. */
  readonly headDim: number;
  /** Dv, size of a value's head. */
  readonly valueDim: number;
  /** Whether keys at later positions than the query are hidden. */
  readonly causal: boolean;
  /** Bytes of the weights as they are kept. */
  readonly bytes: number;
  readonly #kind: string;
  readonly #pass: PassLayer;

  /** @internal */
  protected constructor(heap: Heap, kind: string, { bytes, free, ...layer }: MadeLayer) {
    super(heap, free);
    const where = `${kind}.forward`;
    this.#kind = kind;
    this.#pass = { ...layer, heap, where, alive: () => this.alive(where) };
    this.modelDim = layer.dims.modelDim;
    this.heads = layer.dims.heads;
    this.kvHeads = layer.dims.kvHeads;
    this.headDim = layer.dims.headDim;
    this.valueDim = layer.dims.valueDim;
    this.causal = layer.scores.visibility.causal;
    this.bytes = bytes;
  }

  /**
   * What a pass is made with: a model brings position encodings of its own to it.
   * @internal
   */
  get passLayer(): PassLayer {
    return this.#pass;
  }

  /**
   * A KV cache of the layer's sizes, for forward's `cache`; the layer's plan rotates its keys. The caller disposes of it.
   *
   * @example
   * using cache = layer.kvCache({ batch: 1, capacity: 4096 });
   * for (const chunk of chunks) layer.forward(chunk, { cache });
   */
  kvCache(options: LayerCacheOptions = {}): KvCache {
    const { dims, scores, position } = this.#pass;
    const where = `${this.#kind}.kvCache`;
    this.alive(where);
    if (scores.turnValues) throw new StateError(`${where} is not for layers with turnValues`);
    return layerCache(this.heap, where, dims, position, options);
  }

  /** What errors of a pass call it. @internal */
  protected get where(): string {
    return this.#pass.where;
  }

  /**
   * A pass with options that were read; there were so many changes of caches before.
   * @internal
   */
  protected pass(x: TensorInput, options: ForwardOptions<readonly CaptureName[], Out>, changes: number) {
    return pass(this.#pass, x, options, changes);
  }
}
