// A decoder: ids in, logits of what comes next out; with a KV cache, in chunks of bounded size.
import type { CaptureName } from '../layers/capture.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import type { NdArray, Tensor } from '../runtime/tensor.js';
import { readOptions } from '../safetensors/file.js';
import { createModelCache, defaultChunk, type ModelCacheOptions, ModelKvCache, restoreModelCache } from './cache.js';
import { type GeneratedToken, type GenerateOptions, generate } from './generate.js';
import { type Ids, type IdsInput, paddingMask, readIds } from './ids.js';
import { Model, type ModelMaking, type RopeChange } from './model.js';
import { room } from './pass.js';
import { checkLength } from './places.js';
import {
  atOnce,
  type CapturedLayer,
  checkInspect,
  type Inspection,
  type InspectOptions,
  inspectFields,
  inTurns,
  type PassOptions,
  passFields,
  run,
  type Steps,
} from './run.js';

/** Of which tokens a decoder gives logits. */
export type LogitsOf = 'last' | 'all' | 'none';

/** Options of a decoder's pass. */
export interface DecodeOptions<C extends readonly CaptureName[] = readonly CaptureName[]> extends InspectOptions<C> {
  /** The tokens before these; these go into it. A call that throws leaves it as it was. */
  cache?: ModelKvCache;
  /** `last`, the default: the head runs for one token of each batch entry. */
  logits?: LogitsOf;
  /** Gives back `hidden`. Default false. */
  hidden?: boolean;
  /**
   * With a cache, tokens go through the layers in pieces of this many, which bounds the memory and changes no bit. At
   * most the cache's own, which is the default. Captures and hidden states need all tokens in one pass.
   */
  chunk?: number;
  /** 1 for a token, 0 for padding; of the shape of the ids. Without a cache only. Default all tokens. */
  attentionMask?: IdsInput;
  /** Position of the first token; without a cache only. Default 0. */
  offset?: number;
  /** Where each token stands: [T], or [B * T]; without a cache only. */
  positions?: check.IntegersInput;
}

/** What a decoder gives. Where ids are [T], nothing has a batch axis. */
export interface Decoding<C extends readonly CaptureName[] = readonly CaptureName[]> {
  /** [B, V] of the last token, or [B, T, V] of all; absent with `none`. */
  readonly logits?: NdArray;
  /** [B, T, M] after the last norm; with `hidden`. */
  readonly hidden?: NdArray;
  /** With `hiddenStates`: what enters each layer, and what the last norm gives. */
  readonly hiddenStates?: readonly NdArray[];
  /** With `capture`: for each layer asked for, in ascending order. */
  readonly captured?: readonly CapturedLayer<C>[];
}

const logitsOf = { last: 0, all: 1, none: 2 } as const;
const fields = [...['cache', 'logits', 'hidden', 'chunk', 'attentionMask', 'offset', 'positions'], ...inspectFields];
const where = 'model.forward';

/** Checked options of a pass. */
interface Pass {
  readonly ids: Ids;
  readonly logits: LogitsOf;
  readonly hidden: boolean;
  readonly chunk: number;
  readonly inspection: Inspection;
  readonly cache: ModelKvCache | undefined;
  readonly options: {
    readonly mask?: ReturnType<typeof paddingMask>;
    readonly offset?: number;
    readonly positions?: Float64Array;
  };
}

/**
 * A model of the LLaMA family, a Gemma or a GPT-NeoX, made by `loadModel()`.
 *
 * @example
 * using model = await loadModel(rw, { config, weights: 'model.safetensors' });
 * if (model.kind === 'decoder') {
 *   using cache = model.kvCache({ capacity: 2048 });
 *   const { logits } = model.forward(prompt, { cache });   // [V], of the last token
 * }
 */
export class DecoderModel extends Model {
  readonly kind = 'decoder';
  /** Whether the checkpoint has a head that gives logits. */
  readonly hasLogits: boolean;

  /** @internal */
  constructor(making: ModelMaking) {
    super(making);
    this.hasLogits = making.weights.parts.head !== undefined;
  }

  /** The most tokens that the model's frequencies are made for. @internal */
  get maxLength(): number {
    return this.making.places.maxLength;
  }

