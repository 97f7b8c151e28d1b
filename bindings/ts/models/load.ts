// Loads a model into wasm memory from a config.json and safetensors, or from a GGUF file.

import { checkSign, type RelativeSign } from '../encodings/relative.js';
import type { Gguf } from '../gguf/file.js';
import { checkKeeping, type WeightArithmetic, type WeightStorage } from '../layers/weights.js';
import type { Angles } from '../rope/options.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { heapOf, type Instance } from '../runtime/instance.js';
import { Safetensors } from '../safetensors/file.js';
import { openFiles } from '../safetensors/open.js';
import type { FileSource } from '../sources/open-source.js';
import { CachedFile } from '../sources/source.js';
import { type ReadOptions, readKeys, readOptions, type TensorFile, type WeightFile } from '../sources/tensor-file.js';
import { isCommon, type ModelConfig, type ModelConfigOptions, modelConfig } from './config.js';
import { DecoderModel } from './decoder.js';
import type { Families, Family } from './description/family.js';
import type { Destination } from './description/slots.js';
import type { EncoderModel } from './encoder.js';
import type { EncoderDecoderModel } from './encoder-decoder.js';
import { common } from './families/common.js';
import { modelPositions } from './positions.js';
import { type Filling, fillSlots } from './stream.js';
import { checkpointOf } from './tensors.js';
import { freeSlots, modelWeights } from './weights.js';

/**
 * What all models are loaded with. `signal` ends the loading and frees all memory; `onProgress` counts bytes, first those of a
 * download of `cached()`, whose `name` is its address.
 */
export interface CommonLoadOptions extends ReadOptions, ModelConfigOptions {
  /**
   * How matrices are stored, including tables of token vectors. `as given`, the default: in the type of the file.
   * `int8`: one byte for each weight, with an error of at most s / 2, where s = max |w| / 127 over its row. `q8_0`, `q4_0`,
   * `q4_k` and the other block types: 8.5 to 4.5 bits for each weight, with scales for 16 or 32 of them; their errors are at
   * `WeightStorage`.
   */
  storage?: WeightStorage;
  /** How products with matrices in blocks are computed. Default `int8`. */
  arithmetic?: WeightArithmetic;
  /**
   * How angles are computed. `exact`, the default: by the formula, without rounding errors that grow with the position.
   * `float32`: with the roundings of Hugging Face's code (inverse frequencies and products in float32), to match its
   * numbers at large positions; the two differ by about 6e-8 times the position, in radians.
   */
  angles?: Angles;
  /**
   * The sign of the distances of BERT's relative_key and relative_key_query. Default `query-minus-key`, as in Hugging
   * Face; tables of other programs may have the opposite sign, which no config states.
   */
  relativeSign?: RelativeSign;
}

/** Options of loadModel for a checkpoint of Hugging Face. */
export interface LoadCheckpointOptions extends CommonLoadOptions {
  /** The parsed config.json. */
  config: Readonly<Record<string, unknown>>;
  /**
   * A file from `openSafetensors`, which the caller disposes of, or a source: the address, path or bytes of a
   * safetensors file or of the index of several.
   */
  weights: Safetensors | FileSource;
}

/** Options of loadModel for a GGUF file. */
export interface LoadGgufOptions extends CommonLoadOptions {
  /**
   * A file from `openGguf`, which the caller disposes of, or a source: the address, path or bytes of a GGUF file, or of the
   * first part of a split one.
   */
  gguf: Gguf | FileSource;
}

/** Options of loadModel. */
export type LoadModelOptions = LoadCheckpointOptions | LoadGgufOptions;

const where = 'loadModel';
const own = ['config', 'weights', 'gguf', 'storage', 'arithmetic', 'angles', 'relativeSign', 'sequenceLength'] as const;

