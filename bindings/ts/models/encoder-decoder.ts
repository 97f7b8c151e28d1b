// A model of an encoder and a decoder: the encoder reads a source, the decoder writes a target token by token.
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import { Handle, orDisposed } from '../runtime/handle.js';
import type { NdArray } from '../runtime/tensor.js';
import { readKeys, readOptions } from '../sources/tensor-file.js';
import type { BeamOptions } from './beams.js';
import { checkStorage, createModelCache } from './cache.js';
import type { ModelConfig } from './config.js';
import { CrossDecoder, type Source } from './cross-decoder.js';
import type { DistanceBiases } from './description/family.js';
import type { DecoderSlots } from './description/slots.js';
import { type EncodeOptions, EncoderModel, type Encoding } from './encoder.js';
import { type GeneratedToken, type GenerateOptions, generate, generateFields, type Stepper } from './generate.js';
import { type Ids, type IdsInput, paddingMask, readIds } from './ids.js';
import { frozen, type ModelInfo, type ModelMaking } from './model.js';
import { checkLength } from './positions.js';
import { atOnce, inTurns, type PassOptions, type PassProgress, type Steps } from './run.js';

/** Options of `encode`. */
export type SourceOptions = Omit<EncodeOptions, 'tokenTypes' | 'pooled' | 'logits'>;

/** Options of a pass through encoder and decoder. */
export interface TargetOptions {
  /** 1 for a token of the source, 0 for padding, in the shape of its ids. Default: all tokens. */
  attentionMask?: IdsInput;
  /** Default `last`, one token of each target. */
  logits?: 'last' | 'all';
  /** Whether to return what each target token attends to in the source. Default false. */
  crossProbabilities?: boolean;
}

/** The results of a pass. For ids [T] they have no batch axis. */
export interface TargetResult {
  /** [B, V] for the last token, or [B, T, V] for all. */
  readonly logits: NdArray;
  /** `[B, H, T, S]` of each layer: the weights of source tokens; with `crossProbabilities`. */
  readonly crossProbabilities?: readonly NdArray[];
}

/** Options of `generate` of a model with an encoder. `onProgress` counts the encoder's layers. */
export interface TargetGenerateOptions
  extends Omit<GenerateOptions, 'cache' | 'chunk' | keyof PassOptions>,
    PassOptions {
  /** 1 for a token of the source, 0 for padding, in the shape of its ids. Default: all tokens. */
  attentionMask?: IdsInput;
  /** What the target begins with: [T], or [B, T]. Default: the start token of the config.json. */
  targetIds?: IdsInput;
  /**
   * Searches with so many beams (`num_beams`): that many beginnings go on side by side, and the best target that ended is given
   * once it is found. For ids of one row. `logitBias` is added to logarithms of probabilities; what else chooses single tokens
   * is refused, at the first `next()`. Default: no search.
   */
  beams?: number | BeamOptions;
}

/** What loadModel makes it of. @internal */
export interface EncoderDecoderMaking extends ModelMaking {
  readonly decoder: DecoderSlots | undefined;
  readonly biases: DistanceBiases | undefined;
}

const passFields = ['attentionMask', 'logits', 'crossProbabilities'] as const;

interface Parts {
  readonly encoder: EncoderModel;
  readonly decoder: CrossDecoder;
  /** Of the decoder alone. */
  readonly config: ModelConfig;
}

function partsOf({ decoder: slots, biases, ...making }: EncoderDecoderMaking): Parts {
  const where = 'loadModel';
  const { decoder: description = making.config, ...rest } = making.config;
  const config = { ...rest, ...description };
  const encoder = new EncoderModel({ ...making, config: { ...rest, kind: 'encoder' } }).adopted();
  return orDisposed([encoder], () => {
    const { heap, weights } = making;
    const { vectors } = weights.parts;
    const decoder = new CrossDecoder({ heap, where, config, slots: slots as DecoderSlots, vectors, biases }).adopted();
    return { encoder, decoder, config };
  });
}

function freer({ encoder, decoder }: Parts): () => void {
  return () => {
    decoder.dispose(); // its head may share the encoder's token vectors
    encoder.dispose();
  };
}

/** A checked pass. */
interface Pass {
  readonly where: string;
  readonly source: Ids;
  readonly mask: ReturnType<typeof paddingMask> | undefined;
  readonly target: Ids;
  readonly logits: 'last' | 'all';
  readonly crossProbabilities: boolean;
}