  /**
   * The same weights with another rotary encoding, as a model of its own: dispose of each; the weights go with the
   * last.
   * A cache belongs to the model that made it.
   *
   * @example
   * using longer = model.withRope({ scaling: { type: 'yarn', factor: 4, originalLength: 2048 } });
   * using without = model.withRope(() => null);
   */
  withRope(change: RopeChange): DecoderModel {
    return new DecoderModel(this.changed(change));
  }

  /**
   * A cache for all layers, empty. Caller's to dispose of.
   *
   * @example
   * using cache = model.kvCache({ capacity: 4096, chunk: 256 });
   */
  kvCache(options: ModelCacheOptions = {}): ModelKvCache {
    this.alive('model.kvCache');
    return createModelCache(this.heap, this.passLayers, options);
  }

  /**
   * A cache from what its `save()` gave, in this model or one with the same weights and position encoding.
   *
   * @example
   * using again = model.restoreKvCache(cache.save());   // goes on with the same bits
   *
   * @throws ArgumentRangeError where the bytes are damaged or of another model.
   */
  restoreKvCache(bytes: Uint8Array): ModelKvCache {
    this.alive('model.restoreKvCache');
    return restoreModelCache(this.heap, this.passLayers, bytes);
  }

  /**
   * One pass.
   *
   * @param ids [T], or [B, T] as rows of equal length; a tokenizer's tensor ({ data, dims }) will do.
   * @throws ArgumentRangeError for ids that the vocabulary does not have, or more than the cache has room for;
   *   StateError after dispose().
   */
  forward<const C extends readonly CaptureName[] = []>(ids: IdsInput, options: DecodeOptions<C> = {}): Decoding<C> {
    this.alive(where);
    const { asked, logits, hidden } = this.#begin(
      ids,
      check.options<DecodeOptions<C>>(where, 'options', options, fields),
    );
    const { tokens } = asked.ids;
    if (asked.cache === undefined) {
      return atOnce(this.#part(asked, 0, tokens, undefined, logits, hidden)) as Decoding<C>;
    }
    const { cache } = asked;
    return cache.change((caches) => {
      let result: Decoding = {};
      for (let first = 0; first < tokens; first += asked.chunk) {
        result = atOnce(this.#part(asked, first, Math.min(tokens, first + asked.chunk), caches, logits, hidden));
      }
      return result as Decoding<C>;
    });
  }

  /**
   * What forward() gives without a cache, bit for bit, with others running between two layers: it can be aborted there,
   * and tells how far it is.
   *
   * @throws what forward() throws, and the signal's reason; ArgumentRangeError for a cache, which others could change
   *   meanwhile; StateError where the model was disposed of meanwhile.
   *
   * @example
   * const { captured } = await model.forwardAsync(ids, { capture: ['probabilities'], captureLayers: [0], signal });
   */
  async forwardAsync<const C extends readonly CaptureName[] = []>(
    ids: IdsInput,
    options: Omit<DecodeOptions<C>, 'cache' | 'chunk'> & PassOptions = {},
  ): Promise<Decoding<C>> {
    const where = 'model.forwardAsync';
    this.alive(where);
    const given = check.options<DecodeOptions<C> & PassOptions>(where, 'options', options, [...fields, ...passFields]);
    const { cache } = given;
    if (cache !== undefined) {
      throw new ArgumentRangeError(where, 'cache', cache, 'is for forward() and generate(): others could change it');
    }
    const read = readOptions(where, given) as PassOptions;
    const { asked, logits, hidden } = this.#begin(ids, given);
    const steps = this.#part(asked, 0, asked.ids.tokens, undefined, logits, hidden);
    return inTurns(steps as Steps<Decoding<C>>, read, () => this.alive(where));
  }

  // What was asked for, and the room for it.
  #begin(ids: IdsInput, given: DecodeOptions) {
    const asked = this.#check(ids, given);
    const { shape } = asked.ids;
    const { modelDim, vocabSize } = this.config;
    const logits =
      asked.logits === 'none'
        ? undefined
        : room(where, [...(asked.logits === 'all' ? shape : shape.slice(0, -1)), vocabSize]);
    const hidden = asked.hidden ? room(where, [...shape, modelDim]) : undefined;
    this.alive(where); // a getter of an argument may have disposed of it
    return { asked, logits, hidden };
  }

