// An encoder: ids in, a vector for each token out; with the heads that the checkpoint has.
import type { CaptureName } from '../layers/capture.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, UnsupportedError } from '../runtime/errors.js';
import type { NdArray, Tensor } from '../runtime/tensor.js';
import { readOptions } from '../safetensors/file.js';
import { checkWithin, type Ids, type IdsInput, likeIds, paddingMask, readIds } from './ids.js';
import { Model, type ModelMaking, type RopeChange } from './model.js';
import { room } from './pass.js';
import { checkLength } from './places.js';
import {
  atOnce,
  type CapturedLayer,
  checkInspect,
  type InspectOptions,
  inspectFields,
  inTurns,
  type PassOptions,
  passFields,
  run,
  type Steps,
} from './run.js';

/** Options of an encoder's pass. */
export interface EncodeOptions<C extends readonly CaptureName[] = readonly CaptureName[]> extends InspectOptions<C> {
  /** 1 for a token, 0 for padding; of the shape of the ids. Default all tokens. */
  attentionMask?: IdsInput;
  /** Rows of the table of token types, of the shape of the ids. Default 0. */
  tokenTypes?: IdsInput;
  /**
   * Where each token stands: [T], or [B * T]. Default 0, 1, 2, ... Not for relative positions, which are distances
   * between tokens.
   */
  positions?: check.IntegersInput;
  /** Gives back `pooled`. Default false. */
  pooled?: boolean;
  /** Gives back `logits`, of every token. Default false. */
  logits?: boolean;
}

/** What an encoder gives. Where ids are [T], nothing has a batch axis. */
export interface Encoding<C extends readonly CaptureName[] = readonly CaptureName[]> {
  /** [B, T, M]: a vector for each token. */
  readonly hidden: NdArray;
  /** [B, M]: what the pooler makes of the first token's; with `pooled`. */
  readonly pooled?: NdArray;
  /** [B, T, V]: scores of the masked language model; with `logits`. */
  readonly logits?: NdArray;
  /** With `hiddenStates`: what enters each layer, and `hidden`. */
  readonly hiddenStates?: readonly NdArray[];
  /** With `capture`: for each layer asked for, in ascending order. */
  readonly captured?: readonly CapturedLayer<C>[];
}

const fields = ['attentionMask', 'tokenTypes', 'positions', 'pooled', 'logits', ...inspectFields];
const where = 'model.forward';

/**
 * A BERT or RoFormer, made by `loadModel()`.
 *
 * @example
 * using model = await loadModel(rw, { config, weights: 'model.safetensors' });
 * if (model.kind === 'encoder') {
 *   const { hidden, logits } = model.forward([101, 7592, 103, 102], { logits: true });   // [4, M], [4, V]
 * }
 */
export class EncoderModel extends Model {
  readonly kind = 'encoder';
  /** Whether the checkpoint has a head that gives logits. */
  readonly hasLogits: boolean;
  /** Whether it has a pooler. */
  readonly hasPooler: boolean;

  /** @internal */
  constructor(making: ModelMaking) {
    super(making);
    const { head, pooler } = making.weights.parts;
    this.hasLogits = head !== undefined;
    this.hasPooler = pooler !== undefined;
  }

  /**
   * The same weights with another rotary encoding, as a model of its own: dispose of each; the weights go with the
   * last.
   *
   * @example
   * using stretched = model.withRope({ scaling: { type: 'linear', factor: 2 } });
   */
  withRope(change: RopeChange): EncoderModel {
    return new EncoderModel(this.changed(change));
  }

  /** Refused: an encoder sees the tokens on both sides, and gives no next one. @throws UnsupportedError */
  generate(_ids?: IdsInput, _options?: object): never {
    const { architecture } = this.config;
    throw new UnsupportedError(
      `model.generate: ${architecture} is an encoder; forward(ids, { logits: true }) fills masks`,
    );
  }

