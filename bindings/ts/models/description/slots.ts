// Slots for the tensors of a checkpoint, filled while the file is read, and the rows of the tensors that fill
// them. A fused tensor, such as queries, keys and values in one, fills several.
import type { PackedMatrix } from '../../core.mjs';
import type { WeightType } from '../../layers/weights.js';
import { SafetensorsError } from '../../runtime/errors.js';
import type { Safetensors } from '../../safetensors/file.js';
import type { ModelFeedForward } from './description.js';

/** A matrix [rows, columns]; packed slice by slice as its rows come. @internal */
export interface MatrixSlot {
  readonly rows: number;
  readonly columns: number;
  packed: PackedMatrix | undefined;
}

/** A vector, or a small table; kept as it comes until the layer takes it. @internal */
export interface VectorSlot {
  readonly rows: number;
  /** 1, but for a table. */
  readonly columns: number;
  data: Float32Array | Uint16Array | undefined;
  type: WeightType;
}

/** Rows first ... first + count - 1 of a slot. @internal */
export interface Run {
  readonly slot: MatrixSlot | VectorSlot;
  readonly first: number;
  readonly count: number;
}

/** What a tensor has to be, and where its rows go, in order. @internal */
export interface Destination {
  readonly shape: readonly number[];
  readonly runs: readonly Run[];
}

/** An affine map. @internal */
export interface LinearSlots {
  readonly weight: MatrixSlot;
  readonly bias?: VectorSlot;
}

/** A norm. @internal */
export interface NormSlots {
  readonly weight: VectorSlot;
  readonly bias?: VectorSlot;
}

interface FeedForwardMaps {
  readonly dense: { readonly up: LinearSlots; readonly down: LinearSlots };
  readonly gated: { readonly gate: LinearSlots; readonly up: LinearSlots; readonly down: LinearSlots };
}

/** The feed-forward part of a layer, by its kind. @internal */
export type FeedForwardSlots = {
  [K in ModelFeedForward['kind']]: { readonly kind: K } & FeedForwardMaps[K];
}[ModelFeedForward['kind']];

/** Maps and norms under the names that a layer of this package has for them. @internal */
export type LayerMaps = Readonly<Record<string, LinearSlots | NormSlots>>;

/** A layer. @internal */
export interface LayerSlots {
  /** All but the feed-forward part. */
  readonly maps: LayerMaps;
  readonly feedForward: FeedForwardSlots;
  /** BERT's vectors of distances. */
  readonly distances?: VectorSlot;
}

/** All of a model. @internal */
export interface ModelSlots {
  readonly tokens: MatrixSlot;
  readonly positions?: MatrixSlot;
  readonly tokenTypes?: MatrixSlot;
  readonly embeddingNorm?: NormSlots;
  /** From the width of token vectors to the model's. */
  readonly projection?: LinearSlots;
  readonly layers: readonly LayerSlots[];
  readonly finalNorm?: NormSlots;
  readonly pooler?: LinearSlots;
  /** What gives logits; without a matrix of its own it takes the token vectors. */
  readonly head?: {
    readonly transform?: LinearSlots;
    readonly norm?: NormSlots;
    readonly weight?: MatrixSlot;
    readonly bias?: VectorSlot;
  };
}

/** @internal */
export function isMatrix(slot: MatrixSlot | VectorSlot): slot is MatrixSlot {
  return 'packed' in slot;
}

const floats = ['F32', 'F16', 'BF16'];