  /**
   * Tokens that follow, one by one, as an async iterable; nothing is computed before it is asked for. The prompt is read in
   * pieces, and other work of this thread runs in between. The same ids, options and seed give the same tokens whatever
   * `chunk` is, in one go or over a saved cache, here or in a worker.
   *
   * Without a `cache` it has one of its own, which is freed at the end, at `break`, and at an abort. A caller's cache then
   * holds the ids and all tokens that were given, so that the next call takes only what is new; a reading of ids that fails or is
   * aborted leaves it as it was (where a sliding window has moved on it refuses to be used until `reset()`).
   *
   * @param ids [T] or [1, T], at least one; with a cache, behind what it holds.
   * @throws ArgumentRangeError where ids and maxTokens are more than the cache has room for; while it runs, the signal's
   *   reason, and StateError where someone else changes the cache.
   *
   * @example
   * using cache = model.kvCache({ capacity: 2048 });
   * for await (const { token } of model.generate(prompt, { cache, stop: config.eos_token_id, topP: 0.9, seed: 1, signal })) {
   *   show(token);
   * }
   * for await (const { token } of model.generate(question, { cache, temperature: 0 })) show(token); // goes on
   */
  generate(ids: IdsInput, options: GenerateOptions = {}): AsyncGenerator<GeneratedToken, void, undefined> {
    this.alive('model.generate');
    return generate(this, ids, options);
  }

