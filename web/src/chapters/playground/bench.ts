// The worker's side of the playground: a stack of seeded layers, and one model at a time, with its own position encoding
// and with another one. Knows nothing of the page.
import type { Tokenizer } from '@huggingface/tokenizers';
import type { Memory, RopeScaling, Ropewalk } from 'ropewalk';
import type {
  DecoderModel,
  EncoderModel,
  GeneratedToken,
  GenerateOptions,
  LengthCurve,
  MeasureProgress,
  PassOptions,
  ReadProgress,
} from 'ropewalk/models';
import type { CheckpointFiles, GgufFiles, ModelFiles } from './files';
import { itemsOf } from './items';
import type { Losses } from './losses';
import { factsOf, lookAt } from './model-programs';
import type { ScoreParts } from './score-parts';
import type { StackOptions } from './stack';
import { stackScores } from './stack-scores';
import { tinyModel } from './tiny-model';

export interface LoadOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ReadProgress) => void;
}

/** What is looked at. */
export interface LookWish {
  readonly ids: readonly number[];
  readonly layer: number;
  /** The position of the likeliest tokens. */
  readonly at: number;
  readonly wish: RopeWish;
}

/** What is measured by length. */
export interface LengthWish {
  readonly ids: readonly number[];
  readonly factor: number;
  /** Tokens of the sequences that the model was trained on. */
  readonly trained: number;
  /** Tokens of a window. */
  readonly length: number;
  readonly points: number;
}

export interface ModelFacts {
  readonly architecture: string;
  readonly kind: 'encoder' | 'decoder';
  readonly position: string;
  readonly parameters: number;
  readonly bytes: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly vocabSize: number;
  readonly base: number | undefined;
  readonly maxLength: number | undefined;
  readonly hasLogits: boolean;
  /** Whether it can be given text. */
  readonly readsText: boolean;
}

/** Another rotary encoding for the model; none: no rotation at all. */
export type RopeWish = { readonly base?: number; readonly scaling?: RopeScaling } | 'none' | undefined;

export interface Look {
  readonly scores: ScoreParts;
  readonly causal: boolean;
  /** Positions visible to a query, its own included; 0: all earlier ones. */
  readonly window: number;
  /** Whether the window starts anew at each multiple of its size (Llama 4). */
  readonly chunked: boolean | undefined;
  /** The largest difference of a weight from those of the model as it is. */
  readonly difference: number;
  /** Likeliest tokens at one position, by the model with the wish and by the model as it is. */
  readonly top: readonly { readonly id: number; readonly probability: number; readonly own: number }[];
  readonly memory: Memory;
}

export type AnyModel = EncoderModel | DecoderModel;

// Fetched with the first model.
const models = () => import('ropewalk/models');

async function json(file: Blob, name: string): Promise<Record<string, unknown>> {
  try {
    return JSON.parse(await file.text());
  } catch (error) {
    throw new SyntaxError(`${name}: ${error instanceof Error ? error.message : error}`);
  }
}

// Hugging Face's own, fetched only by those who bring a tokenizer.json.
async function tokenizerOf({ tokenizer, tokenizerConfig }: CheckpointFiles): Promise<Tokenizer | undefined> {
  if (tokenizer === undefined) return undefined;
  const rules = await json(tokenizer, 'tokenizer.json');
  const config = tokenizerConfig ? await json(tokenizerConfig, 'tokenizer_config.json') : {};
  const { Tokenizer } = await import('@huggingface/tokenizers');
  try {
    return new Tokenizer(rules, config);
  } catch (error) {
    throw new SyntaxError(`tokenizer.json: ${error instanceof Error ? error.message : error}`);
  }
}

export class Bench {
  readonly #core: Ropewalk;
  #model: AnyModel | undefined;
  #changed: { readonly wish: string; readonly model: AnyModel } | undefined;
  #tokenizer: Tokenizer | undefined;

  constructor(core: Ropewalk) {
    this.#core = core;
  }

  memory(): Memory {
    return this.#core.memory();
  }

