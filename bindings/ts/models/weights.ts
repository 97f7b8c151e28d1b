// The weights of a loaded model in wasm memory: layers, tables and heads. Models that differ only in their position
// encoding share them; they are freed with the last of these models.
import type { Linear, LogitsHead, NormLayer, PackedMatrix, TokenVectors } from '../core.mjs';
import { BlockLinear, WeightType } from '../enums.js';
import { activations } from '../layers/activations.js';
import {
  copyOf,
  type LayerExperts,
  TransformerLayer,
  type TransformerLayerWeights,
} from '../layers/transformer-layer.js';
import { PackedWeight, weight } from '../layers/weights.js';
import type { Heap } from '../runtime/heap.js';
import type { ModelConfig } from './config.js';
import {
  type FeedForwardSlots,
  type GatedMaps,
  isMatrix,
  type LayerMaps,
  type LayerSlots,
  type LinearSlots,
  type MatrixSlot,
  type ModelSlots,
  type VectorSlot,
} from './description/slots.js';
import { PartMaker } from './parts.js';

/** BERT's distance vectors of one layer. */
interface DistanceTable {
  readonly data: Float32Array;
  readonly shape: readonly [rows: number, columns: number];
}

/** The parts of a model except its position encoding. @internal */
export interface ModelParts {
  readonly vectors: TokenVectors;
  readonly layers: readonly TransformerLayer[];
  readonly distances: readonly (DistanceTable | undefined)[];
  readonly finalNorm: NormLayer | undefined;
  readonly pooler: Linear | undefined;
  readonly head: LogitsHead | undefined;
}

/** Parts with a count of the models that use them; freed with the last. @internal */
export class ModelWeights {
  readonly parts: ModelParts;
  readonly bytes: number;
  readonly #heap: Heap;
  readonly #owned: Owned;
  #users = 0;

