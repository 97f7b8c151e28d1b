// Makes the parts of a model around its layers in the core from filled slots: token vectors, norms, maps, and the head.
import { HeadOptions, NormCall } from '../calls.js';
import type { HeadParts, Linear, LogitsHead, MainModule, NormLayer, PackedMatrix, TokenVectors } from '../core.mjs';
import { NormKind, WeightType } from '../enums.js';
import { activations } from '../layers/activations.js';
import { vectorAddress, weight } from '../layers/weights.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import type { ModelConfig } from './config.js';
import type { LinearSlots, MatrixSlot, ModelSlots, NormSlots, VectorSlot } from './description/slots.js';

// The type of an absent bias, which the core does not read.
const noBias = WeightType.float32;

/** An object of the core. */
interface CoreObject {
  delete(): void;
}

/** Makes the parts of one model. The caller destroys them; slots are emptied. @internal */
export class PartMaker {
  readonly #heap: Heap;
  readonly #where: string;
  readonly #config: ModelConfig;

  constructor(heap: Heap, where: string, config: ModelConfig) {
    this.#heap = heap;
    this.#where = where;
    this.#config = config;
  }

  /** Token vectors, scaled by `scale`. */
  vectors(slots: ModelSlots, scale: number): TokenVectors {
    return this.#gathered(
      (core) => new core.TokenTables(),
      (tables) => {
        this.#moved(slots.tokens, (table) => tables.setTokens(table));
        if (slots.tokenTypes) this.#moved(slots.tokenTypes, (table) => tables.setTypes(table));
        if (slots.positions) this.#moved(slots.positions, (table) => tables.setPositions(table));
        if (slots.embeddingNorm) this.#used(this.norm(slots.embeddingNorm), (norm) => tables.setNorm(norm));
        if (slots.projection) this.#used(this.linear(slots.projection), (map) => tables.setProjection(map));
        return this.#made(
          (core) => new core.TokenVectors(),
          (vectors) => vectors.create(scale, tables),
        );
      },
    );
  }

  /** The head for logits; without its own weight it shares the token vectors, which must outlive it. */
  head(slots: NonNullable<ModelSlots['head']>, vectors: TokenVectors): LogitsHead {
    const { activation, logitScale, logitSoftcap } = this.#config;
    return this.#gathered(
      (core) => new core.HeadParts(),
      (parts) => {
        if (slots.transform) this.#used(this.linear(slots.transform), (map) => parts.setTransform(map));
        if (slots.norm) this.#used(this.norm(slots.norm), (norm) => parts.setNorm(norm));
        if (slots.weight) this.#moved(slots.weight, (matrix) => parts.setWeight(matrix));
        if (slots.bias) this.#headBias(slots.bias, parts);
        return this.#heap.scope(this.#where, (scratch) => {
          const options = { activation: activations[activation], scale: logitScale ?? 1, softcap: logitSoftcap ?? 0 };
          const fields = this.#heap.putCall(scratch, HeadOptions, options);
          return this.#made(
            (core) => new core.LogitsHead(),
            (head) => head.create(fields, parts, vectors),
          );
        });
      },
    );
  }

  /** A norm of the model's kind. */
  norm(slots: NormSlots): NormLayer {
    const { norm, eps, unitOffset } = this.#config;
    return this.#heap.scope(this.#where, (scratch) => {
      const [factor, bias] = [this.#address(slots.weight, scratch), slots.bias && this.#address(slots.bias, scratch)];
      const fields = this.#heap.putCall(scratch, NormCall, {
        options: { kind: NormKind[norm], size: slots.weight.rows, eps, unitOffset, sets: 1 },
        weights: { type: factor.type, weight: factor.at, biasType: bias?.type ?? noBias, bias: bias?.at ?? 0 },
      });
      return this.#made(
        (core) => new core.NormLayer(),
        (made) => made.create(fields),
      );
    });
  }

  /** An affine map. */
  linear(slots: LinearSlots): Linear {
    return this.#heap.scope(this.#where, (scratch) => {
      const bias = slots.bias && this.#address(slots.bias, scratch);
      return this.#made(
        (core) => new core.Linear(),
        (made) => this.#moved(slots.weight, (matrix) => made.create(matrix, bias?.type ?? noBias, bias?.at ?? 0)),
      );
    });
  }

  #headBias(slot: VectorSlot, parts: HeadParts): void {
    this.#heap.scope(this.#where, (scratch) => {
      const { type, at } = this.#address(slot, scratch);
      this.#heap.run(this.#where, () => parts.setBias(type, at, slot.rows));
    });
  }

  // The address of a slot's numbers, valid during a call.
  #address(
    { data, type, rows, columns }: VectorSlot,
    scratch: Scratch,
  ): { readonly type: number; readonly at: number } {
    const vector = weight(this.#heap, this.#where, 'vector', { data, type }, [1, rows * columns]);
    return { type: vector.type, at: vectorAddress(vector, scratch) };
  }

  // Runs `work`, which moves the matrix of a slot into another object.
  #moved<T>(slot: MatrixSlot, work: (matrix: PackedMatrix) => T): T {
    const matrix = slot.packed as PackedMatrix;
    slot.packed = undefined;
    return this.#used(matrix, work);
  }

  // Runs `work` with an object and then destroys the object.
  #used<O extends CoreObject, T>(object: O, work: (object: O) => T): T {
    try {
      return this.#heap.call(() => work(object));
    } finally {
      this.#heap.destroy(object);
    }
  }

  #gathered<P extends CoreObject, T>(make: (core: MainModule) => P, work: (parts: P) => T): T {
    const parts = this.#heap.construct(this.#where, make);
    try {
      return work(parts);
    } finally {
      this.#heap.destroy(parts);
    }
  }

  // An object of the core, after `create` has succeeded.
  #made<O extends CoreObject>(make: (core: MainModule) => O, create: (object: O) => number): O {
    const object = this.#heap.construct(this.#where, make);
    try {
      this.#heap.run(this.#where, () => create(object));
      return object;
    } catch (error) {
      this.#heap.destroy(object);
      throw error;
    }
  }
}