  /** The scores of the last layer of a stack: [1, H, T, T]. */
  stack(words: readonly string[], options: StackOptions): ScoreParts {
    const { content, position, biased, probabilities } = stackScores(this.#core, words, options);
    return { content: content.data, position: position.data, biased: biased.data, probabilities: probabilities.data };
  }

  /** Replaces the model, which is freed first: there may be no memory for two. */
  async open(files: ModelFiles, options: LoadOptions): Promise<ModelFacts> {
    this.close();
    return 'gguf' in files ? this.#openGguf(files, options) : this.#openCheckpoint(files, options);
  }

  async #openGguf({ gguf, parts }: GgufFiles, { signal, onProgress }: LoadOptions): Promise<ModelFacts> {
    const { GgufError, loadModel, openGguf, tokenizerFromGguf } = await models();
    const part = (number: number): Blob => parts[number] ?? new Blob();
    const file = await openGguf(this.#core, gguf, { signal, part });
    try {
      const model = await loadModel(this.#core, { gguf: file, signal, onProgress });
      if (model.kind === 'encoder-decoder') {
        model.dispose();
        const way = 'of such a model the figures look at the encoder, which config.json and its .safetensors give';
        throw new RangeError(`${gguf.name} has an encoder and a decoder; ${way}`);
      }
      this.#model = model;
    } finally {
      file.dispose();
    }
    const { metadata } = file;
    const length = metadata.get(`${metadata.get('general.architecture')}.context_length`);
    const { Tokenizer } = await import('@huggingface/tokenizers');
    let tokenizer: Tokenizer | undefined;
    try {
      const { tokenizerJson, tokenizerConfig } = tokenizerFromGguf(file);
      tokenizer = new Tokenizer(tokenizerJson, tokenizerConfig);
    } catch (error) {
      if (!(error instanceof GgufError)) throw error; // a kind that is not known: the model takes ids
    }
    return this.#opened({ max_position_embeddings: length }, tokenizer);
  }

  async #openCheckpoint(files: CheckpointFiles, { signal, onProgress }: LoadOptions): Promise<ModelFacts> {
    const config = await json(files.config, 'config.json');
    const tokenizer = await tokenizerOf(files);
    const { loadModel, openSafetensors } = await models();
    const shard = (name: string): Blob => {
      const found = files.shards[name];
      if (found === undefined) throw new RangeError(`${name} is named by the index and is not among the files`);
      return found;
    };
    const file = await openSafetensors(this.#core, files.weights, { signal, shard });
    try {
      // Of a model of encoder and decoder the encoder is looked at, which is what a config without a class means.
      const asked = config?.is_encoder_decoder === true ? { ...config, architectures: undefined } : config;
      this.#model = (await loadModel(this.#core, { config: asked, weights: file, signal, onProgress })) as AnyModel;
    } finally {
      file.dispose();
    }
    return this.#opened(config, tokenizer);
  }

  async tiny(kind: 'decoder' | 'encoder', seed: number): Promise<ModelFacts> {
    this.close();
    const made = tinyModel(kind, seed);
    const { loadModel } = await models();
    this.#model = (await loadModel(this.#core, made)) as AnyModel;
    return this.#opened(made.config, undefined);
  }

  #opened(config: Record<string, unknown>, tokenizer: Tokenizer | undefined): ModelFacts {
    const model = this.#here();
    this.#tokenizer = tokenizer;
    const { kind, config: description } = model;
    return {
      ...{ ...factsOf(model, config), kind, position: description.position },
      hasLogits: model.hasLogits,
      readsText: tokenizer !== undefined,
    };
  }

  close(): void {
    this.#changed?.model.dispose();
    this.#changed = undefined;
    this.#model?.dispose();
    this.#model = undefined;
    this.#tokenizer = undefined;
  }

  #here(): AnyModel {
    if (this.#model === undefined) throw new ReferenceError('there is no model');
    return this.#model;
  }

  #with(wish: RopeWish): AnyModel {
    const own = this.#here();
    if (wish === undefined || own.config.position !== 'rope') return own;
    const key = JSON.stringify(wish);
    if (this.#changed?.wish !== key) {
      this.#changed?.model.dispose();
      this.#changed = undefined;
      this.#changed = { wish: key, model: own.withRope(wish === 'none' ? () => null : wish) };
    }
    return this.#changed.model;
  }

  /** The ids that a text is, or is written as: numbers alone are ids. undefined: it takes a tokenizer to read it. */
  read(text: string): number[] | undefined {
    const items = itemsOf(text);
    if (items.every((item) => /^\d+$/.test(item))) return items.map(Number);
    return this.#tokenizer && Array.from(this.#tokenizer.encode(text).ids, Number);
  }

  /** How the vocabulary spells tokens, spaces and new lines by a sign; their numbers, where it is not known. */
  names(ids: readonly number[]): string[] {
    const spelled = (id: number) => this.#tokenizer?.id_to_token(id)?.replaceAll(/[Ġ▁]/g, '␣').replaceAll('Ċ', '↵');
    return ids.map((id) => spelled(id) ?? String(id));
  }

  /** The text that tokens are. */
  text(ids: readonly number[]): string {
    return ids.length === 0 ? '' : (this.#tokenizer?.decode([...ids]) ?? '');
  }

  /** @param told is told the share that is done, after each layer. */
  async look({ ids, layer, at, wish }: LookWish, signal: AbortSignal, told: (share: number) => void): Promise<Look> {
    const own = this.#here();
    const model = this.#with(wish);
    const passes = model === own ? 1 : 2;
    const options = (before: number): PassOptions => ({
      signal,
      onProgress: ({ loaded, total }) => told((before + loaded / total) / passes),
    });
    const { scores, ownScores, top } = await lookAt(model, own, ids, layer, at, options);
    if (scores === undefined || ownScores === undefined) throw new RangeError(`there is no layer ${layer}`);
    const { content, position, biased, probabilities } = scores;
    return {
      scores: {
        content: content.data,
        position: position.data,
        biased: biased.data,
        probabilities: probabilities.data.slice(),
      },
      causal: own.kind === 'decoder',
      window: own.config.layers[layer]?.window ?? 0,
      chunked: own.config.layers[layer]?.chunked,
      difference: probabilities.data.reduce(
        (most, value, i) => Math.max(most, Math.abs(value - (ownScores.probabilities.data[i] ?? 0))),
        0,
      ),
      top,
      memory: this.memory(),
    };
  }

  /** Losses of a text, as the trained model has them and with other positions. */
  async losses(ids: readonly number[], seed: number): Promise<Losses> {
    return (await import('./losses')).lossesByChange(this.#here() as DecoderModel, ids, seed);
  }

  /** @param told is told the share that is done, after each piece of a window. */
  async lengths(
    { ids, factor, trained, length, points }: LengthWish,
    signal: AbortSignal,
    told: (share: number) => void,
  ): Promise<LengthCurve[]> {
    const { lossesByLength } = await import('./lengths');
    const onProgress = ({ loaded, total }: MeasureProgress): void => told(loaded / total);
    const options = { length, points, signal, onProgress };
    return lossesByLength(this.#here() as DecoderModel, ids, factor, trained, options);
  }

  generate(ids: readonly number[], wish: RopeWish, options: GenerateOptions): AsyncIterable<GeneratedToken> {
    return this.#with(wish).generate(ids, options);
  }
}