/**
 * Loads a model from an unchanged Hugging Face checkpoint (config.json and safetensors) or from a GGUF file. Supports
 * BERT (absolute positions, relative_key, relative_key_query), Jina BERT v2, RoBERTa, XLM-R, CamemBERT, Nomic BERT,
 * ModernBERT, RoFormer, DeBERTa v3, XLNet (its content stream), T5, FLAN-T5, mT5, UMT5 and Marian (encoder and
 * decoder, or the encoder alone), GPT-2, GPT-J, GPT-NeoX, OPT, BLOOM, MPT, LLaMA 2 and 3, Llama 4 without its images,
 * Mistral, Mixtral, Qwen 2 and 3 (with experts too), Gemma 1 to 3, EmbeddingGemma, Phi 1 to 3, SmolLM3, StableLM,
 * OLMo 2 and 3, Granite, Command R, R+ and R7B. Weights are copied slice by slice from the file to their place in
 * wasm memory, in the type of the file unless `storage` changes it, and never twice in memory (but each matrix of
 * GPT-2 once more while it is turned); a head tied to the token vectors shares their memory.
 *
 * A GGUF file holds everything; docs/models.md lists the values of `general.architecture` and the types of weights. The
 * computation is that of Hugging Face: Phi-3's window counts, and BERT's GELU is exact, where llama.cpp departs from it.
 * The code of encoders, of GGUF files and of most families is imported by the first call that needs it; a service worker,
 * which cannot do that, takes `ropewalk.global.js` or a bundle in one file.
 *
 * Token vectors of Gemma are multiplied by sqrt(M), rounded to their type in the file where that is float16 or bfloat16, as in
 * Hugging Face; all further computation is in float32.
 *
 * @throws ArgumentTypeError or ArgumentRangeError that names an unknown or wrong field of the config; SafetensorsError or
 *   GgufError that names an unknown or wrong key of the header, or a tensor that is missing, of another shape or dtype,
 *   truncated, or not part of the model. Everything loaded so far is then freed.
 *
 * @example
 * import { load } from 'ropewalk';
 * import { loadModel } from 'ropewalk/models';
 * const rw = await load();
 * const base = 'https://example.org/SmolLM2-135M/';
 * const config = await (await fetch(`${base}config.json`)).json();
 * using model = await loadModel(rw, { config, weights: `${base}model.safetensors`, signal });
 * if (model.kind === 'decoder') console.log(model.forward([1, 2, 3]).logits);
 *
 * @example
 * import { load } from 'ropewalk';
 * import { loadModel } from 'ropewalk/models';
 * const rw = await load();
 * using model = await loadModel(rw, { gguf: 'https://example.org/model-Q8_0.gguf', signal });
 * if (model.kind === 'decoder') console.log(model.forward([1, 2, 3]).logits);
 */
export async function loadModel(
  rw: Instance,
  options: LoadModelOptions,
): Promise<EncoderModel | DecoderModel | EncoderDecoderModel> {
  const heap = heapOf(where, rw);
  const either: Partial<LoadCheckpointOptions & LoadGgufOptions> = options;
  const given = check.options(where, 'options', either, [...own, ...readKeys]);
  const { sequenceLength, gguf, config, weights } = given;
  const keeping = checkKeeping(where, given);
  const angles = given.angles ?? 'exact';
  check.choice(where, 'angles', angles, { exact: 0, float32: 1 });
  const read = readOptions(where, given);
  const { onProgress, ...unheard } = read;
  // Of a file that is kept, progress begins with the download.
  const opening = (gguf ?? weights) instanceof CachedFile ? read : unheard;
  const length = sequenceLength === undefined ? {} : { sequenceLength };
  const asked = (found: ModelConfig) => withSign(withAngles(found, angles), given.relativeSign);

  if (gguf !== undefined) {
    for (const [name, value] of Object.entries({ config, weights })) {
      if (value === undefined) continue;
      throw new ArgumentRangeError(where, name, value, 'and gguf exclude each other; a GGUF file has both');
    }
    const { Gguf, ggufModel, openFiles } = await import('./gguf.js');
    return opened(
      gguf,
      Gguf,
      () => openFiles(heap, where, 'gguf', gguf as FileSource, opening),
      async (file) => {
        const model = await ggufModel(where, file, length, read);
        return fromFile({ heap, where, keeping }, model.family, asked(model.config), model.file, read, model.ordered);
      },
    );
  }
  // Imported at once where a config names a model that few use.
  const families: Families = isCommon(config) ? common : (await import('./families/families.js')).families;
  const description = asked(modelConfig(where, config, length, families));
  const family = families[description.architecture] as Family;
  if (weights === undefined)
    throw new ArgumentTypeError(where, 'weights', weights, 'an open file, or the source of one');
  return opened(
    weights,
    Safetensors,
    () => openFiles(heap, where, 'weights', weights as FileSource, opening),
    (file) => fromFile({ heap, where, keeping }, family, description, family.fileOf?.(file, description) ?? file, read),
  );
}

