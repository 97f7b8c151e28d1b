// The fields of a config.json from the header of a GGUF file.

import type { Gguf } from '../gguf/file.js';
import { flag, type Kind, Metadata, text } from '../gguf/metadata.js';
import { describe, type GgufError } from '../runtime/errors.js';
import type { ReadOptions } from '../sources/tensor-file.js';
import type { ModelArchitecture } from './config.js';
import { families } from './families/families.js';

/** By general.architecture; files of Mistral and Mixtral say llama. @internal */
export const architectures: Readonly<Record<string, ModelArchitecture>> = {
  llama: 'llama',
  qwen2: 'qwen2',
  qwen3: 'qwen3',
  qwen3moe: 'qwen3_moe',
  smollm3: 'smollm3',
  gemma: 'gemma',
  gemma2: 'gemma2',
  gemma3: 'gemma3',
  'gemma-embedding': 'gemma3',
  phi3: 'phi3',
  gptneox: 'gpt_neox',
  gpt2: 'gpt2',
  bloom: 'bloom',
  mpt: 'mpt',
  phi2: 'phi',
  stablelm: 'stablelm',
  olmo2: 'olmo2',
  granite: 'granite',
  'command-r': 'cohere',
  cohere2: 'cohere2',
  bert: 'bert',
  'jina-bert-v2': 'bert',
  'nomic-bert': 'nomic_bert',
  'modern-bert': 'modernbert',
  t5: 't5',
  t5encoder: 't5',
};

const layerNormed: readonly ModelArchitecture[] = [
  'gpt_neox',
  'gpt2',
  'bloom',
  'mpt',
  'phi',
  'stablelm',
  'cohere',
  'cohere2',
];
// Models whose class rotates a part of each head unless the file tells another.
const partial: readonly ModelArchitecture[] = ['gpt_neox', 'phi', 'stablelm'];

const isEncoder = (model: ModelArchitecture) => model === 'bert' || model === 'nomic_bert' || model === 'modernbert';

/** Tensors that hold settings. @internal */
export const factorNames = ['rope_freqs.weight', 'rope_factors_long.weight', 'rope_factors_short.weight'] as const;

// Entries that change the computation; all others are about training, sampling and management of files.
const computes =
  /scale|softcap|alibi|clamp|clip|expert|causal|parallel|rope|window|groups|residual|multiplier|shared|hidden_act/;

const positive: Kind<number> = {
  is: (value): value is number => typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY,
  expected: 'a positive number',
};

const anything: Kind<unknown> = { is: (value): value is unknown => value !== undefined, expected: 'a value' };

/** The entries of one architecture, by the rest of their keys. @internal */
export class Header {
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

