// The decoder behind an encoder. In each of its layers the target attends to itself, over a KV cache, then to the source, by
// keys and values that are computed once, and goes through a feed-forward part; each of the three has a norm. The products,
// norms and attention are the core's; sums of rows and gates are computed here.
import { keepMask, type Masking } from '../attention/mask.js';
import { type Bounds, putVisibility, visibilityOf } from '../attention/visibility.js';
import { AppendCall, AttentionCall, type KeepMask, TokenVectorsCall } from '../calls.js';
import type { Linear, LogitsHead, NormLayer, TokenVectors } from '../core.mjs';
import { activations } from '../layers/activations.js';
import { attentionShapes, type CheckedPosition } from '../layers/position.js';
import * as check from '../runtime/check.js';
import { Handle } from '../runtime/handle.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type NdArray, Tensor } from '../runtime/tensor.js';
import type { ModelKvCache } from './cache.js';
import type { ModelConfig } from './config.js';
import type { DistanceBiases } from './description/family.js';
import type { CrossLayerSlots, DecoderSlots, FeedForwardSlots, LinearSlots, NormSlots } from './description/slots.js';
import { type Ids, perToken } from './ids.js';
import { headLogits, room } from './model.js';
import { PartMaker } from './parts.js';
import { sharedBiases } from './positions.js';
import type { Steps } from './run.js';
import type { CachedLayer } from './stack.js';
import { distancesOf } from './weights.js';

/** The four maps of attention. */
interface AttentionMaps {
  readonly query: Linear;
  readonly key: Linear;
  readonly value: Linear;
  readonly output: Linear;
}

/** A layer in the core. */
interface CrossLayer {
  readonly own: AttentionMaps;
  readonly ownNorm: NormLayer;
  readonly cross: AttentionMaps;
  readonly crossNorm: NormLayer;
  readonly gate: Linear | undefined;
  readonly up: Linear;
  readonly down: Linear;
  readonly feedForwardNorm: NormLayer;
}

/** An encoder's output, as the layers of a decoder attend to it: keys and values [layers, 2, B, S, G * D]. @internal */
export interface Source {
  readonly batch: number;
  readonly tokens: number;
  readonly keep: Masking<KeepMask>;
  readonly keysAndValues: Tensor;
}

/** What a pass gives. @internal */
export interface Decoded {
  readonly logits?: NdArray;
  readonly crossProbabilities?: readonly NdArray[];
}

/** What a pass is asked for. @internal */
export interface Wanted {
  readonly logits: 'last' | 'all' | 'none';
  readonly crossProbabilities?: boolean;
}

/** The parts of a decoder. @internal */
export interface DecoderMaking {
  readonly heap: Heap;
  readonly where: string;
  /** Of the decoder alone. */
  readonly config: ModelConfig;
  readonly slots: DecoderSlots;
  /** Shared with the encoder, which owns them. */
  readonly vectors: TokenVectors;
  readonly biases: DistanceBiases | undefined;
}

const allKeys = { causal: false, left: -1, right: -1, sinkTokens: 0 };
const earlierKeys = { ...allKeys, causal: true };

/** The layers and the head. @internal */
export class CrossDecoder extends Handle {
  /** What caches of its layers have to fit. */
  readonly layers: readonly CachedLayer[];
  /** Bytes of its weights, without the token vectors. */
  readonly bytes: number;
  readonly #config: ModelConfig;
  readonly #vectors: TokenVectors;
  readonly #parts: readonly CrossLayer[];
  readonly #finalNorm: NormLayer | undefined;
  readonly #head: LogitsHead;

