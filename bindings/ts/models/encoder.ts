// An encoder: from token ids to a vector for each token, with the heads of the checkpoint.
import { keepMask } from '../attention/mask.js';
import { activations } from '../layers/activations.js';
import type { CaptureName } from '../layers/capture.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, UnsupportedError } from '../runtime/errors.js';
import { checkedPositions } from '../runtime/positions.js';
import type { NdArray } from '../runtime/tensor.js';
import { readKeys, readOptions } from '../sources/tensor-file.js';
import { checkWithin, type Ids, type IdsInput, likeIds, paddingMask, perToken, readIds } from './ids.js';
import { Model, type ModelMaking, type RopeChange, room } from './model.js';
import { checkPooling, type Pooling, pool } from './pooling.js';
import { checkLength } from './positions.js';
import {
  atOnce,
  type CapturedLayer,
  checkInspect,
  type Inspected,
  type Inspection,
  type InspectOptions,
  inspectFields,
  inTurns,
  type PassOptions,
  run,
  type Steps,
} from './run.js';
import type { StackPass } from './stack.js';

/** Options of an encoder's pass. */
export interface EncodeOptions<C extends readonly CaptureName[] = readonly CaptureName[]> extends InspectOptions<C> {
  /** 1 for a token, 0 for padding, in the shape of the ids. Default: all tokens. */
  attentionMask?: IdsInput;
  /** Token types (segment ids), in the shape of the ids; XLNet only compares them. Default 0. */
  tokenTypes?: IdsInput;
  /**
   * Position of each token, [T] or [B * T]. Default 0, 1, 2, ... Not for models with relative positions, which use
   * distances between tokens.
   */
  positions?: check.IntegersInput;
  /** Whether to return `pooled`. Default false. */
  pooled?: boolean;
  /** Whether to return `logits`. Default false. */
  logits?: boolean;
}

/** Options of `model.embedText`. */
export interface EmbedTextOptions extends Pick<EncodeOptions, 'attentionMask' | 'tokenTypes' | 'positions'> {
  /** Which vectors of a text become its own. Default `mean`. Padding never counts. */
  pooling?: Pooling;
  /** Whether to scale vectors to length 1, so that a dot product is a cosine. Default true. */
  normalize?: boolean;
}

/** The results of an encoder. For ids [T] they have no batch axis. */
export interface Encoding<C extends readonly CaptureName[] = readonly CaptureName[]> extends Inspected<C> {
  /** `[B, T, M]`: a vector for each token. */
  readonly hidden: NdArray;
  /** `[B, M]`: the pooler's output for the first token; with `pooled`. */
  readonly pooled?: NdArray;
  /** `[B, T, V]`: logits of the masked language model; with `logits`. */
  readonly logits?: NdArray;
}

const fields = ['attentionMask', 'tokenTypes', 'positions', 'pooled', 'logits', ...inspectFields] as const;

const embedFields = ['attentionMask', 'tokenTypes', 'positions', 'pooling', 'normalize'] as const;

/** Checked options of a pass. */
interface Pass extends Pick<StackPass, 'at' | 'keep'> {
  readonly where: string;
  readonly ids: Ids;
  readonly pooled: boolean;
  readonly logits: boolean;
  readonly inspection: Inspection;
  readonly types: Float64Array | undefined;
  readonly positions: Float64Array | undefined;
}

/**
 * A BERT, RoBERTa, DeBERTa, Jina BERT, Nomic BERT, ModernBERT, RoFormer, XLNet, EmbeddingGemma or the encoder of a T5 or Marian,
 * made by `loadModel()`.
 *
 * @example
 * using model = await loadModel(rw, { config, weights: 'model.safetensors' });
 * if (model.kind === 'encoder') {
 *   const { hidden, logits } = model.forward([101, 7592, 103, 102], { logits: true });   // [4, M], [4, V]
 * }
 */
export class EncoderModel extends Model {
  /** Tells encoders from decoders. */
  readonly kind = 'encoder';
  /** Whether the checkpoint has a pooler. */
  readonly hasPooler: boolean;

  /** @internal */
  constructor(making: ModelMaking) {
    super(making);
    this.hasPooler = making.weights.parts.pooler !== undefined;
  }

  /**
   * Makes a model with the same weights and another rotary encoding. Dispose of both; the weights are freed with the
   * last.
   *
   * @throws ArgumentTypeError, ArgumentRangeError for options that do not fit or a model without a rotary encoding.
   *
   * @example
   * using stretched = model.withRope({ scaling: { type: 'linear', factor: 2 } });
   */
  withRope(change: RopeChange): EncoderModel {
    return new EncoderModel(this.changed(change));
  }