function shapeText(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`;
}

/** The tensors of one checkpoint by name, as an architecture asks for them. @internal */
export class Names {
  readonly destinations: Map<string, Destination>;
  readonly #file: Safetensors;
  readonly #prefix: string;

  /** The prefix is the first one with which the file has the tensor `anchor`; where none fits, the first of all. */
  constructor(file: Safetensors, prefixes: readonly string[], anchor: string, destinations = new Map()) {
    this.#file = file;
    this.destinations = destinations;
    this.#prefix = prefixes.find((prefix) => file.has(prefix + anchor)) ?? prefixes[0] ?? '';
  }

  /** Those whose names begin so. */
  within(prefix: string): Names {
    return new Names(this.#file, [this.#prefix + prefix], '', this.destinations);
  }

  has(name: string): boolean {
    return this.#file.has(this.#prefix + name);
  }

  matrix(name: string, rows: number, columns: number): MatrixSlot {
    const slot = matrixSlot(rows, columns);
    this.fused(name, [rows, columns], [{ slot, first: 0, count: rows }]);
    return slot;
  }

  vector(name: string, length: number): VectorSlot {
    const slot = vectorSlot(length);
    this.fused(name, [length], [{ slot, first: 0, count: length }]);
    return slot;
  }

  table(name: string, rows: number, columns: number): VectorSlot {
    const slot = vectorSlot(rows, columns);
    this.fused(name, [rows, columns], [{ slot, first: 0, count: rows }]);
    return slot;
  }

  /** `name.weight` [rows, columns] and, where there is one, `name.bias`. */
  linear(name: string, rows: number, columns: number, hasBias = true): LinearSlots {
    const weight = this.matrix(`${name}.weight`, rows, columns);
    return hasBias ? { weight, bias: this.vector(`${name}.bias`, rows) } : { weight };
  }

  /** `name.weight` and `name.bias`, which checkpoints made from TensorFlow's call gamma and beta. */
  norm(name: string, length: number, hasBias: boolean): NormSlots {
    const [gamma, beta] = [`${name}.gamma`, `${name}.beta`].map((old) => this.has(old)) as [boolean, boolean];
    const weight = this.vector(gamma ? `${name}.gamma` : `${name}.weight`, length);
    return hasBias ? { weight, bias: this.vector(beta ? `${name}.beta` : `${name}.bias`, length) } : { weight };
  }

  /** `name.weight` of several maps without biases, one after the other. */
  joined<const R extends readonly number[]>(name: string, rows: R, columns: number): { [I in keyof R]: LinearSlots } {
    const slots = rows.map((count) => matrixSlot(count, columns));
    const runs = slots.map((slot) => ({ slot, first: 0, count: slot.rows }));
    this.fused(`${name}.weight`, [rows.reduce((sum, count) => sum + count, 0), columns], runs);
    return slots.map((weight) => ({ weight })) as { [I in keyof R]: LinearSlots };
  }

  /** A tensor whose rows go to several slots. */
  fused(name: string, shape: readonly number[], runs: readonly Run[]): void {
    this.destinations.set(this.#prefix + name, { shape, runs });
  }

  /** The same for a name that takes no prefix; of several spellings the one that the file has. */
  outside<T>(spellings: readonly string[], add: (name: string, names: Names) => T): T {
    const name = spellings.find((each) => this.#file.has(each)) ?? spellings[0] ?? '';
    return add(name, new Names(this.#file, [''], '', this.destinations));
  }

  /** Refuses a file that lacks a tensor, has one of another shape or dtype, or one that nobody knows. */
  check(harmless: RegExp): void {
    const file = this.#file;
    const anyFile = file.names[0] === undefined ? 'weights' : file.info(file.names[0]).file;
    for (const [name, { shape }] of this.destinations) {
      if (!file.has(name)) {
        throw new SafetensorsError(anyFile, name, `is missing; expected float numbers ${shapeText(shape)}`);
      }
      const info = file.info(name);
      if (!floats.includes(info.dtype)) {
        throw new SafetensorsError(info.file, name, `is ${info.dtype}; expected one of ${floats.join(', ')}`);
      }
      if (info.shape.length !== shape.length || shape.some((n, axis) => n !== info.shape[axis])) {
        const problem = `has shape ${shapeText(info.shape)}; its config makes it ${shapeText(shape)}`;
        throw new SafetensorsError(info.file, name, problem);
      }
    }
    const unknown = file.names.find((name) => !this.destinations.has(name) && !harmless.test(name));
    if (unknown === undefined) return;
    const { file: holder, shape } = file.info(unknown);
    const problem = `${shapeText(shape)} has no place in a model of this config; nothing would use it`;
    throw new SafetensorsError(holder, unknown, problem);
  }
}

/** @internal */
export function vectorSlot(rows: number, columns = 1): VectorSlot {
  return { rows, columns, data: undefined, type: 'float32' };
}

/** @internal */
export function matrixSlot(rows: number, columns: number): MatrixSlot {
  return { rows, columns, packed: undefined };
}
