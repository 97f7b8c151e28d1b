// A model from the header of a GGUF file: its description, as its config.json would give it, and its tensors under the
// names and in the order of rows of Hugging Face's classes. This and what reads such files is imported by the first call.

import { ropeFromGgml } from '../checkpoints/runtimes.js';
import { Gguf } from '../gguf/file.js';
import { openFiles } from '../gguf/files.js';
import { flag, type Kind, Metadata, text } from '../gguf/metadata.js';
import type { RopeOptions } from '../rope/options.js';
import { ArgumentRangeError, ArgumentTypeError, describe, type GgufError } from '../runtime/errors.js';
import type { ReadOptions, WeightFile } from '../sources/tensor-file.js';
import { type ModelArchitecture, type ModelConfig, type ModelConfigOptions, modelConfig } from './config.js';
import type { Family } from './description/family.js';
import type { Destination, Run } from './description/slots.js';
import { families } from './families/families.js';
import { ggufName, hubNames, type Naming, namings } from './gguf-names.js';

// By general.architecture; Mistral's files say llama.
const architectures: Readonly<Record<string, ModelArchitecture>> = {
  llama: 'llama',
  qwen2: 'qwen2',
  qwen3: 'qwen3',
  smollm3: 'smollm3',
  gemma: 'gemma',
  gemma2: 'gemma2',
  gemma3: 'gemma3',
  phi3: 'phi3',
  gptneox: 'gpt_neox',
  bert: 'bert',
  'nomic-bert': 'nomic_bert',
};

const isEncoder = (model: ModelArchitecture) => model === 'bert' || model === 'nomic_bert';

// Tensors that hold settings.
const factorNames = ['rope_freqs.weight', 'rope_factors_long.weight', 'rope_factors_short.weight'] as const;

// Entries that change the computation; all others are about training, sampling and management of files.
const computes = /scale|softcap|alibi|clamp|clip|expert|causal|parallel|rope|window|groups|residual|multiplier|shared/;

const positive: Kind<number> = {
  is: (value): value is number => typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY,
  expected: 'a positive number',
};

const anything: Kind<unknown> = { is: (value): value is unknown => value !== undefined, expected: 'a value' };

/** The entries of one architecture, by the rest of their keys. */
class Header {
  readonly architecture: string;
  readonly #metadata: Metadata;
  readonly #used = new Set<string>();

  constructor(gguf: Gguf) {
    this.#metadata = new Metadata(gguf);
    this.architecture = this.#metadata.oneOf('general.architecture', Object.keys(architectures));
  }

  error(name: string, problem: string, cause?: unknown): GgufError {
    return this.#metadata.error(this.#key(name), problem, cause);
  }