/**
 * A T5, FLAN-T5, mT5, UMT5 or Marian, made by `loadModel()` of a config.json whose class gives logits
 * (T5ForConditionalGeneration, MarianMTModel). With another class, such as T5EncoderModel, or none, `loadModel()` gives the
 * encoder alone.
 *
 * @example
 * using model = await loadModel(rw, { config, weights: 'model.safetensors' });
 * if (model.kind === 'encoder-decoder') {
 *   const { logits } = model.forward([37, 82, 1], [0, 44]);   // [V], what follows 44
 *   const options = { temperature: 0, stop: config.eos_token_id };
 *   for await (const { token } of model.generate([37, 82, 1], options)) show(token);
 * }
 */
export class EncoderDecoderModel extends Handle {
  /** Tells it from encoders and decoders. */
  readonly kind = 'encoder-decoder';
  /** The description from its config.json; frozen. */
  readonly config: ModelConfig;
  /** Its architecture and size. */
  readonly info: ModelInfo;
  readonly #parts: Parts;

  /** @internal */
  constructor(making: EncoderDecoderMaking) {
    const parts = partsOf(making);
    super(making.heap, freer(parts));
    const { architecture, parameters, bytes } = parts.encoder.info;
    this.config = frozen(making.config);
    this.info = Object.freeze({ architecture, parameters, bytes: bytes + parts.decoder.bytes });
    this.#parts = parts;
  }

  /**
   * Runs the encoder alone.
   *
   * @param ids [S], or [B, S] as rows of equal length, or a tokenizer's tensor ({ data, dims }).
   * @throws ArgumentRangeError for ids outside the vocabulary or too many; StateError after dispose().
   *
   * @example
   * const { hidden } = model.encode([37, 82, 1]); // [3, M]
   */
  encode(ids: IdsInput, options: SourceOptions = {}): Encoding {
    const where = 'model.encode';
    this.alive(where);
    const known = ['attentionMask', 'positions', 'capture', 'captureLayers', 'captureHeads', 'hiddenStates'] as const;
    return this.#parts.encoder.pass(where, ids, check.options(where, 'options', options, known));
  }