  constructor({ heap, where, config, slots, vectors, biases }: DecoderMaking) {
    const owned: { readonly bytes: number; delete(): void }[] = [];
    const tables: Handle[] = [];
    const free = freer(heap, owned, tables);
    const kept = <T extends { readonly bytes: number; delete(): void }>(made: T): T => {
      owned.push(made);
      return made;
    };
    const make = new PartMaker(heap, where, config);
    const linear = (slot: LinearSlots) => kept(make.linear(slot));
    let made: { layers: CachedLayer[]; parts: CrossLayer[]; finalNorm: NormLayer | undefined; head: LogitsHead };
    try {
      const parts = slots.layers.map((layer) => partsOf(layer, linear, (slot) => kept(make.norm(slot))));
      const finalNorm = slots.finalNorm && kept(make.norm(slots.finalNorm));
      const head = kept(make.head(slots.head, vectors));
      made = { layers: layersOf(heap, where, config, slots, biases, tables), parts, finalNorm, head };
    } catch (error) {
      free();
      throw error;
    }
    super(heap, free);
    this.layers = made.layers;
    this.bytes = owned.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#config = config;
    this.#vectors = vectors;
    this.#parts = made.parts;
    this.#finalNorm = made.finalNorm;
    this.#head = made.head;
  }