  // Tokens first ... end - 1 of every batch entry.
  *#part(
    { ids, logits: which, inspection, options }: Pass,
    first: number,
    end: number,
    caches: ModelKvCache['layers'] | undefined,
    logits: NdArray | undefined,
    hidden: NdArray | undefined,
  ): Steps<Decoding> {
    const part = slice(ids, first, end);
    const batched = ids.shape.length === 2;
    const { x, captured, hiddenStates } = yield* run(
      this.passLayers,
      this.math.embed(part),
      inspection,
      batched,
      options,
      caches,
    );
    try {
      this.math.finish(x);
      if (inspection.hiddenStates) hiddenStates.push({ data: x.data(), shape: [...ids.shape, this.config.modelDim] });
      if (hidden !== undefined) this.#copyRows(x, ids, first, hidden);
      if (logits !== undefined && which === 'all') yield* this.#allLogits(x, ids, first, logits);
      if (logits !== undefined && which === 'last' && end === ids.tokens) yield* this.#lastLogits(x, logits);
      return {
        ...(logits && { logits }),
        ...(hidden && { hidden }),
        ...(inspection.hiddenStates && { hiddenStates }),
        ...(inspection.capture && { captured }),
      };
    } finally {
      x.dispose();
    }
  }

  #copyRows(x: Tensor, ids: Ids, first: number, hidden: NdArray): void {
    const { modelDim } = this.config;
    const size = (x.shape[1] as number) * modelDim;
    for (let b = 0; b < ids.batch; ++b) {
      const rows = this.heap.floats(x.pointer + b * size * 4, size);
      hidden.data.set(rows, (b * ids.tokens + first) * modelDim);
    }
  }

  *#allLogits(x: Tensor, ids: Ids, first: number, logits: NdArray): Steps<void> {
    const { head } = this.making.weights.parts;
    const { modelDim, vocabSize } = this.config;
    const count = x.shape[1] as number;
    for (let b = 0; b < ids.batch && head; ++b) {
      const at = x.pointer + b * count * modelDim * 4;
      yield* this.math.logits(head, { at, count }, logits.data, (b * ids.tokens + first) * vocabSize);
    }
  }

  *#lastLogits(x: Tensor, logits: NdArray): Steps<void> {
    const { head } = this.making.weights.parts;
    const { modelDim, vocabSize } = this.config;
    const [batch = 1, count = 1] = x.shape;
    for (let b = 0; b < batch && head; ++b) {
      const at = x.pointer + (b * count + count - 1) * modelDim * 4;
      yield* this.math.logits(head, { at, count: 1 }, logits.data, b * vocabSize);
    }
  }

  #check(idsInput: unknown, given: DecodeOptions): Pass {
    const ids = readIds(where, idsInput, this.config.vocabSize);
    const logits = given.logits ?? (this.hasLogits ? 'last' : 'none');
    check.choice(where, 'logits', logits, logitsOf);
    if (logits !== 'none' && !this.hasLogits) {
      throw new ArgumentRangeError(where, 'logits', logits, `is "${logits}"; the checkpoint has no head for it`);
    }
    const hidden = check.boolean(where, 'hidden', given.hidden ?? false);
    const inspection = checkInspect(where, given, this.passLayers);
    const cache = this.#cache(given, ids);
    const options = cache === undefined ? this.#places(given, ids) : {};
    const chunk = this.#chunk(given.chunk, cache, ids, inspection);
    return { ids, logits, hidden, chunk, inspection, cache, options };
  }

  #cache(given: DecodeOptions, ids: Ids): ModelKvCache | undefined {
    const { cache } = given;
    if (cache === undefined) return undefined;
    if (!(cache instanceof ModelKvCache))
      throw new ArgumentTypeError(where, 'cache', cache, "what this model's kvCache() gave");
    cache.usableIn(this.heap, where, 'cache');
    const refuse = (problem: string): never => {
      throw new ArgumentRangeError(where, 'cache', cache, problem);
    };
    if (cache.layers.length !== this.passLayers.length) {
      refuse(`has ${cache.layers.length} layers; the model has ${this.passLayers.length}`);
    }
    if (cache.batch !== ids.batch) refuse(`has batch ${cache.batch}; ids have ${ids.batch} rows`);
    const end = cache.length + ids.tokens;
    if (cache.capacity !== undefined && end > cache.capacity) {
      const room = cache.capacity - cache.length;
      refuse(`has room for ${room} more tokens, its capacity is ${cache.capacity}; ids have ${ids.tokens}`);
    }
    checkLength(where, this.making.places, 'ids', ids.values, end);
    for (const name of ['attentionMask', 'offset', 'positions'] as const) {
      if (given[name] !== undefined) {
        throw new ArgumentRangeError(where, name, given[name], 'is for passes without a cache');
      }
    }
    return cache;
  }

  #places(given: DecodeOptions, ids: Ids): Pass['options'] {
    const { offset, positions } = given;
    if (offset !== undefined) check.position(where, 'offset', offset);
    const list = positions === undefined ? undefined : check.positions(where, 'positions', positions);
    const end = list === undefined ? (offset ?? 0) + ids.tokens : list.reduce((a, b) => Math.max(a, b), 0) + 1;
    const name = list === undefined ? (offset === undefined ? 'ids' : 'offset') : 'positions';
    checkLength(where, this.making.places, name, positions ?? offset, end);
    return {
      ...(given.attentionMask !== undefined && { mask: paddingMask(where, given.attentionMask, ids) }),
      ...(offset !== undefined && { offset }),
      ...(list !== undefined && { positions: list }),
    };
  }

  #chunk(value: unknown, cache: ModelKvCache | undefined, ids: Ids, inspection: Inspection): number {
    const largest = cache?.chunk ?? 2 ** 20;
    const chunk = check.integer(where, 'chunk', value ?? cache?.chunk ?? defaultChunk, 1, largest);
    if (cache === undefined) return ids.tokens;
    const what = inspection.hiddenStates ? 'hiddenStates' : 'capture';
    if (inspection.whole && ids.tokens > chunk) {
      const problem = `need all tokens in one pass; ids have ${ids.tokens}, chunk is ${chunk}`;
      throw new ArgumentRangeError(where, what, true, problem);
    }
    return chunk;
  }
}

function slice(ids: Ids, first: number, end: number): Ids {
  const { batch, tokens, values } = ids;
  if (first === 0 && end === tokens) return ids;
  const count = end - first;
  const part = new Float64Array(batch * count);
  for (let b = 0; b < batch; ++b) part.set(values.subarray(b * tokens + first, b * tokens + end), b * count);
  return { values: part, batch, tokens: count, shape: [batch, count] };
}