  /** Always throws: an encoder predicts no next token. @throws UnsupportedError */
  generate(_ids?: IdsInput, _options?: object): never {
    const { architecture } = this.config;
    throw new UnsupportedError(
      `model.generate: ${architecture} is an encoder; forward(ids, { logits: true }) fills masks`,
    );
  }

  /**
   * Runs one pass.
   *
   * @param ids [T], or [B, T] as rows of equal length, or a tokenizer's tensor ({ data, dims }).
   * @throws ArgumentRangeError for ids outside the vocabulary, more tokens than BERT's tables have rows, or a head that
   *   the checkpoint lacks; StateError after dispose().
   */
  forward<const C extends readonly CaptureName[] = []>(ids: IdsInput, options: EncodeOptions<C> = {}): Encoding<C> {
    const where = 'model.forward';
    return this.pass<C>(where, ids, check.options(where, 'options', options, fields));
  }

  /** forward() with options already read; errors name `where`. @internal */
  pass<const C extends readonly CaptureName[] = []>(
    where: string,
    ids: IdsInput,
    given: EncodeOptions<C>,
  ): Encoding<C> {
    const pass = this.#begin(where, ids, given);
    const bytes = check.sizeOf([...pass.ids.shape, this.config.modelDim]) * 4;
    return this.heap.scope(where, (scratch) => atOnce(this.#steps<C>(pass, scratch(bytes), false)));
  }

  /**
   * Gives the same bits as forward(). Between two layers other work runs, and the pass can be aborted and reports its
   * progress.
   *
   * @throws the errors of forward(), and the signal's reason; StateError where the model was disposed of meanwhile.
   *
   * @example
   * const { logits } = await model.forwardAsync(ids, { logits: true, signal });
   */
  async forwardAsync<const C extends readonly CaptureName[] = []>(
    ids: IdsInput,
    options: EncodeOptions<C> & PassOptions = {},
  ): Promise<Encoding<C>> {
    const where = 'model.forwardAsync';
    const given = check.options(where, 'options', options, [...fields, ...readKeys]);
    return this.passAsync<C>(where, ids, given, readOptions(where, given) as PassOptions);
  }

  /** forwardAsync() with options already read; errors name `where`. @internal */
  async passAsync<const C extends readonly CaptureName[] = []>(
    where: string,
    ids: IdsInput,
    given: EncodeOptions<C>,
    read: PassOptions,
  ): Promise<Encoding<C>> {
    const pass = this.#begin(where, ids, given);
    const x = this.heap.allocate(check.sizeOf([...pass.ids.shape, this.config.modelDim]) * 4, where);
    try {
      return await inTurns(this.#steps<C>(pass, x, true), read, () => this.alive(where));
    } finally {
      this.heap.release(x);
    }
  }

  /**
   * Gives one vector for each text, as sentence-transformers does: a pass, pooling over the tokens that are not padding,
   * and length 1.
   *
   * @param ids [T], or [B, T] with an `attentionMask` where rows are padded.
   * @returns `[M]`, or `[B, M]`.
   * @throws the errors of forward(); ArgumentRangeError for a row that is all padding.
   *
   * @example
   * const { data, shape } = model.embedText([[101, 7592, 102], [101, 2088, 102]]); // [2, M]
   * const first = model.embedText([101, 7592, 102], { pooling: 'cls', normalize: false });
   */
  embedText(ids: IdsInput, options: EmbedTextOptions = {}): NdArray {
    const where = 'model.embedText';
    const given = check.options(where, 'options', options, embedFields);
    const read = readIds(where, ids, this.config.vocabSize);
    const mask = given.attentionMask === undefined ? undefined : paddingMask(where, given.attentionMask, read).data;
    const pooling = checkPooling(where, given, read, mask);
    const pass = this.#begin(where, { data: read.values, shape: read.shape }, given);
    const bytes = check.sizeOf([...pass.ids.shape, this.config.modelDim]) * 4;
    const { hidden } = this.heap.scope(where, (scratch) => atOnce(this.#steps(pass, scratch(bytes), false)));
    return pool(hidden, read, pooling);
  }

  #begin(where: string, idsInput: IdsInput, given: EncodeOptions): Pass {
    const ids = readIds(where, idsInput, this.config.vocabSize);
    this.alive(where);
    const pooled = this.#asked(where, 'pooled', given.pooled, this.hasPooler);
    const logits = this.#asked(where, 'logits', given.logits, this.hasLogits);
    const inspection = checkInspect(where, given, this.making.positions.layers);
    const positions = this.#positions(where, given.positions, ids);
    const types = this.#tokenTypes(where, given.tokenTypes, ids);
    const { batch, tokens } = ids;
    const mask = given.attentionMask === undefined ? undefined : paddingMask(where, given.attentionMask, ids);
    // Relative tables and ALiBi use distances in the sequence, not `positions`.
    const turned = this.config.position === 'rope' && positions !== undefined;
    const at = checkedPositions(where, turned ? { positions } : {}, batch, tokens);
    const keep = keepMask(this.heap, where, mask, [batch, this.config.heads, tokens, tokens]);
    return { where, ids, pooled, logits, inspection, types, positions, at, keep };
  }

  *#steps<const C extends readonly CaptureName[]>(given: Pass, x: number, inTurns: boolean): Steps<Encoding<C>> {
    const { where, ids, inspection, positions, at, keep } = given;
    const { heap } = this;
    const { layers, stack } = this.making.positions;
    const { batch, tokens, shape } = ids;
    const { modelDim, position } = this.config;
    // XLNet's scores have the types, in place of token vectors.
    const [types, compared] = position === 'transformer-xl' ? [undefined, given.types] : [given.types];
    this.embed(where, x, ids, types, positions && perToken(positions, ids));
    const pass = { x, batch, tokens, at, keep, types: compared, caches: null };
    const batched = shape.length === 2;
    const seen = yield* run({ heap, where, layers, stack, pass, caches: undefined, inspection, batched, inTurns });
    heap.call(() => this.making.weights.parts.finalNorm?.apply(x, x, batch * tokens));
    const hidden = { data: heap.readFloats(x, batch * tokens * modelDim), shape: [...shape, modelDim] };
    return {
      hidden,
      ...(given.pooled && { pooled: this.#pooled(where, x, ids) }),
      ...(given.logits && { logits: yield* this.#logits(where, x, ids) }),
      ...(inspection.hiddenStates && { hiddenStates: [...seen.hiddenStates, hidden] }),
      ...(inspection.capture && { captured: seen.captured as CapturedLayer<C>[] }),
    };
  }

  #asked(where: string, name: string, value: unknown, has: boolean): boolean {
    if (!check.boolean(where, name, value ?? false)) return false;
    if (has) return true;
    throw new ArgumentRangeError(where, name, value, 'is true; the checkpoint has no head for it');
  }

  #positions(where: string, value: unknown, ids: Ids): Float64Array | undefined {
    const { maxPositions = Number.POSITIVE_INFINITY } = this.config;
    if (value === undefined) {
      if (ids.tokens > maxPositions) {
        const problem = `has ${ids.tokens} tokens; the model's tables reach ${maxPositions}`;
        throw new ArgumentRangeError(where, 'ids', ids.tokens, problem);
      }
      checkLength(where, this.making.positions, 'ids', value, ids.tokens);
      return undefined;
    }
    const { position } = this.config;
    if (position !== 'absolute' && !this.ropes.some(Boolean)) {
      const own = position === 'rope' ? 'replaced' : position;
      const problem = `are for models with absolute or rotary positions; this one's are ${own}`;
      throw new ArgumentRangeError(where, 'positions', value, problem);
    }
    const list = check.positions(where, 'positions', value);
    if (list.length !== ids.tokens && list.length !== ids.values.length) {
      const problem = `has ${list.length} entries; ids have ${ids.tokens} tokens`;
      throw new ArgumentRangeError(where, 'positions', value, problem);
    }
    if (this.config.position === 'absolute') checkWithin(where, 'positions', list, maxPositions, 'the table');
    checkLength(where, this.making.positions, 'positions', value, list.reduce((a, b) => Math.max(a, b), 0) + 1);
    return list;
  }

  #tokenTypes(where: string, value: unknown, ids: Ids): Float64Array | undefined {
    if (value === undefined) {
      return this.config.position === 'transformer-xl' ? new Float64Array(ids.values.length) : undefined;
    }
    const types = likeIds(where, 'tokenTypes', value, ids);
    checkWithin(where, 'tokenTypes', types, this.config.tokenTypes, 'the table of token types');
    return types;
  }

  // tanh of an affine map of each batch entry's first row: [B, M].
  #pooled(where: string, x: number, { batch, tokens, shape }: Ids): NdArray {
    const { heap } = this;
    const { modelDim } = this.config;
    const { pooler } = this.making.weights.parts;
    const bytes = modelDim * 4;
    return heap.scope(where, (scratch) => {
      const [firsts, out] = [scratch(batch * bytes), scratch(batch * bytes)];
      for (let b = 0; b < batch; ++b) heap.move(x + b * tokens * bytes, firsts + b * bytes, bytes);
      heap.call(() => pooler?.apply(out, firsts, batch, activations.tanh));
      return { data: heap.readFloats(out, batch * modelDim), shape: [...shape.slice(0, -1), modelDim] };
    });
  }

  *#logits(where: string, x: number, { shape, values }: Ids): Steps<NdArray> {
    const result = room(where, [...shape, this.config.vocabSize]);
    yield* this.logits(where, { at: x, count: values.length }, result.data, 0);
    return result;
  }
}