// Does work with the caller's open file, or with one that is opened for it.
async function opened<File extends TensorFile, R>(
  given: File | FileSource,
  Kind: abstract new (...args: never[]) => File,
  open: () => Promise<File>,
  work: (file: File) => Promise<R>,
): Promise<R> {
  if (given instanceof Kind) return work(given);
  const file = await open();
  try {
    return await work(file);
  } finally {
    file.dispose();
  }
}

function withAngles(config: ModelConfig, angles: Angles): ModelConfig {
  if (angles === 'exact') return config;
  return {
    ...config,
    layers: config.layers.map((layer) => ({ ...layer, rope: layer.rope && { ...layer.rope, angles } })),
  };
}

function withSign(config: ModelConfig, relativeSign: RelativeSign | undefined): ModelConfig {
  if (relativeSign === undefined) return config;
  checkSign(where, 'relativeSign', relativeSign);
  if (config.position.startsWith('relative')) return { ...config, relativeSign };
  const problem = `is for relative_key and relative_key_query; this model has ${config.position} positions`;
  throw new ArgumentRangeError(where, 'relativeSign', relativeSign, problem);
}

async function fromFile(
  filling: Filling,
  family: Family,
  config: ModelConfig,
  file: WeightFile,
  read: ReadOptions,
  ordered?: (name: string, destination: Destination) => Destination,
): Promise<EncoderModel | DecoderModel | EncoderDecoderModel> {
  const { heap } = filling;
  const Model =
    config.kind === 'decoder'
      ? DecoderModel
      : config.kind === 'encoder'
        ? (await import('./encoder.js')).EncoderModel
        : (await import('./encoder-decoder.js')).EncoderDecoderModel;
  const { names, slots } = checkpointOf(family, config, file);
  const { destinations } = names;
  if (ordered !== undefined) {
    for (const [name, destination] of destinations) destinations.set(name, ordered(name, destination));
  }
  const all = [...destinations.values()].flatMap(({ runs }) => runs.map(({ slot }) => slot));
  try {
    await fillSlots(filling, file, destinations, read);
    read.signal?.throwIfAborted();
    const tokens = [...destinations].find(([, { runs }]) => runs[0]?.slot === slots.tokens)?.[0] ?? '';
    const weights = modelWeights(heap, where, config, slots, file.info(tokens).dtype);
    const parameters = [...destinations.values()].reduce((sum, { shape }) => sum + check.sizeOf(shape), 0);
    weights.retain(); // so that they are freed if anything below throws
    try {
      const ropes = config.layers.map(({ rope }) => rope);
      const own = family.positions?.(heap, where, config, slots, weights.parts.layers);
      const positions = modelPositions(heap, where, config, weights.parts, ropes, own, family.biases);
      const { decoder } = slots;
      return new Model({ heap, config, weights, positions, parameters, decoder, biases: family.biases });
    } finally {
      weights.release();
    }
  } finally {
    freeSlots(heap, all); // where loading failed, and rows that no part has
  }
}