  /** Keys and values of an encoder's output [B, S, M], of whose tokens `mask` hides some. The caller disposes of them. */
  source(where: string, { data }: NdArray, ids: Ids, mask: { data: Uint8Array; shape: number[] } | undefined): Source {
    const { heap } = this;
    const { batch, tokens } = ids;
    const { heads, kvHeads, headDim } = this.#config;
    const keep = keepMask(heap, where, mask, [batch, heads, 1, tokens]);
    const width = kvHeads * headDim;
    const keysAndValues = new Tensor(heap, [this.#parts.length, 2, batch, tokens, width], where);
    try {
      heap.scope(where, (scratch) => {
        const hidden = heap.put(scratch, data);
        for (const [i, { cross }] of this.#parts.entries()) {
          const rows = batch * tokens;
          const at = keysAndValues.pointer + 2 * i * rows * width * 4;
          heap.call(() => cross.key.apply(at, hidden, rows, -1));
          heap.call(() => cross.value.apply(at + rows * width * 4, hidden, rows, -1));
        }
      });
    } catch (error) {
      keysAndValues.dispose();
      throw error;
    }
    return { batch, tokens, keep, keysAndValues };
  }

  /** Appends tokens to a cache and gives their logits [B, T, V], or [B, V] of the last. */
  *pass(where: string, ids: Ids, source: Source, cache: ModelKvCache, wanted: Wanted): Steps<Decoded> {
    const { heap } = this;
    const { modelDim, heads, kvHeads, headDim, layers, vocabSize, norms, activation } = this.#config;
    const { batch, tokens, shape } = ids;
    const rows = batch * tokens;
    const hiddenDim = Math.max(...layers.map(({ feedForward }) => feedForward.hiddenDim));
    const all = wanted.logits === 'all';
    const logits =
      wanted.logits === 'none' ? undefined : room(where, [...(all ? shape : shape.slice(0, -1)), vocabSize]);
    const crossProbabilities: NdArray[] = [];
    // x, what a part reads, what it gives, and its own numbers: queries, keys, values and context, or two of the feed-forward.
    const [model, query, key] = [modelDim, heads * headDim, kvHeads * headDim].map((size) => rows * size * 4) as [
      number,
      number,
      number,
    ];
    const x = heap.allocate(3 * model + Math.max(2 * query + 2 * key, 2 * rows * hiddenDim * 4), where);
    const [read, branch, work] = [x + model, x + 2 * model, x + 3 * model];
    const apply = (map: Linear, to: number, from: number, activation = -1) =>
      heap.call(() => map.apply(to, from, rows, activation));
    const combine = (to: number, from: number, size: number, of: (a: number, b: number) => number) => {
      const [a, b] = [heap.floats(to, size), heap.floats(from, size)];
      for (let n = 0; n < size; ++n) a[n] = of(a[n] as number, b[n] as number);
    };
    // x + part(norm(x)), or norm(x + part(x)).
    const add = (norm: NormLayer, part: (to: number, from: number) => void) => {
      const isPre = norms === 'pre';
      if (isPre) heap.call(() => norm.apply(read, x, rows));
      part(branch, isPre ? read : x);
      combine(x, branch, rows * modelDim, (a, b) => a + b);
      if (!isPre) heap.call(() => norm.apply(x, x, rows));
    };
    const shapes = { batch, heads, kvHeads, queries: tokens, headDim, valueDim: headDim, tokensFirst: true };
    try {
      this.#embed(where, x, ids, cache.length);
      for (const [i, part] of this.#parts.entries()) {
        add(part.ownNorm, (to, from) => {
          const [keys, values, context] = [work + query, work + query + key, work + query + 2 * key];
          apply(part.own.query, work, from);
          apply(part.own.key, keys, from);
          apply(part.own.value, values, from);
          this.#attendOwn(where, i, cache, { ...shapes, out: context, q: work, k: keys, v: values });
          apply(part.own.output, to, context);
        });
        add(part.crossNorm, (to, from) => {
          const context = work + query;
          apply(part.cross.query, work, from);
          const scores = wanted.crossProbabilities ? [batch, heads, tokens, source.tokens] : undefined;
          const seen = this.#attendSource(where, i, source, { ...shapes, out: context, q: work }, scores);
          if (seen) crossProbabilities.push({ data: seen, shape: (scores as number[]).slice(2 - shape.length) });
          apply(part.cross.output, to, context);
        });
        // down(act(up x)), or down(act(gate x) * up x)
        add(part.feedForwardNorm, (to, from) => {
          const { gate, up, down } = part;
          const size = rows * (layers[i]?.feedForward.hiddenDim ?? 0);
          apply(gate ?? up, work, from, activations[activation]);
          if (gate !== undefined) {
            apply(up, work + size * 4, from);
            combine(work, work + size * 4, size, (a, b) => a * b);
          }
          apply(down, to, work);
        });
        yield { loaded: i + 1, total: this.#parts.length };
      }
      heap.call(() => this.#finalNorm?.apply(x, x, rows));
      if (logits !== undefined) {
        const count = all ? tokens : 1;
        for (let b = 0; b < batch; ++b) {
          const at = x + ((b + 1) * tokens - count) * modelDim * 4;
          yield* headLogits(heap, where, this.#head, this.#config, { at, count }, logits.data, b * count * vocabSize);
        }
      }
      return { ...(logits && { logits }), ...(wanted.crossProbabilities && { crossProbabilities }) };
    } finally {
      heap.release(x);
    }
  }

  #embed(where: string, out: number, ids: Ids, first: number): void {
    const { heap } = this;
    const { batch, tokens, values } = ids;
    const hasTable = this.#config.position === 'absolute';
    const positions =
      hasTable &&
      perToken(
        Float64Array.from({ length: tokens }, (_, t) => first + t),
        ids,
      );
    heap.scope(where, (scratch) => {
      const fields = heap.putCall(scratch, TokenVectorsCall, {
        ...{ out, batch, tokens },
        ids: heap.put(scratch, values),
        ...(positions && { positions: heap.put(scratch, positions) }),
      });
      heap.run(where, () => this.#vectors.embed(fields));
    });
  }

  // Attention of the queries over the cache, to which keys and values are added.
  #attendOwn(where: string, i: number, caches: ModelKvCache, call: AttentionOver & { k: number; v: number }): void {
    const { heap } = this;
    const cache = caches.layers[i]?.use(where).core;
    if (cache === undefined) return;
    const { k, v, ...queries } = call;
    heap.scope(where, (scratch) => {
      const added = heap.putCall(scratch, AppendCall, { k, v, tokens: queries.queries, tokensFirst: true });
      heap.run(where, () => cache.append(added));
      const fields = this.#fields(where, scratch, i, earlierKeys, { ...queries, keys: cache.length, scores: {} }, {});
      heap.run(where, () => cache.attend(fields, true));
    });
  }

  // Attention of the queries over the source; gives the probabilities where their shape is.
  #attendSource(where: string, i: number, source: Source, call: AttentionOver, shape: readonly number[] | undefined) {
    const { heap } = this;
    const { keysAndValues, tokens: keys } = source;
    const size = keysAndValues.size / (2 * this.#parts.length);
    const k = keysAndValues.pointer + 2 * i * size * 4;
    return heap.scope(where, (scratch) => {
      const count = shape === undefined ? 0 : check.sizeOf(shape);
      const probabilities = shape && scratch(count * 4);
      const scores = { ...(probabilities && { probabilities, slotCount: call.heads }) };
      const over = { ...call, ...{ k, v: k + size * 4, keys, scores } };
      const fields = this.#fields(where, scratch, i, allKeys, over, { keep: source.keep(scratch) });
      heap.run(where, (core) => core.attention(fields));
      return probabilities && heap.readFloats(probabilities, count);
    });
  }

  // A call of attention: over the source with its mask, or over earlier tokens with what the layers add to scores.
  #fields(
    where: string,
    scratch: Scratch,
    i: number,
    bounds: Bounds,
    call: Omit<AttentionCall, 'visibility' | 'options'>,
    mask: { keep?: KeepMask | undefined },
  ): number {
    const { heap } = this;
    const { dims, scores, position } = this.layers[i] as CachedLayer;
    const { batch, queries, keys } = call;
    const heads = { tokensFirst: true, batch, heads: dims.heads, tokens: queries, dim: dims.headDim };
    const visibility = visibilityOf(where, bounds, { queryOffset: 0 }, heads, { ...heads, tokens: keys });
    const own = bounds.causal && position.part(attentionShapes(dims, batch, queries, keys, visibility), scratch);
    return heap.putCall(scratch, AttentionCall, {
      ...call,
      visibility: putVisibility(heap, visibility, scratch),
      options: { scale: scores.scale, softcap: 0, ...mask, ...own },
    });
  }
}

/** Queries of a layer, and where their contexts go. */
type AttentionOver = Omit<AttentionCall, 'k' | 'v' | 'keys' | 'visibility' | 'options' | 'scores'>;

function freer(heap: Heap, owned: readonly { delete(): void }[], tables: readonly Handle[]): () => void {
  return () => {
    for (const each of owned) heap.destroy(each);
    for (const table of tables) table.dispose();
  };
}

function partsOf(
  { maps, cross, feedForward }: CrossLayerSlots,
  linear: (slot: LinearSlots) => Linear,
  norm: (slot: NormSlots) => NormLayer,
): CrossLayer {
  const attention = (from: Readonly<Record<string, LinearSlots | NormSlots>>) => {
    const map = (name: keyof AttentionMaps) => linear(from[name] as LinearSlots);
    return { query: map('query'), key: map('key'), value: map('value'), output: map('output') };
  };
  const { gate, up, down } = feedForward as Partial<Extract<FeedForwardSlots, { kind: 'gated' }>> &
    Extract<FeedForwardSlots, { kind: 'dense' }>;
  return {
    own: attention(maps),
    ownNorm: norm(maps.attentionNorm as NormSlots),
    cross: attention(cross),
    crossNorm: norm(cross.norm),
    gate: gate && linear(gate),
    up: linear(up),
    down: linear(down),
    feedForwardNorm: norm(maps.feedForwardNorm as NormSlots),
  };
}

function layersOf(
  heap: Heap,
  where: string,
  config: ModelConfig,
  { layers }: DecoderSlots,
  biases: DistanceBiases | undefined,
  owned: Handle[],
): CachedLayer[] {
  const { modelDim, heads, kvHeads, headDim, scale } = config;
  const scores = { visibility: earlierKeys, scale, softcap: 0, turnValues: false };
  let position: CheckedPosition = { encoding: 'none', rope: undefined, owned: [], part: () => ({}) };
  return layers.map(({ distances: table }, i) => {
    if (biases && (table || i === 0)) {
      position = sharedBiases(heap, where, config, biases, table && distancesOf(heap, where, table).data, owned);
    }
    return { dims: { modelDim, heads, kvHeads, headDim, valueDim: headDim }, scores, position };
  });
}
