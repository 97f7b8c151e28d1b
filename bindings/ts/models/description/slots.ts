// Slots for the weights of a model, filled while the file is read, and the mapping from rows of tensors to slots. A
// fused tensor, such as queries, keys and values in one, fills several slots.
import type { PackedMatrix } from '../../core.mjs';
import type { WeightType } from '../../layers/weights.js';
import { quoted } from '../../runtime/errors.js';
import type { WeightFile } from '../../sources/tensor-file.js';
import type { ModelFeedForward } from './description.js';

/** A matrix [rows, columns], packed slice by slice while its rows are read. @internal */
export interface MatrixSlot {
  readonly rows: number;
  readonly columns: number;
  packed: PackedMatrix | undefined;
}

/** A vector or small table, stored in the type of the file. @internal */
export interface VectorSlot {
  readonly rows: number;
  /** 1 for a vector. */
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

/** The required shape of a tensor, and the slots for its rows, in order. @internal */
export interface Destination {
  readonly shape: readonly number[];
  readonly runs: readonly Run[];
}

export interface LinearSlots {
  readonly weight: MatrixSlot;
  readonly bias?: VectorSlot;
}

export interface NormSlots {
  readonly weight: VectorSlot;
  readonly bias?: VectorSlot;
}

/** down(act(gate x) * up x) */
export interface GatedMaps {
  readonly gate: LinearSlots;
  readonly up: LinearSlots;
  readonly down: LinearSlots;
}

interface FeedForwardMaps {
  readonly dense: { readonly up: LinearSlots; readonly down: LinearSlots };
  readonly gated: GatedMaps;
  readonly experts: {
    readonly router: LinearSlots;
    /** A shared one, which has no row of the router, is the last. */
    readonly experts: readonly GatedMaps[];
    readonly chosen: number;
    readonly normalized: boolean;
    readonly sigmoid?: boolean;
  };
}

/** The feed-forward part of a layer, by its kind. @internal */
export type FeedForwardSlots = {
  [K in ModelFeedForward['kind']]: { readonly kind: K } & FeedForwardMaps[K];
}[ModelFeedForward['kind']];

/** Maps and norms by the names of this package's layers. @internal */
export type LayerMaps = Readonly<Record<string, LinearSlots | NormSlots>>;

/** What XLNet adds to the scores of a layer. @internal */
export interface TransformerXlSlots {
  /** From the sinusoids of distances to vectors that queries meet. */
  readonly distances: MatrixSlot;
  /** v and s [H * D], in place of which queries have u. */
  readonly positionBias: VectorSlot;
  readonly segmentBias: VectorSlot;
  /** [2, H * D]: what queries of a token's type meet, and of another. */
  readonly segments: VectorSlot;
}

/** A layer. @internal */
export interface LayerSlots {
  /** All but the feed-forward part. */
  readonly maps: LayerMaps;
  readonly feedForward: FeedForwardSlots;
  /** BERT's distance vectors, or in the first layer T5's numbers for buckets of distances. */
  readonly distances?: VectorSlot;
  readonly transformerXl?: TransformerXlSlots;
}

/** A layer that attends to an encoder's output between its self-attention and its feed-forward part. @internal */
export interface CrossLayerSlots extends LayerSlots {
  readonly cross: {
    readonly [N in 'query' | 'key' | 'value' | 'output']: LinearSlots;
  } & { readonly norm: NormSlots };
}

/** The decoder behind an encoder. @internal */
export interface DecoderSlots {
  readonly layers: readonly CrossLayerSlots[];
  readonly finalNorm?: NormSlots;
  readonly head: NonNullable<ModelSlots['head']>;
}

/** The slots of a whole model. @internal */
export interface ModelSlots {
  readonly tokens: MatrixSlot;
  readonly positions?: MatrixSlot | undefined;
  readonly tokenTypes?: MatrixSlot | undefined;
  readonly embeddingNorm?: NormSlots | undefined;
  /** From the width of token vectors to M; OPT's positions, as wide as M, come after. */
  readonly projection?: LinearSlots | undefined;
  readonly layers: readonly LayerSlots[];
  readonly finalNorm?: NormSlots | undefined;
  readonly pooler?: LinearSlots | undefined;
  /** The head for logits; without its own matrix it uses the token vectors. */
  readonly head?:
    | {
        readonly transform?: LinearSlots;
        readonly norm?: NormSlots;
        readonly weight?: MatrixSlot | undefined;
        readonly bias?: VectorSlot | undefined;
      }
    | undefined;
  readonly decoder?: DecoderSlots;
  /** DeBERTa's vectors of distances, and their norm. */
  readonly disentangled?: { readonly vectors: VectorSlot; readonly norm?: NormSlots };
}

/** @internal */
export function isMatrix(slot: MatrixSlot | VectorSlot): slot is MatrixSlot {
  return 'packed' in slot;
}

function shapeText(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`;
}

/** Collects the tensors that an architecture needs, by their names in the checkpoint. @internal */
export class Names {
  readonly destinations: Map<string, Destination>;
  readonly #file: WeightFile;
  readonly #prefix: string;

  /** Uses the first prefix with which the file has the tensor `anchor`, or else the first of all. */
  constructor(file: WeightFile, prefixes: readonly string[], anchor: string, destinations = new Map()) {
    this.#file = file;
    this.destinations = destinations;
    this.#prefix = prefixes.find((prefix) => file.has(prefix + anchor)) ?? prefixes[0] ?? '';
  }

  /** The tensors whose names begin with a further prefix. */
  within(prefix: string): Names {
    return new Names(this.#file, [this.#prefix + prefix], '', this.destinations);
  }

  has(name: string): boolean {
    return this.#file.has(this.#prefix + name);
  }

  /** Of a tensor with further rows before these, which are not kept. */
  matrix(name: string, rows: number, columns: number, before = 0): MatrixSlot {
    const slot = matrixSlot(rows, columns);
    const skipped = before > 0 ? [{ slot: matrixSlot(before, columns), first: 0, count: before }] : [];
    this.fused(name, [before + rows, columns], [...skipped, { slot, first: 0, count: rows }]);
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

  /** `name.weight` [rows, columns] and, with `hasBias`, `name.bias`. */
  linear(name: string, rows: number, columns: number, hasBias = true): LinearSlots {
    const weight = this.matrix(`${name}.weight`, rows, columns);
    return hasBias ? { weight, bias: this.vector(`${name}.bias`, rows) } : { weight };
  }

  /** `name.weight` and `name.bias`, called gamma and beta in checkpoints converted from TensorFlow. */
  norm(name: string, length: number, hasBias: boolean): NormSlots {
    const [gamma, beta] = [`${name}.gamma`, `${name}.beta`].map((old) => this.has(old)) as [boolean, boolean];
    const weight = this.vector(gamma ? `${name}.gamma` : `${name}.weight`, length);
    return hasBias ? { weight, bias: this.vector(beta ? `${name}.beta` : `${name}.bias`, length) } : { weight };
  }

  /** `name.weight` with the rows of several maps, one after the other, and with `hasBias` `name.bias`. */
  joined<const R extends readonly number[]>(
    name: string,
    rows: R,
    columns: number,
    hasBias = false,
  ): { [I in keyof R]: LinearSlots } {
    const sum = rows.reduce((sum, count) => sum + count, 0);
    const filled = <S extends MatrixSlot | VectorSlot>(part: string, shape: readonly number[], slots: readonly S[]) => {
      this.fused(
        `${name}.${part}`,
        shape,
        slots.map((slot) => ({ slot, first: 0, count: slot.rows })),
      );
      return slots;
    };
    const weights = filled(
      'weight',
      [sum, columns],
      rows.map((count) => matrixSlot(count, columns)),
    );
    const biases = hasBias
      ? filled(
          'bias',
          [sum],
          rows.map((count) => vectorSlot(count)),
        )
      : [];
    return weights.map((weight, i) => ({ weight, ...(biases[i] && { bias: biases[i] }) })) as {
      [I in keyof R]: LinearSlots;
    };
  }

  /** A tensor whose rows fill several slots. */
  fused(name: string, shape: readonly number[], runs: readonly Run[]): void {
    this.destinations.set(this.#prefix + name, { shape, runs });
  }

  /** Adds tensors without a prefix, under the spelling that the file has. */
  outside<T>(spellings: readonly string[], add: (name: string, names: Names) => T): T {
    const name = spellings.find((each) => this.#file.has(each)) ?? spellings[0] ?? '';
    return add(name, new Names(this.#file, [''], '', this.destinations));
  }

  /** Throws the error of the format with a line for each tensor that is missing, has another shape or dtype, or is unknown. */
  check(harmless: RegExp): void {
    const file = this.#file;
    const [first, ...others] = this.#problems(harmless);
    if (first === undefined) return;
    const lines = others.map(([name, problem]) => `\n${quoted(file.failure(name, '').tensor ?? name)}: ${problem}`);
    throw file.failure(first[0], first[1] + lines.join(''));
  }

  *#problems(harmless: RegExp): Generator<readonly [name: string, problem: string]> {
    const file = this.#file;
    for (const [name, { shape }] of this.destinations) {
      const wanted = shapeText(shape);
      if (!file.has(name)) yield [name, `is missing; expected float numbers ${wanted}`];
      else if (file.form(name).weightType === undefined) {
        yield [name, `is ${file.info(name).dtype}; expected one of ${file.weightDtypes.join(', ')}`];
      } else {
        const found = shapeText(file.info(name).shape);
        if (found !== wanted) yield [name, `has shape ${found}; its config makes it ${wanted}`];
      }
    }
    for (const name of file.names) {
      if (this.destinations.has(name) || harmless.test(name)) continue;
      const shape = shapeText(file.info(name).shape);
      yield [name, `${shape} has no place in a model of this config; nothing would use it`];
    }
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
