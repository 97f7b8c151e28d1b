// A decoder: from token ids to logits of the next token. With a KV cache it reads the ids in chunks.
import { keepMask } from '../attention/mask.js';
import type { LayerCaches } from '../core.mjs';
import type { CaptureName } from '../layers/capture.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import { checkedPositions } from '../runtime/positions.js';
import type { NdArray } from '../runtime/tensor.js';
import { readKeys, readOptions } from '../sources/tensor-file.js';
import {
  checkModelCache,
  checkStorage,
  createModelCache,
  defaultChunk,
  largestChunk,
  type ModelCacheOptions,
  type ModelKvCache,
  restoreModelCache,
} from './cache.js';
import { type GeneratedToken, type GenerateOptions, generate } from './generate.js';
import { type Ids, type IdsInput, paddingMask, perToken, readIds, slice } from './ids.js';
import { Model, type RopeChange, room } from './model.js';
import { checkLength } from './positions.js';
import {
  atOnce,
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
import { behindCache, type StackPass } from './stack.js';

/** The tokens for which a decoder computes logits. */
export type LogitsOf = 'last' | 'all' | 'none';

/** Options of a decoder's pass. */
export interface DecodeOptions<C extends readonly CaptureName[] = readonly CaptureName[]> extends InspectOptions<C> {
  /** Holds the earlier tokens; the pass appends the new ones. A call that throws leaves it unchanged. */
  cache?: ModelKvCache;
  /** Default `last`, the last column, padding or not; `none` if the checkpoint has no head. */
  logits?: LogitsOf;
  /** Whether to return `hidden`. Default false. */
  hidden?: boolean;
  /**
   * With a cache, the number of tokens that run through the layers at once, which bounds the memory and does not change
   * the results. At most the cache's chunk, which is the default. Captures and hidden states need all tokens in one.
   */
  chunk?: number;
  /** 1 for a token, 0 for padding, in the shape of the ids. Only without a cache. Default: all tokens. */
  attentionMask?: IdsInput;
  /** Position of the first token; only without a cache. Default 0. */
  offset?: number;
  /**
   * Absolute or rotary position of each token, [T] or [B * T]; causal order is that of the ids. Only without a cache. Default
   * `offset`, `offset` + 1, ...; of OPT with an attentionMask 0, 1, ... for the tokens that are not padding, as in Hugging
   * Face.
   */
  positions?: check.IntegersInput;
}

/** The results of a decoder. For ids [T] they have no batch axis. */
export interface Decoding<C extends readonly CaptureName[] = readonly CaptureName[]> extends Inspected<C> {
  /** [B, V] for the last token, or [B, T, V] for all; absent with `none`. */
  readonly logits?: NdArray;
  /** [B, T, M], the output of the last norm; with `hidden`. */
  readonly hidden?: NdArray;
}

const logitsOf = { last: 0, all: 1, none: 2 } as const;
const own = ['cache', 'logits', 'hidden', 'chunk', 'attentionMask', 'offset', 'positions'] as const;
const fields = [...own, ...inspectFields] as const;

/** Checked options of a pass, and the arrays for its results. */
interface Pass {
  readonly where: string;
  readonly ids: Ids;
  readonly which: LogitsOf;
  readonly logits: NdArray | undefined;
  readonly hidden: NdArray | undefined;
  readonly chunk: number;
  readonly inspection: Inspection;
  readonly cache: ModelKvCache | undefined;
  readonly stand: Pick<StackPass, 'at' | 'keep'>;
}

// How many tokens stand before each in its row; padding counts for nothing.
function countsOf(mask: Uint8Array, tokens: number): Float64Array {
  let before = 0;
  return Float64Array.from(mask, (isToken, i) => {
    if (i % tokens === 0) before = 0;
    before += isToken;
    return before - isToken;
  });
}

/**
 * A model that generates: of the LLaMA family, a GPT, a BLOOM and so on, made by `loadModel()`.
 *
 * @example
 * using model = await loadModel(rw, { config, weights: 'model.safetensors' });
 * if (model.kind === 'decoder') {
 *   using cache = model.kvCache({ capacity: 2048 });
 *   const { logits } = model.forward(prompt, { cache });   // [V], of the last token
 * }
 */
export class DecoderModel extends Model {
  /** Tells decoders from encoders. */
  readonly kind = 'decoder';

  /** Maximum number of tokens for which the model's frequencies are valid. @internal */
  get maxLength(): number {
    return this.making.positions.maxLength;
  }

  /**
   * Makes a model with the same weights and another rotary encoding. Dispose of both; the weights are freed with the
   * last. A cache can be used only with the model that made it.
   *
   * @throws ArgumentTypeError, ArgumentRangeError for options that do not fit.
   *
   * @example
   * using longer = model.withRope({ scaling: { type: 'yarn', factor: 4, originalLength: 2048 } });
   * using without = model.withRope(() => null);
   */
  withRope(change: RopeChange): DecoderModel {
    return new DecoderModel(this.changed(change));
  }

  /**
   * Makes an empty cache for all layers. The caller disposes of it.
   *
   * @example
   * using cache = model.kvCache({ capacity: 4096, chunk: 256 });
   */
  kvCache(options: ModelCacheOptions = {}): ModelKvCache {
    this.alive('model.kvCache');
    return createModelCache(this.heap, this.making.positions.layers, options);
  }

  /** @internal */
  checkStorage(where: string, storage: unknown): void {
    checkStorage(where, storage, this.making.positions.layers);
  }

  /**
   * Restores a cache from the bytes of its `save()`, in this model or one with the same weights and position encoding.
   *
   * @throws ArgumentRangeError where the bytes are damaged or of another model.
   *
   * @example
   * using again = model.restoreKvCache(cache.save());   // continues with the same bits
   */
  restoreKvCache(bytes: Uint8Array): ModelKvCache {
    this.alive('model.restoreKvCache');
    return restoreModelCache(this.heap, this.making.positions.layers, bytes);
  }

  /**
   * Runs one pass.
   *
   * @param ids [T], or [B, T] as rows of equal length, or a tokenizer's tensor ({ data, dims }).
   * @throws ArgumentRangeError for ids outside the vocabulary or more than the cache has room for; StateError after
   *   dispose(), and for a cache whose rows ended at different tokens, as `generate` may leave it.
   */
  forward<const C extends readonly CaptureName[] = []>(ids: IdsInput, options: DecodeOptions<C> = {}): Decoding<C> {
    const where = 'model.forward';
    return this.pass(where, ids, check.options(where, 'options', options, fields)) as Decoding<C>;
  }

  /** forward() with options already read; errors name `where`. @internal */
  pass(where: string, ids: IdsInput, given: DecodeOptions): Decoding {
    const pass = this.#begin(where, ids, given);
    const { cache, chunk } = pass;
    const { tokens } = pass.ids;
    if (cache === undefined) return this.#atOnce(pass, 0, tokens, null);
    return cache.change(where, this.making.positions.layers, (caches) => {
      let result: Decoding = {};
      for (let first = 0; first < tokens; first += chunk) {
        result = this.#atOnce(pass, first, Math.min(tokens, first + chunk), caches);
      }
      return result;
    });
  }

  /**
   * Gives the same bits as forward() without a cache. Between two layers other work runs, and the pass can be aborted
   * and reports its progress.
   *
   * @throws the errors of forward(), and the signal's reason; ArgumentRangeError for a cache, which other work could
   *   change meanwhile; StateError where the model was disposed of meanwhile.
   *
   * @example
   * const { captured } = await model.forwardAsync(ids, { capture: ['probabilities'], captureLayers: [0], signal });
   */
  async forwardAsync<const C extends readonly CaptureName[] = []>(
    ids: IdsInput,
    options: Omit<DecodeOptions<C>, 'cache' | 'chunk'> & PassOptions = {},
  ): Promise<Decoding<C>> {
    const where = 'model.forwardAsync';
    const asked: DecodeOptions<C> & PassOptions = options;
    const given = check.options(where, 'options', asked, [...fields, ...readKeys]);
    const { cache } = given;
    if (cache !== undefined) {
      throw new ArgumentRangeError(where, 'cache', cache, 'is for forward() and generate(): others could change it');
    }
    const read = readOptions(where, given) as PassOptions;
    const pass = this.#begin(where, ids, given);
    const { shape, tokens } = pass.ids;
    const x = this.heap.allocate(check.sizeOf([...shape, this.config.modelDim]) * 4, where);
    try {
      const steps = this.#part(pass, 0, tokens, null, x, true) as Steps<Decoding<C>>;
      return await inTurns(steps, read, () => this.alive(where));
    } finally {
      this.heap.release(x);
    }
  }

  // Checks the options and allocates the results.
  #begin(where: string, ids: IdsInput, given: DecodeOptions): Pass {
    const asked = this.#check(where, ids, given);
    const { shape } = asked.ids;
    const { modelDim, vocabSize } = this.config;
    const logits =
      asked.which === 'none'
        ? undefined
        : room(where, [...(asked.which === 'all' ? shape : shape.slice(0, -1)), vocabSize]);
    const hidden = asked.hidden ? room(where, [...shape, modelDim]) : undefined;
    return { ...asked, where, logits, hidden };
  }

  /**
   * Generates tokens one by one, as an async iterable; each is computed when it is requested. The prompt is read in
   * pieces, between which other work of this thread runs. The same ids, options and seed give the same tokens for any
   * `chunk`, in one call or continued from a saved cache, here or in a worker.
   *
   * Without a `cache` it makes its own, which is freed at the end, at `break`, and at an abort. A caller's cache then
   * holds the ids and all generated tokens, so that the next call needs only new ones. If reading the ids fails or is
   * aborted, the cache is left as it was (if a sliding window has moved on, it is unusable until `reset()`).
   *
   * Ids [B, T] are B texts of one length, continued side by side; each token says its `row`, and a row has the tokens
   * that it has alone with the seed `seed + row` (up to the rounding of logits). Each step gives one token for every row
   * that has not ended. Rows that have ended go on in the cache with their last token, which is given to nobody; a cache
   * whose rows ended at different tokens is refused until it is cut back to what all rows have.
   *
   * @param ids [T] or [B, T], at least one token; with a cache of batch B, they follow its tokens.
   * @throws ArgumentRangeError where the cache has no room for ids and maxTokens; while it runs, the signal's reason,
   *   and StateError where other work changes the cache.
   *
   * @example
   * using cache = model.kvCache({ capacity: 2048 });
   * const options = { cache, stop: config.eos_token_id, topP: 0.9, seed: 1, signal };
   * for await (const { token } of model.generate(prompt, options)) show(token);
   * for await (const { token } of model.generate(question, { cache, temperature: 0 })) show(token);   // continues
   */
  generate(ids: IdsInput, options: GenerateOptions = {}): AsyncGenerator<GeneratedToken, void, undefined> {
    this.alive('model.generate');
    return generate(this, ids, options);
  }

  #atOnce(pass: Pass, first: number, end: number, caches: LayerCaches | null): Decoding {
    const bytes = pass.ids.batch * (end - first) * this.config.modelDim * 4;
    return this.heap.scope(pass.where, (scratch) =>
      atOnce(this.#part(pass, first, end, caches, scratch(bytes), false)),
    );
  }

  // Runs tokens first ... end - 1 of every batch entry, with their rows at the address x.
  *#part(
    given: Pass,
    first: number,
    end: number,
    caches: LayerCaches | null,
    x: number,
    inTurns: boolean,
  ): Steps<Decoding> {
    const { where, ids, logits, hidden, inspection, cache, stand } = given;
    const { heap } = this;
    const { layers, stack } = this.making.positions;
    const part = slice(ids, first, end);
    const { batch, tokens } = part;
    const pass = { x, batch, tokens, ...stand, caches };
    const batched = ids.shape.length === 2;
    this.embed(where, x, part, undefined, this.#rows(given, part));
    const seen = yield* run({ heap, where, layers, stack, pass, caches: cache?.layers, inspection, batched, inTurns });
    const { modelDim } = this.config;
    heap.call(() => this.making.weights.parts.finalNorm?.apply(x, x, batch * tokens));
    if (inspection.hiddenStates) {
      const data = heap.readFloats(x, batch * tokens * modelDim);
      seen.hiddenStates.push({ data, shape: [...ids.shape, modelDim] });
    }
    if (hidden !== undefined) this.#copyRows(x, part, ids, first, hidden);
    if (logits !== undefined) yield* this.#logits(given, x, part, first, logits);
    return {
      ...(logits && { logits }),
      ...(hidden && { hidden }),
      ...(inspection.hiddenStates && { hiddenStates: seen.hiddenStates }),
      ...(inspection.capture && { captured: seen.captured }),
    };
  }

  // Rows of the table of positions, where the model has one.
  #rows({ cache, stand }: Pass, part: Ids): Float64Array | undefined {
    if (this.config.position !== 'absolute') return undefined;
    const { values, offset } = stand.at;
    const first = cache?.length ?? offset;
    return perToken(values ?? Float64Array.from({ length: part.tokens }, (_, t) => first + t), part);
  }

  #copyRows(x: number, { batch, tokens }: Ids, ids: Ids, first: number, hidden: NdArray): void {
    const { modelDim } = this.config;
    const size = tokens * modelDim;
    for (let b = 0; b < batch; ++b) {
      const rows = this.heap.floats(x + b * size * 4, size);
      hidden.data.set(rows, (b * ids.tokens + first) * modelDim);
    }
  }

  // Computes logits of all tokens of the part, or of the very last token.
  *#logits(given: Pass, x: number, { batch, tokens }: Ids, first: number, logits: NdArray): Steps<void> {
    const { where, ids, which } = given;
    const { modelDim, vocabSize } = this.config;
    const all = which === 'all';
    if (!all && first + tokens < ids.tokens) return;
    const count = all ? tokens : 1;
    for (let b = 0; b < batch; ++b) {
      const at = x + ((b + 1) * tokens - count) * modelDim * 4;
      yield* this.logits(where, { at, count }, logits.data, (all ? b * ids.tokens + first : b) * vocabSize);
    }
  }

  #check(
    where: string,
    idsInput: unknown,
    given: DecodeOptions,
  ): Omit<Pass, 'where' | 'logits' | 'hidden'> & { hidden: boolean } {
    const ids = readIds(where, idsInput, this.config.vocabSize);
    this.alive(where);
    const which = given.logits ?? (this.hasLogits ? 'last' : 'none');
    check.choice(where, 'logits', which, logitsOf);
    if (which !== 'none' && !this.hasLogits) {
      throw new ArgumentRangeError(where, 'logits', which, `is "${which}"; the checkpoint has no head for it`);
    }
    const hidden = check.boolean(where, 'hidden', given.hidden ?? false);
    const inspection = checkInspect(where, given, this.making.positions.layers);
    const cache = this.#cache(where, given, ids);
    const stand = cache === undefined ? this.#stand(where, given, ids) : behindCache;
    const chunk = this.#chunk(where, given.chunk, cache, ids, inspection);
    return { ids, which, hidden, chunk, inspection, cache, stand };
  }

  #cache(where: string, given: DecodeOptions, ids: Ids): ModelKvCache | undefined {
    const cache = checkModelCache(where, this.heap, given.cache);
    if (cache === undefined) return undefined;
    const refuse = (problem: string): never => {
      throw new ArgumentRangeError(where, 'cache', cache, problem);
    };
    const { layers } = this.making.positions;
    if (cache.layers.length !== layers.length) {
      refuse(`has ${cache.layers.length} layers; the model has ${layers.length}`);
    }
    if (cache.batch !== ids.batch) refuse(`has batch ${cache.batch}; ids have ${ids.batch} rows`);
    const end = cache.length + ids.tokens;
    if (cache.capacity !== undefined && end > cache.capacity) {
      const room = cache.capacity - cache.length;
      refuse(`has room for ${room} more tokens, its capacity is ${cache.capacity}; ids have ${ids.tokens}`);
    }
    checkLength(where, this.making.positions, 'ids', ids.values, end);
    for (const name of ['attentionMask', 'offset', 'positions'] as const) {
      if (given[name] !== undefined) {
        throw new ArgumentRangeError(where, name, given[name], 'is for passes without a cache');
      }
    }
    return cache;
  }

  // Positions and mask of the tokens of a pass without a cache.
  #stand(where: string, given: DecodeOptions, ids: Ids): Pass['stand'] {
    const { offset, positions, attentionMask } = given;
    const { batch, tokens } = ids;
    const mask = attentionMask === undefined ? undefined : paddingMask(where, attentionMask, ids);
    // OPT's class counts the tokens that are not padding.
    const counts = mask && this.config.firstPosition && positions === undefined && offset === undefined;
    const at = checkedPositions(where, counts ? { positions: countsOf(mask.data, tokens) } : given, batch, tokens);
    const { values } = at;
    const end = values ? values.reduce((a, b) => Math.max(a, b), 0) + 1 : at.offset + tokens;
    const name = values ? 'positions' : offset === undefined ? 'ids' : 'offset';
    checkLength(where, this.making.positions, name, positions ?? offset, end);
    if (this.config.position === 'absolute') {
      for (const each of values ?? [at.offset]) check.integer(where, name, each, 0);
    } else if (values && !this.ropes.some(Boolean)) {
      throw new ArgumentRangeError(where, name, values, 'are for absolute or rotary encodings');
    }
    return { at, keep: keepMask(this.heap, where, mask, [batch, this.config.heads, tokens, tokens]) };
  }

  #chunk(where: string, value: unknown, cache: ModelKvCache | undefined, ids: Ids, inspection: Inspection): number {
    const chunk = check.integer(where, 'chunk', value ?? cache?.chunk ?? defaultChunk, 1, largestChunk(cache));
    if (cache === undefined) return ids.tokens;
    const what = inspection.hiddenStates ? 'hiddenStates' : 'capture';
    if (inspection.whole && ids.tokens > chunk) {
      const problem = `need all tokens in one pass; ids have ${ids.tokens}, chunk is ${chunk}`;
      throw new ArgumentRangeError(where, what, true, problem);
    }
    return chunk;
  }
}