  constructor(heap: Heap, parts: ModelParts, owned: Owned) {
    this.#heap = heap;
    this.parts = parts;
    this.#owned = owned;
    this.bytes = [...owned.layers, ...owned.objects].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Adds a user. */
  retain(): this {
    this.#users += 1;
    return this;
  }

  /** Removes a user; the last one frees the parts. */
  release(): void {
    this.#users -= 1;
    if (this.#users === 0) freeOwned(this.#heap, this.#owned);
  }
}

/** An object of the core that holds weights. */
interface CoreWeights {
  readonly bytes: number;
  delete(): void;
}

/** The objects that are freed together. */
interface Owned {
  readonly layers: TransformerLayer[];
  readonly objects: CoreWeights[];
}

function freeOwned(heap: Heap, { layers, objects }: Owned): void {
  for (const each of layers) each.dispose();
  for (const each of objects) heap.destroy(each);
}

/** Frees the matrices in slots, for a model that could not be made. @internal */
export function freeSlots(heap: Heap, slots: Iterable<MatrixSlot | VectorSlot>): void {
  for (const slot of slots) {
    if (!isMatrix(slot) || slot.packed === undefined) continue;
    heap.destroy(slot.packed);
    slot.packed = undefined;
  }
}

// sqrt(M) rounded to the dtype of the token vectors in the file: Hugging Face multiplies in that type.
function tokenScale({ scaledEmbeddings, embeddingScale, modelDim }: ModelConfig, dtype: string): number {
  if (!scaledEmbeddings) return embeddingScale ?? 1;
  const root = Math.fround(Math.sqrt(modelDim));
  if (dtype !== 'BF16' && dtype !== 'F16') return root;
  const steps = dtype === 'BF16' ? 2 ** 7 : 2 ** 10; // between 1 and 2
  const unit = 2 ** Math.floor(Math.log2(root)) / steps;
  const [below, rest] = [Math.floor(root / unit), (root / unit) % 1];
  const up = rest > 0.5 || (rest === 0.5 && below % 2 === 1);
  return (below + (up ? 1 : 0)) * unit;
}

/** Makes the parts from filled slots, which are emptied. @internal */
export function modelWeights(
  heap: Heap,
  where: string,
  config: ModelConfig,
  slots: ModelSlots,
  tokenDtype: string,
): ModelWeights {
  const owned: Owned = { layers: [], objects: [] };
  const kept = <T extends CoreWeights>(made: T): T => {
    owned.objects.push(made);
    return made;
  };
  const make = new PartMaker(heap, where, config);
  try {
    const vectors = kept(make.vectors(slots, tokenScale(config, tokenDtype)));
    const parts: ModelParts = {
      vectors,
      layers: slots.layers.map((layer, i) => {
        const made = layerOf(heap, config, layer, i);
        owned.layers.push(made);
        return made;
      }),
      distances: slots.layers.map(({ distances }) => distances && distancesOf(heap, where, distances)),
      finalNorm: slots.finalNorm && kept(make.norm(slots.finalNorm)),
      pooler: slots.pooler && kept(make.linear(slots.pooler)),
      head: slots.head && kept(make.head(slots.head, vectors)),
    };
    return new ModelWeights(heap, parts, owned);
  } catch (error) {
    freeOwned(heap, owned);
    throw error;
  }
}

/** The numbers of a table of distances. @internal */
export function distancesOf(heap: Heap, where: string, slot: VectorSlot): DistanceTable {
  const { data, type, rows, columns } = slot;
  const tensor = copyOf(heap, where, weight(heap, where, 'table', { data, type }, [1, rows * columns]));
  const table = { data: tensor.data(), shape: [rows, columns] as const };
  tensor.dispose();
  return table;
}

// The size and maps of the feed-forward part, by the names of this package's layers.
function feedForwardOf(part: FeedForwardSlots): { hiddenDim: number; maps: LayerMaps } {
  switch (part.kind) {
    case 'dense':
      return { hiddenDim: part.up.weight.rows, maps: { up: part.up, down: part.down } };
    case 'gated':
      return { hiddenDim: part.up.weight.rows, maps: { gate: part.gate, up: part.up, down: part.down } };
    case 'experts':
      return { hiddenDim: part.experts[0]?.up.weight.rows ?? 1, maps: {} };
  }
}

// Moves the maps of experts, which have no biases, into the parts of a layer.
function expertsOf(heap: Heap, where: string, part: FeedForwardSlots, activation: number): LayerExperts | undefined {
  if (part.kind !== 'experts') return undefined;
  const { router, experts, chosen, normalized, sigmoid } = part;
  return {
    chosen,
    normalize: normalized,
    sigmoid,
    put(parts) {
      const move = (name: 'router' | keyof GatedMaps, { weight }: LinearSlots) => {
        const matrix = weight.packed as PackedMatrix;
        heap.run(where, () => parts.setLinear(BlockLinear[name], matrix, WeightType.float32, 0));
        freeSlots(heap, [weight]);
      };
      // Each is put before those that come next.
      for (let i = experts.length - 1; i >= 0; --i) {
        for (const [name, map] of Object.entries(experts[i] as GatedMaps)) move(name as keyof GatedMaps, map);
        if (i > 0) heap.run(where, () => parts.addExpert(activation));
      }
      move('router', router);
    },
  };
}

function layerOf(heap: Heap, config: ModelConfig, slots: LayerSlots, i: number): TransformerLayer {
  const window = config.layers[i]?.window;
  const { hiddenDim, maps } = feedForwardOf(slots.feedForward);
  const named = new Map<string, MatrixSlot | VectorSlot>();
  for (const [name, { weight, bias }] of Object.entries({ ...slots.maps, ...maps })) {
    named.set(name, weight);
    if (bias !== undefined) named.set(`${name}Bias`, bias);
  }
  const given = [...named].map(([name, slot]) => [
    name,
    isMatrix(slot)
      ? new PackedWeight(slot.packed as PackedMatrix, [slot.rows, slot.columns])
      : { data: slot.data, type: slot.type },
  ]);
  const { kind, modelDim, heads, kvHeads, headDim, scale, softcap, norms, norm, eps, unitOffset } = config;
  const { activation, residualScale, queryKeyNorm } = config;
  const where = kind === 'decoder' ? 'decoderLayer' : 'encoderLayer';
  const experts = expertsOf(heap, where, slots.feedForward, activations[activation]);
  const options = {
    modelDim,
    hiddenDim,
    heads,
    kvHeads,
    headDim,
    scale,
    norms,
    norm,
    eps,
    unitOffset,
    ownHeadNorms: queryKeyNorm === 'own weights',
    activation,
    ...(softcap !== undefined && { softcap }),
    ...(residualScale !== undefined && { residualScale }),
    ...(window !== undefined && { window: { left: window - 1, ...(kind !== 'decoder' && { right: window - 1 }) } }),
    weights: Object.fromEntries(given) as unknown as TransformerLayerWeights,
  };
  const layer = new TransformerLayer(heap, where, options, experts);
  freeSlots(heap, named.values()); // the layer has taken over the matrices; these objects are empty
  return layer.adopted();
}