  /**
   * One pass.
   *
   * @param ids [T], or [B, T] as rows of equal length; a tokenizer's tensor ({ data, dims }) will do.
   * @throws ArgumentRangeError for ids that the vocabulary does not have, more tokens than BERT's tables reach, or a
   *   head that the checkpoint does not have; StateError after dispose().
   */
  forward<const C extends readonly CaptureName[] = []>(ids: IdsInput, options: EncodeOptions<C> = {}): Encoding<C> {
    this.alive(where);
    return atOnce(this.#steps(ids, check.options<EncodeOptions<C>>(where, 'options', options, fields)));
  }

  /**
   * What forward() gives, bit for bit, with others running between two layers: it can be aborted there, and tells how
   * far it is.
   *
   * @throws what forward() throws, and the signal's reason; StateError where the model was disposed of meanwhile.
   *
   * @example
   * const { logits } = await model.forwardAsync(ids, { logits: true, signal, onProgress: ({ loaded }) => show(loaded) });
   */
  async forwardAsync<const C extends readonly CaptureName[] = []>(
    ids: IdsInput,
    options: EncodeOptions<C> & PassOptions = {},
  ): Promise<Encoding<C>> {
    const where = 'model.forwardAsync';
    this.alive(where);
    const given = check.options<EncodeOptions<C> & PassOptions>(where, 'options', options, [...fields, ...passFields]);
    return inTurns(this.#steps(ids, given), readOptions(where, given) as PassOptions, () => this.alive(where));
  }

  *#steps<const C extends readonly CaptureName[]>(ids: IdsInput, given: EncodeOptions<C>): Steps<Encoding<C>> {
    const tokens = readIds(where, ids, this.config.vocabSize);
    const pooler = this.#asked('pooled', given.pooled, this.making.weights.parts.pooler);
    const head = this.#asked('logits', given.logits, this.making.weights.parts.head);
    const inspection = checkInspect(where, given, this.passLayers);
    const positions = this.#positions(given.positions, tokens);
    const types = this.#tokenTypes(given.tokenTypes, tokens);
    const mask = given.attentionMask === undefined ? undefined : paddingMask(where, given.attentionMask, tokens);
    this.alive(where);
    const batched = tokens.shape.length === 2;
    const first = this.math.embed(tokens, types, positions && perToken(positions, tokens));
    // Distances of BERT's tables are between places in the sequence, whatever the positions.
    const turned = this.config.position === 'rope' && positions !== undefined;
    const passed = { ...(mask && { mask }), ...(turned && { positions }) };
    const { x, captured, hiddenStates } = yield* run(this.passLayers, first, inspection, batched, passed, undefined);
    try {
      const hidden = { data: x.data(), shape: [...tokens.shape, this.config.modelDim] };
      return {
        hidden,
        ...(pooler && { pooled: this.math.pooled(x, pooler, [...tokens.shape.slice(0, -1), this.config.modelDim]) }),
        ...(head && { logits: yield* this.#logits(x, tokens) }),
        ...(inspection.hiddenStates && { hiddenStates: [...hiddenStates, hidden] }),
        ...(inspection.capture && { captured: captured as CapturedLayer<C>[] }),
      };
    } finally {
      x.dispose();
    }
  }

  #asked<T>(name: string, value: unknown, part: T | undefined): T | undefined {
    if (!check.boolean(where, name, value ?? false)) return undefined;
    if (part !== undefined) return part;
    throw new ArgumentRangeError(where, name, value, 'is true; the checkpoint has no head for it');
  }

  #positions(value: unknown, ids: Ids): Float64Array | undefined {
    const { maxPositions = Number.POSITIVE_INFINITY } = this.config;
    if (value === undefined) {
      if (ids.tokens > maxPositions) {
        const problem = `has ${ids.tokens} tokens; the model's tables reach ${maxPositions}`;
        throw new ArgumentRangeError(where, 'ids', ids.tokens, problem);
      }
      checkLength(where, this.making.places, 'ids', value, ids.tokens);
      return undefined;
    }
    if (this.config.position.startsWith('relative')) {
      const problem = `are for models with absolute or rotary positions; this one's are ${this.config.position}`;
      throw new ArgumentRangeError(where, 'positions', value, problem);
    }
    const list = check.positions(where, 'positions', value);
    if (list.length !== ids.tokens && list.length !== ids.values.length) {
      const problem = `has ${list.length} entries; expected one for each token, ${ids.tokens}`;
      throw new ArgumentRangeError(where, 'positions', value, problem);
    }
    if (this.config.position === 'absolute') checkWithin(where, 'positions', list, maxPositions, 'the table');
    checkLength(where, this.making.places, 'positions', value, list.reduce((a, b) => Math.max(a, b), 0) + 1);
    return list;
  }

  #tokenTypes(value: unknown, ids: Ids): Float64Array | undefined {
    if (value === undefined) return undefined;
    const types = likeIds(where, 'tokenTypes', value, ids);
    checkWithin(where, 'tokenTypes', types, this.config.tokenTypes, 'the table of token types');
    return types;
  }

  *#logits(x: Tensor, ids: Ids): Steps<NdArray> {
    const { head } = this.making.weights.parts;
    const result = room(where, [...ids.shape, this.config.vocabSize]);
    if (head) yield* this.math.logits(head, { at: x.pointer, count: ids.values.length }, result.data, 0);
    return result;
  }
}

function perToken(positions: Float64Array, { values, tokens }: Ids): Float64Array {
  if (positions.length === values.length) return positions;
  return Float64Array.from(values, (_, i) => positions[i % tokens] as number);
}