  #key(name: string): string {
    return `${this.architecture}.${name}`;
  }

  read<T>(name: string, kind: Kind<T>): T | undefined {
    const key = this.#key(name);
    this.#used.add(key);
    return this.#metadata.read(key, kind);
  }

  /** A positive number. */
  number(name: string): number | undefined {
    const value = this.read(name, positive);
    return value === undefined ? undefined : decimalOf(value);
  }

  /** A whole number of at least 1, or an array in which every layer has the same. */
  size(name: string): number | undefined {
    const value = this.read(name, anything);
    const [first, ...others] = ArrayBuffer.isView(value) ? (value as Int32Array) : [value];
    if (others.some((each) => each !== first)) {
      throw this.error(name, 'differs from layer to layer; expected one for all');
    }
    if (first === undefined) return undefined;
    const number = typeof first === 'bigint' ? Number(first) : first;
    if (typeof number === 'number' && Number.isInteger(number) && number >= 1) return number;
    throw this.error(name, `is ${describe(value)}; expected a whole number of at least 1`);
  }

  /** The same, where 0 means that there is none. */
  sizeIfAny(name: string): number | undefined {
    const value = this.read(name, anything);
    return value === 0 || value === 0n ? undefined : this.size(name);
  }

  /** A size that every model has. */
  needed(name: string): number {
    return this.#needed(name, this.size(name), 'a whole number of at least 1');
  }

  neededNumber(name: string): number {
    return this.#needed(name, this.number(name), positive.expected);
  }

  #needed(name: string, value: number | undefined, expected: string): number {
    if (value === undefined) throw this.error(name, `is missing; expected ${expected}`);
    return value;
  }

  /** Refuses an entry that was not read and would change the computation. */
  refuseUnread(): void {
    for (const key of this.#metadata.keys()) {
      if (!key.startsWith(this.#key('')) || this.#used.has(key) || !computes.test(key)) continue;
      const value = this.#metadata.read(key, anything);
      if (value === 0 || value === 0n || value === false || value === '') continue;
      throw this.#metadata.error(key, `is ${describe(value)}; nothing would use it`);
    }
  }
}

// The shortest decimal with the same float32: what the config.json said that was rounded, such as 1e-5.
function decimalOf(value: number): number {
  for (let digits = 6; digits < 9; ++digits) {
    const decimal = Number(value.toPrecision(digits));
    if (Math.fround(decimal) === value) return decimal;
  }
  return value;
}

// Rows of a tensor; the error where it is missing comes with the other tensors.
function rowsOf(gguf: Gguf, name: string): number {
  const [rows = 1] = gguf.has(name) ? asTable(gguf.info(name).shape) : [];
  return rows;
}

// A table of one row may have been stored as a vector.
function asTable(shape: readonly number[]): readonly number[] {
  return shape.length === 1 ? [1, ...shape] : shape;
}

function ropeParameters(header: Header, factors: Factors): Readonly<Record<string, unknown>> {
  const type = header.read('rope.scaling.type', text) ?? 'linear';
  header.read('rope.scaling.finetuned', flag);
  const older = header.number('rope.scale_linear');
  const factor = header.number('rope.scaling.factor') ?? older;
  const length = header.size('rope.scaling.original_context_length');
  const attention = header.number('rope.scaling.attn_factor') ?? 1;
  const { long, short } = factors;
  if (long !== undefined || short !== undefined) {
    // Usually the factor of the formula, rounded.
    const original = header.needed('rope.scaling.original_context_length');
    const scale = header.needed('context_length') / original;
    const usual = scale > 1 ? Math.sqrt(1 + Math.log(scale) / Math.log(original)) : 1;
    const own = attention !== 1 && Math.fround(attention) !== Math.fround(usual);
    return {
      ...{ rope_type: 'longrope', long_factor: long, short_factor: short, original_max_position_embeddings: original },
      ...(own && { attention_factor: attention }),
    };
  }
  if (attention !== 1 && type !== 'yarn') {
    throw header.error(
      'rope.scaling.attn_factor',
      `is ${attention}; expected 1 without yarn or long and short factors`,
    );
  }
  switch (type) {
    case 'none':
      return { rope_type: 'default' };
    case 'linear':
      return factor === undefined ? { rope_type: 'default' } : { rope_type: 'linear', factor };
    case 'yarn': {
      const betas = {
        beta_fast: header.number('rope.scaling.yarn_beta_fast'),
        beta_slow: header.number('rope.scaling.yarn_beta_slow'),
      };
      const ramp = header.number('rope.scaling.yarn_ext_factor') ?? 1;
      if (ramp !== 1) throw header.error('rope.scaling.yarn_ext_factor', `is ${ramp}; expected 1`);
      const by = header.neededNumber('rope.scaling.factor');
      // The first is config.json's attention_factor, the second multiplies what YaRN gives.
      const stated = header.number('rope.scaling.yarn_attn_factor');
      const own = stated ?? (attention === 1 ? undefined : 1 + 0.1 * Math.log(by));
      return {
        ...{ rope_type: 'yarn', factor: by, ...betas, original_max_position_embeddings: length },
        ...(own !== undefined && { attention_factor: own * attention }),
      };
    }
    default:
      throw header.error('rope.scaling.type', `is ${describe(type)}; expected "none", "linear" or "yarn"`);
  }
}

/** What divides the frequencies. */
interface Factors {
  readonly all?: readonly number[];
  readonly long?: readonly number[];
  readonly short?: readonly number[];
}

async function factorsOf(gguf: Gguf, read: ReadOptions): Promise<Factors> {
  const signal = read.signal === undefined ? {} : { signal: read.signal };
  const [all, long, short] = await Promise.all(
    factorNames.map(async (name) =>
      gguf.has(name) ? Array.from(await gguf.tensor(name, { as: 'float32', ...signal })) : undefined,
    ),
  );
  for (const [i, list] of [all, long, short].entries()) {
    const wrong = list?.find((factor) => !(factor > 0 && factor < Number.POSITIVE_INFINITY));
    if (wrong !== undefined) throw gguf.failure(factorNames[i], `has a factor of ${wrong}; expected positive numbers`);
  }
  if ((long === undefined) !== (short === undefined)) {
    throw gguf.failure(
      factorNames[long === undefined ? 1 : 2],
      'is missing; expected both of the long and the short factors',
    );
  }
  return { ...(all && { all }), ...(long && { long }), ...(short && { short }) };
}

// The fields of config.json.
function configOf(header: Header, gguf: Gguf, model: ModelArchitecture, factors: Factors) {
  const heads = header.needed('attention.head_count');
  const modelDim = header.needed('embedding_length');
  const headDim = header.size('attention.key_length') ?? Math.floor(modelDim / heads);
  const valueDim = header.size('attention.value_length') ?? headDim;
  if (valueDim !== headDim) {
    throw header.error('attention.value_length', `is ${valueDim}; expected ${headDim}`);
  }
  const layers = header.needed('block_count');
  const rotary = header.size('rope.dimension_count') ?? headDim;
  const base = header.number('rope.freq_base');
  const isBert = model === 'bert';
  const encodes = isEncoder(model);
  const hasLayerNorms = encodes || model === 'gpt_neox';
  // Models that give vectors of texts, or that rank them, have no logits.
  const isPooled = header.sizeIfAny('pooling_type') !== undefined || gguf.names.some((name) => name.startsWith('cls.'));
  const config: Record<string, unknown> = {
    model_type: model,
    ...(!encodes && { architectures: [families[model].stem + (isPooled ? 'Model' : 'ForCausalLM')] }),
    hidden_size: modelDim,
    intermediate_size: header.needed('feed_forward_length'),
    num_attention_heads: heads,
    num_key_value_heads: header.size('attention.head_count_kv') ?? heads,
    head_dim: headDim,
    num_hidden_layers: layers,
    vocab_size: rowsOf(gguf, 'token_embd.weight'),
    tie_word_embeddings: encodes || (!isPooled && !gguf.has('output.weight')),
    max_position_embeddings: isBert ? rowsOf(gguf, 'position_embd.weight') : header.needed('context_length'),
    ...(hasLayerNorms
      ? { layer_norm_eps: header.neededNumber('attention.layer_norm_epsilon') }
      : { rms_norm_eps: header.neededNumber('attention.layer_norm_rms_epsilon') }),
  };
  const types = { ...(encodes && { type_vocab_size: rowsOf(gguf, 'token_types.weight') }) };
  if (isBert) return { ...config, ...types };
  const parameters = {
    ...ropeParameters(header, factors),
    rope_theta: base ?? 10000,
    ...((rotary !== headDim || model === 'gpt_neox') && { partial_rotary_factor: rotary / headDim }),
  };
  const window = () => header.sizeIfAny('attention.sliding_window');
  // The models of 27 billion weights have another scale, which no entry tells.
  const is27B = layers === (model === 'gemma2' ? 46 : 62);
  const gemmaScale = { query_pre_attn_scalar: is27B ? modelDim / heads : headDim };
  switch (model) {
    case 'gemma2':
      return {
        ...{ ...config, ...gemmaScale, ...slidingOf(header), rope_parameters: parameters },
        sliding_window: window() ?? 4096,
        attn_logit_softcapping: header.number('attn_logit_softcapping') ?? 50,
        final_logit_softcapping: header.number('final_logit_softcapping') ?? 30,
      };
    case 'gemma3': {
      const stated = window();
      return {
        ...{ ...config, ...gemmaScale },
        // The layers that slide are not scaled.
        rope_parameters: {
          full_attention: parameters,
          sliding_attention: { rope_type: 'default', rope_theta: header.number('rope.freq_base_swa') ?? 10000 },
        },
        ...(stated === undefined ? { sliding_window_pattern: 1 } : { sliding_window: stated, ...slidingOf(header) }),
        final_logit_softcapping: header.number('final_logit_softcapping') ?? null,
      };
    }
    case 'gpt_neox':
      return {
        ...config,
        rope_parameters: parameters,
        use_parallel_residual: header.read('use_parallel_residual', flag),
      };
    case 'nomic_bert':
      // Converters take no others.
      return {
        ...{ ...config, ...types, rope_parameters: parameters, activation_function: 'swiglu', rotary_emb_fraction: 1 },
        ...{ qkv_proj_bias: false, mlp_fc1_bias: false, mlp_fc2_bias: false },
      };
    case 'phi3':
      return { ...config, rope_parameters: parameters, sliding_window: window() ?? null };
    case 'llama': {
      const stated = window();
      if (stated === undefined) return { ...config, rope_parameters: parameters };
      const mistral = { model_type: 'mistral', architectures: ['MistralForCausalLM'] };
      return { ...config, ...mistral, rope_parameters: parameters, sliding_window: stated };
    }
    default:
      return { ...config, rope_parameters: parameters };
  }
}

// Which layers slide: every nth does not, or a flag for each layer.
function slidingOf(header: Header): Readonly<Record<string, unknown>> {
  const pattern = header.read('attention.sliding_window_pattern', anything);
  if (Array.isArray(pattern)) {
    return { layer_types: pattern.map((slides) => (slides ? 'sliding_attention' : 'full_attention')) };
  }
  return pattern === undefined ? {} : { sliding_window_pattern: header.needed('attention.sliding_window_pattern') };
}

// Divides the frequencies of a rotary encoding, as ggml does; LLaMA 3's scaling is stored so.
function divided(rope: RopeOptions | null, factors: readonly number[]): RopeOptions | null {
  if (rope === null) return null;
  const { headDim, rotaryDim = headDim, base = 10000, scaling } = rope;
  const scale = scaling?.type === 'linear' ? 1 / scaling.factor : 1;
  const sizes = { n_rot: rotaryDim, head_dim: headDim, mode: 2 } as const;
  return ropeFromGgml({ ...sizes, freq_base: base, freq_scale: scale, freq_factors: factors });
}

// The entries that fields of config.json come from.
const keys: Readonly<Record<string, string>> = {
  hidden_size: 'embedding_length',
  num_attention_heads: 'attention.head_count',
  num_key_value_heads: 'attention.head_count_kv',
  num_hidden_layers: 'block_count',
  intermediate_size: 'feed_forward_length',
  max_position_embeddings: 'context_length',
  partial_rotary_factor: 'rope.dimension_count',
  factor: 'rope.scaling.factor',
  rope_theta: 'rope.freq_base',
  sliding_window: 'attention.sliding_window',
  layer_types: 'attention.sliding_window_pattern',
};

// The description by the families; what they refuse is refused under the key of the file.
function describedBy(header: Header, where: string, config: unknown, options: ModelConfigOptions): ModelConfig {
  try {
    return modelConfig(where, config, options, families);
  } catch (error) {
    const isOurs = error instanceof ArgumentTypeError || error instanceof ArgumentRangeError;
    if (!isOurs || error.argument === 'sequenceLength') throw error;
    const field = error.argument.split('.').at(-1) ?? '';
    const problem = error.message.slice(`${where}: `.length);
    throw header.error(keys[field] ?? field, `makes no model: ${problem}`, error);
  }
}

/** The description of the model in a GGUF file, and its tensors as fillSlots takes them. @internal */
export interface GgufModel {
  readonly config: ModelConfig;
  readonly family: Family;
  readonly file: WeightFile;
  /** Puts the rows of a tensor into the order in which this file has them. */
  readonly ordered: (name: string, destination: Destination) => Destination;
}

export { Gguf, openFiles };

/** @internal */
export async function ggufModel(
  where: string,
  gguf: Gguf,
  options: ModelConfigOptions,
  read: ReadOptions,
): Promise<GgufModel> {
  const header = new Header(gguf);
  const { architecture } = header;
  const model = architectures[architecture] as ModelArchitecture;
  const naming = namings[model] as Naming;
  const factors = await factorsOf(gguf, read);
  const found = describedBy(header, where, configOf(header, gguf, model, factors), options);
  const scale = header.read('attention.scale', anything) === 0 ? undefined : header.number('attention.scale');
  if (header.read('attention.causal', flag) === isEncoder(model)) {
    throw header.error('attention.causal', `is ${isEncoder(model)}; expected ${!isEncoder(model)}`);
  }
  header.refuseUnread();
  const { all } = factors;
  if (all !== undefined && all.length !== (found.layers[0]?.rope?.rotaryDim ?? found.headDim) / 2) {
    throw gguf.failure(factorNames[0], `has ${all.length} factors; expected one for each pair`);
  }
  const hasBias = (part: string) => gguf.has(`blk.0.${part}.bias`);
  const config: ModelConfig = {
    ...found,
    // Converters add 1 to Gemma's weights.
    unitOffset: false,
    ...(scale !== undefined && { scale }),
    biases: {
      attention: hasBias('attn_q') || hasBias('attn_qkv'),
      attentionOutput: hasBias('attn_output'),
      feedForward: hasBias('ffn_up'),
    },
    ...(all && { layers: found.layers.map((layer) => ({ ...layer, rope: divided(layer.rope, all) })) }),
  };
  const family: Family = families[config.architecture];
  return { config, family, file: new Renamed(gguf, naming), ordered: (name, rows) => ordered(config, name, rows) };
}

// The rows of LLaMA's queries and keys are stored for interleaved pairs, those of GPT-NeoX part by part.
function ordered({ architecture, headDim }: ModelConfig, name: string, destination: Destination): Destination {
  const turned = ['llama', 'mistral', 'smollm3'].includes(architecture);
  if (turned && /self_attn\.[qk]_proj/.test(name)) {
    return { ...destination, runs: destination.runs.flatMap((run) => interleaved(run, headDim)) };
  }
  if (!name.includes('attention.query_key_value')) return destination;
  const parts = new Map<Run['slot'], Run[]>();
  for (const run of destination.runs) parts.set(run.slot, [...(parts.get(run.slot) ?? []), run]);
  return { ...destination, runs: [...parts.values()].flat() };
}

function interleaved({ slot, first, count }: Run, headDim: number): Run[] {
  return Array.from({ length: count }, (_, row) => {
    const [head, pair, second] = [Math.floor(row / headDim), (row % headDim) >> 1, row & 1];
    return { slot, first: first + head * headDim + second * (headDim / 2) + pair, count: 1 };
  });
}

// A GGUF file under the names of Hugging Face's classes.
class Renamed implements WeightFile {
  readonly names: readonly string[];
  readonly weightDtypes: readonly string[];
  readonly #gguf: Gguf;
  readonly #naming: Naming;

  constructor(gguf: Gguf, naming: Naming) {
    this.#gguf = gguf;
    this.#naming = naming;
    this.weightDtypes = gguf.weightDtypes;
    const settings: readonly string[] = factorNames;
    this.names = hubNames(
      naming,
      gguf.names.filter((name) => !settings.includes(name)),
    );
  }

  has(name: string): boolean {
    const own = ggufName(this.#naming, name);
    return own !== undefined && this.#gguf.has(own);
  }

  info(name: string) {
    const own = this.#own(name);
    const info = this.#gguf.info(own);
    return own === 'token_types.weight' ? { ...info, shape: asTable(info.shape) } : info;
  }

  form(name: string) {
    return this.#gguf.form(this.#own(name));
  }

  tensor(...[name, options]: Parameters<WeightFile['tensor']>) {
    return this.#gguf.tensor(this.#own(name), options);
  }

  stream(...[name, receive, options]: Parameters<WeightFile['stream']>) {
    return this.#gguf.stream(this.#own(name), receive, options);
  }

  failure(name: string | undefined, problem: string) {
    return this.#gguf.failure(name && this.#own(name), problem);
  }

  #own(name: string): string {
    return ggufName(this.#naming, name) ?? ggufName(this.#naming, name.replace(/^bert\./, '')) ?? name;
  }
}