  /** The same, where 0 means that there is none. */
  numberIfAny(name: string): number | undefined {
    return this.read(name, anything) === 0 ? undefined : this.number(name);
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

const tokens = 'token_embd.weight';

// Rows of a tensor; the error where it is missing comes with the other tensors.
function rowsOf(gguf: Gguf, name: string): number {
  const [rows = 1] = gguf.has(name) ? asTable(gguf.info(name).shape) : [];
  return rows;
}

function vocabularyOf(gguf: Gguf): number {
  const rows = gguf.has(tokens) ? rowsOf(gguf, tokens) : 0;
  if (rows > 0) return rows;
  throw gguf.failure(tokens, 'is missing or empty');
}

/** A table of one row may have been stored as a vector. @internal */
export function asTable(shape: readonly number[]): readonly number[] {
  return shape.length === 1 ? [1, ...shape] : shape;
}

function ropeParameters(header: Header, factors: Factors): Readonly<Record<string, unknown>> {
  const type = header.read('rope.scaling.type', text) ?? 'linear';
  // Of Granite it says whether there is a rotary encoding, of others how the scaling came about.
  if (header.read('rope.scaling.finetuned', flag) === false && header.architecture === 'granite') {
    throw header.error('rope.scaling.finetuned', 'is false; expected true');
  }
  const older = header.number('rope.scale_linear');
  const factor = header.numberIfAny('rope.scaling.factor') ?? older;
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
    throw header.error('rope.scaling.attn_factor', `is ${attention}; expected 1 without yarn`);
  }
  switch (type) {
    case 'none':
      return { rope_type: 'default' };
    case 'linear':
      return factor === undefined ? { rope_type: 'default' } : { rope_type: 'linear', factor };
    case 'yarn': {
      if (factors.all) throw header.error('rope.scaling.type', 'is "yarn" beside rope_freqs.weight; expected "linear"');
      const ramp = header.number('rope.scaling.yarn_ext_factor') ?? 1;
      if (ramp !== 1) throw header.error('rope.scaling.yarn_ext_factor', `is ${ramp}; expected 1`);
      const by = header.neededNumber('rope.scaling.factor');
      // The first is config.json's attention_factor, the second multiplies what YaRN gives. Of OLMo 3 both are the config's.
      const stated = header.number('rope.scaling.yarn_attn_factor');
      const given = attention === 1 ? undefined : attention;
      const product = given && given * (stated ?? 1 + 0.1 * Math.log(by));
      return {
        ...{ rope_type: 'yarn', factor: by, original_max_position_embeddings: length },
        beta_fast: header.number('rope.scaling.yarn_beta_fast'),
        beta_slow: header.number('rope.scaling.yarn_beta_slow'),
        attention_factor: header.architecture === 'olmo2' ? (stated ?? given) : (product ?? stated),
      };
    }
    default:
      throw header.error('rope.scaling.type', `is ${describe(type)}; expected "none", "linear" or "yarn"`);
  }
}

/** What divides the frequencies. @internal */
export interface Factors {
  readonly all?: readonly number[];
  readonly long?: readonly number[];
  readonly short?: readonly number[];
}

/** @internal */
export async function factorsOf(gguf: Gguf, read: ReadOptions): Promise<Factors> {
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

/** The fields of config.json. @internal */
export function configOf(header: Header, gguf: Gguf, model: ModelArchitecture, factors: Factors) {
  const heads = header.needed('attention.head_count');
  const modelDim = header.needed('embedding_length');
  const headDim = header.size('attention.key_length') ?? Math.floor(modelDim / heads);
  const valueDim = header.size('attention.value_length') ?? headDim;
  if (valueDim !== headDim) {
    throw header.error('attention.value_length', `is ${valueDim}; expected ${headDim}`);
  }
  const layers = header.needed('block_count');
  if (model === 't5') {
    const isGated = gguf.has('enc.blk.0.ffn_gate.weight');
    const type = gguf.has('enc.blk.1.attn_rel_b.weight') ? 'umt5' : model;
    // What no entry tells is the same in all models.
    return {
      ...{ model_type: type, d_model: modelDim, d_kv: headDim, num_heads: heads, num_layers: layers },
      architectures: [
        families[type].stem + (header.architecture === model ? 'ForConditionalGeneration' : 'EncoderModel'),
      ],
      d_ff: header.needed('feed_forward_length'),
      num_decoder_layers: header.size('decoder_block_count') ?? layers,
      decoder_start_token_id: header.read('decoder_start_token_id', anything),
      n_positions: header.needed('context_length'),
      vocab_size: vocabularyOf(gguf),
      layer_norm_epsilon: header.neededNumber('attention.layer_norm_rms_epsilon'),
      relative_attention_num_buckets: header.needed('attention.relative_buckets_count'),
      feed_forward_proj: isGated ? 'gated-gelu' : 'relu',
      tie_word_embeddings: !gguf.has('output.weight'),
      // T5 1.0's alone, also where its head was written out; UMT5's where they are tied.
      scale_decoder_outputs: type === model ? !isGated : undefined,
    };
  }
  const rotary = header.size('rope.dimension_count') ?? headDim;
  const base = header.number('rope.freq_base');
  const encodes = isEncoder(model);
  const hasLayerNorms = encodes || layerNormed.includes(model);
  // Models that give vectors of texts, or that rank them, have no logits.
  const isEmbedding = header.architecture === 'gemma-embedding';
  const isPooled =
    isEmbedding || header.sizeIfAny('pooling_type') !== undefined || gguf.names.some((name) => name.startsWith('cls.'));
  const typed = (type: ModelArchitecture) => ({
    model_type: type,
    ...(!encodes && { architectures: [families[type].stem + (isPooled ? 'Model' : 'ForCausalLM')] }),
  });
  const config: Record<string, unknown> = {
    ...typed(model),
    hidden_size: modelDim,
    intermediate_size: header.needed('feed_forward_length'),
    num_attention_heads: heads,
    num_key_value_heads: header.size('attention.head_count_kv') ?? heads,
    head_dim: headDim,
    num_hidden_layers: layers,
    vocab_size: vocabularyOf(gguf),
    tie_word_embeddings: encodes || (!isPooled && !gguf.has('output.weight')),
    max_position_embeddings: gguf.has('position_embd.weight')
      ? rowsOf(gguf, 'position_embd.weight')
      : header.needed('context_length'),
    ...(hasLayerNorms
      ? { layer_norm_eps: header.neededNumber('attention.layer_norm_epsilon') }
      : { rms_norm_eps: header.neededNumber('attention.layer_norm_rms_epsilon') }),
  };
  const types = { ...(encodes && { type_vocab_size: rowsOf(gguf, 'token_types.weight') }) };
  if (model === 'bert') {
    const jina = { position_embedding_type: 'alibi', feed_forward_type: 'geglu' };
    return { ...config, ...types, ...(header.architecture !== model && jina) };
  }
  const epsilon = { layer_norm_epsilon: config.layer_norm_eps };
  if (model === 'gpt2') return { ...config, ...epsilon };
  if (model === 'bloom') return { ...config, ...epsilon, seq_length: header.needed('context_length') };
  if (model === 'mpt') {
    const alibi = { alibi_bias_max: header.number('attention.max_alibi_bias') ?? 8 };
    const clip = header.number('attention.clamp_kqv') ?? null;
    return {
      ...{ ...config, ...epsilon, max_seq_len: header.needed('context_length') },
      attn_config: { ...alibi, clip_qkv: clip },
    };
  }
  const parameters = {
    ...ropeParameters(header, factors),
    rope_theta: base ?? 10000,
    ...((rotary !== headDim || partial.includes(model)) && { partial_rotary_factor: rotary / headDim }),
  };
  const turned = { ...config, rope_parameters: parameters };
  const window = () => header.sizeIfAny('attention.sliding_window');
  // The models of 27 billion weights have another scale, which no entry tells.
  const is27B = layers === (model === 'gemma2' ? 46 : 62);
  const gemmaScale = { query_pre_attn_scalar: is27B ? modelDim / heads : headDim };
  switch (model) {
    case 'gemma2':
      return {
        ...{ ...turned, ...gemmaScale, ...slidingOf(header) },
        sliding_window: window() ?? 4096,
        attn_logit_softcapping: header.number('attn_logit_softcapping') ?? 50,
        final_logit_softcapping: header.number('final_logit_softcapping') ?? 30,
      };
    case 'gemma3': {
      const stated = window();
      return {
        ...{ ...config, ...gemmaScale },
        rope_parameters: byType(header, parameters),
        ...(stated === undefined ? { sliding_window_pattern: 1 } : { sliding_window: stated, ...slidingOf(header) }),
        final_logit_softcapping: header.number('final_logit_softcapping') ?? null,
        use_bidirectional_attention: isEmbedding,
      };
    }
    case 'modernbert': {
      const { layer_types, sliding_window_pattern } = slidingOf(header);
      return {
        ...{ ...config, norm_eps: config.layer_norm_eps, local_attention: header.needed('attention.sliding_window') },
        ...{ layer_types, global_attn_every_n_layers: sliding_window_pattern },
        hidden_activation: header.read('hidden_activation', text),
        rope_parameters: byType(header, parameters),
      };
    }
    case 'gpt_neox':
      return { ...turned, use_parallel_residual: header.read('use_parallel_residual', flag) };
    case 'stablelm':
      // Converters say so of models that are not parallel as well.
      header.read('use_parallel_residual', flag);
      return {
        ...turned,
        use_parallel_residual: !gguf.has('blk.0.ffn_norm.weight'),
        qk_layernorm: gguf.has('blk.0.attn_q_norm.weight'),
      };
    case 'granite':
      return {
        ...turned,
        // Of Granite 4, whose layers without experts have the shared one alone.
        intermediate_size: header.sizeIfAny('expert_shared_feed_forward_length') ?? config.intermediate_size,
        attention_multiplier: header.number('attention.scale') ?? 1 / Math.sqrt(headDim),
        embedding_multiplier: header.number('embedding_scale'),
        residual_multiplier: header.number('residual_scale'),
        logits_scaling: header.number('logit_scale'),
      };
    case 'cohere':
      return {
        ...turned,
        logit_scale: header.neededNumber('logit_scale'),
        use_qk_norm: gguf.has('blk.0.attn_q_norm.weight'),
      };
    case 'cohere2':
      return {
        ...{ ...turned, logit_scale: header.neededNumber('logit_scale') },
        ...{ sliding_window: window() ?? 4096, ...slidingOf(header) },
      };
    case 'olmo2': {
      const stated = window();
      if (stated === undefined) return turned;
      return { ...turned, ...typed('olmo3'), sliding_window: stated, ...slidingOf(header) };
    }
    case 'nomic_bert':
      // Converters take no others.
      return {
        ...{ ...turned, ...types, activation_function: 'swiglu', rotary_emb_fraction: 1 },
        ...{ qkv_proj_bias: false, mlp_fc1_bias: false, mlp_fc2_bias: false },
      };
    case 'phi3':
      return { ...turned, sliding_window: window() ?? null };
    case 'qwen3_moe':
      return {
        ...{ ...turned, norm_topk_prob: true, num_experts: header.needed('expert_count') },
        num_experts_per_tok: header.needed('expert_used_count'),
        moe_intermediate_size: header.needed('expert_feed_forward_length'),
      };
    case 'llama': {
      const stated = window();
      const experts = header.sizeIfAny('expert_count');
      if (experts !== undefined) {
        return {
          ...{ ...turned, ...typed('mixtral'), sliding_window: stated ?? null, num_local_experts: experts },
          num_experts_per_tok: header.needed('expert_used_count'),
        };
      }
      header.sizeIfAny('expert_used_count');
      if (stated === undefined) return turned;
      return { ...turned, ...typed('mistral'), sliding_window: stated };
    }
    default:
      return turned;
  }
}

// The layers that slide have a base of their own, and no scaling.
function byType(header: Header, full_attention: unknown): Readonly<Record<string, unknown>> {
  const rope_theta = header.number('rope.freq_base_swa') ?? 10000;
  return { full_attention, sliding_attention: { rope_type: 'default', rope_theta } };
}

// Which layers slide: every nth does not, or a flag for each layer.
function slidingOf(header: Header): Readonly<Record<string, unknown>> {
  const pattern = header.read('attention.sliding_window_pattern', anything);
  if (Array.isArray(pattern)) {
    return { layer_types: pattern.map((slides) => (slides ? 'sliding_attention' : 'full_attention')) };
  }
  return pattern === undefined ? {} : { sliding_window_pattern: header.needed('attention.sliding_window_pattern') };
}