  /**
   * Runs the source through the encoder and the target through the decoder.
   *
   * @param ids of the source: [S], or [B, S].
   * @param targetIds [T], or [B, T], from the start token on. Default: the start token alone.
   * @throws ArgumentRangeError for ids outside the vocabulary, too many, or another number of rows; StateError after
   *   dispose().
   *
   * @example
   * const { crossProbabilities } = model.forward(ids, [0, 5, 6], { crossProbabilities: true });
   */
  forward(ids: IdsInput, targetIds?: IdsInput, options: TargetOptions = {}): TargetResult {
    const where = 'model.forward';
    const pass = this.#begin(where, ids, targetIds, check.options(where, 'options', options, passFields));
    const { hidden } = this.#parts.encoder.pass(where, inputOf(pass.source), maskOf(pass));
    return atOnce(this.#steps(pass, hidden));
  }

  /**
   * Gives the same bits as forward(). Between two layers other work runs, and the pass can be aborted and reports its
   * progress, in layers of both.
   *
   * @throws the errors of forward(), and the signal's reason; StateError where the model was disposed of meanwhile.
   *
   * @example
   * const { logits } = await model.forwardAsync(ids, [0, 5, 6], { logits: 'all', signal });
   */
  async forwardAsync(
    ids: IdsInput,
    targetIds?: IdsInput,
    options: TargetOptions & PassOptions = {},
  ): Promise<TargetResult> {
    const where = 'model.forwardAsync';
    const given = check.options(where, 'options', options, [...passFields, ...readKeys]);
    const read = readOptions(where, given) as PassOptions;
    const pass = this.#begin(where, ids, targetIds, given);
    const { encoder, decoder } = this.#parts;
    const first = encoder.config.layers.length;
    const counted = (before: number): PassOptions => ({
      ...read,
      ...(read.onProgress && {
        onProgress: ({ loaded }: PassProgress) =>
          read.onProgress?.({ loaded: before + loaded, total: first + decoder.layers.length }),
      }),
    });
    const { hidden } = await encoder.passAsync(where, inputOf(pass.source), maskOf(pass), counted(0));
    return inTurns(this.#steps(pass, hidden), counted(first), () => this.alive(where));
  }

  /**
   * Generates a target token by token, as an async iterable; each is computed when it is requested. The source is read once,
   * layer by layer, between which other work of this thread runs. The start token, or `targetIds`, is not given again. Options
   * are those of a decoder's `generate` without a cache: the target of one call is whole.
   *
   * @param ids of the source: [S], or [B, S] for B targets, written side by side; each token says its `row`.
   * @throws ArgumentRangeError where ids or options do not fit; while it runs, the signal's reason, and StateError where the
   *   model was disposed of.
   *
   * @example
   * const options = { temperature: 0, stop: config.eos_token_id, maxTokens: 32, signal };
   * for await (const { token } of model.generate(tokenizer.encode(text).ids, options)) show(token);
   */
  generate(ids: IdsInput, options: TargetGenerateOptions = {}): AsyncGenerator<GeneratedToken, void, undefined> {
    const where = 'model.generate';
    this.alive(where);
    const given = check.options(where, 'options', options, [...generateFields, 'attentionMask', 'targetIds', 'beams']);
    const { attentionMask, targetIds, beams, onProgress, ...rest } = given;
    const { encoder } = this.#parts;
    const read = readOptions(where, given as object) as PassOptions;
    const pass = this.#begin(where, ids, targetIds, attentionMask === undefined ? {} : { attentionMask });
    let source: Source | undefined;
    const stepper = this.#stepper(() => source);
    const target = inputOf(pass.target);
    const tokens = generate(stepper, target, rest);
    const model = this;
    return (async function* () {
      const search = beams !== undefined && (await import('./beams.js')).searching(stepper, target, rest, beams);
      const { hidden } = await encoder.passAsync(where, inputOf(pass.source), maskOf(pass), read);
      source = search ? model.#source(...search.rows(pass, hidden)) : model.#source(pass, hidden);
      try {
        yield* search ? search.tokens : tokens;
      } finally {
        source.keysAndValues.dispose();
      }
    })();
  }

  #begin(where: string, ids: IdsInput, targetIds: IdsInput | undefined, given: TargetOptions): Pass {
    const { config } = this.#parts;
    const source = readIds(where, ids, this.config.vocabSize);
    const target =
      targetIds === undefined ? this.#start(source) : readIds(where, targetIds, config.vocabSize, 'targetIds');
    this.alive(where);
    if (target.shape.length !== source.shape.length || target.batch !== source.batch) {
      const problem = `has shape [${target.shape.join(', ')}]; ids have [${source.shape.join(', ')}], as many rows are expected`;
      throw new ArgumentRangeError(where, 'targetIds', targetIds, problem);
    }
    checkLength(where, { maxLength: this.#maxLength }, 'targetIds', targetIds, target.tokens);
    const { attentionMask, logits = 'last', crossProbabilities = false } = given;
    check.choice(where, 'logits', logits, { last: 0, all: 1 });
    check.boolean(where, 'crossProbabilities', crossProbabilities);
    const mask = attentionMask === undefined ? undefined : paddingMask(where, attentionMask, source);
    return { where, source, mask, target, logits, crossProbabilities };
  }

  // The start token of each row.
  #start({ batch, shape }: Ids): Ids {
    const values = new Float64Array(batch).fill(this.config.startToken ?? 0);
    return { values, batch, tokens: 1, shape: [...shape.slice(0, -1), 1] };
  }

  get #maxLength(): number {
    return this.#parts.config.maxPositions ?? Number.POSITIVE_INFINITY;
  }

  #source({ where, source, mask }: Pass, hidden: NdArray): Source {
    this.alive(where);
    return this.#parts.decoder.source(where, hidden, source, mask);
  }

  // The decoder's pass over all of the target, over what it has of the source.
  *#steps(pass: Pass, hidden: NdArray): Steps<TargetResult> {
    const { where, target, logits, crossProbabilities } = pass;
    const { decoder } = this.#parts;
    const source = this.#source(pass, hidden);
    try {
      const cache = createModelCache(this.heap, decoder.layers, { batch: target.batch });
      try {
        const wanted = { logits, crossProbabilities };
        return (yield* decoder.pass(where, target, source, cache, wanted)) as TargetResult;
      } finally {
        cache.dispose();
      }
    } finally {
      source.keysAndValues.dispose();
    }
  }

  // What generate() runs.
  #stepper(source: () => Source | undefined): Stepper {
    const { heap } = this;
    const { decoder, config } = this.#parts;
    const isDisposed = () => this.disposed;
    return {
      ...{ heap, config, hasLogits: true, maxLength: this.#maxLength },
      get disposed() {
        return isDisposed();
      },
      kvCache: (options) => createModelCache(heap, decoder.layers, options),
      checkStorage: (where, storage) => checkStorage(where, storage, decoder.layers),
      pass: (where, ids, { cache, logits = 'last' }) => {
        this.alive(where);
        return atOnce(
          decoder.pass(where, readIds(where, ids, config.vocabSize), source() as Source, cache, { logits }),
        );
      },
    };
  }
}

const inputOf = ({ values, shape }: Ids): IdsInput => ({ data: values, shape });

function maskOf({ mask, source }: Pass): EncodeOptions {
  return mask === undefined ? {} : { attentionMask: { data: Float64Array.from(mask.data), shape: source.shape } };
}
