// A model from the header of a GGUF file: its description, as its config.json would give it, and its tensors under the
// names and in the order of rows of Hugging Face's classes. This and what reads such files is imported by the first call.

import { ropeFromGgml } from '../checkpoints/runtimes.js';
import { Gguf } from '../gguf/file.js';
import { openFiles } from '../gguf/files.js';
import { flag } from '../gguf/metadata.js';
import type { RopeOptions } from '../rope/options.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import type { ReadOptions, WeightFile } from '../sources/tensor-file.js';
import { type ModelArchitecture, type ModelConfig, type ModelConfigOptions, modelConfig } from './config.js';
import type { Family } from './description/family.js';
import type { Destination, Run } from './description/slots.js';
import { families } from './families/families.js';
import { architectures, asTable, configOf, factorNames, factorsOf, Header } from './gguf-config.js';
import { ggufName, hubNames, jinaBert, type Naming, namings, t5Naming } from './gguf-names.js';

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
  num_experts_per_tok: 'expert_used_count',
  num_hidden_layers: 'block_count',
  intermediate_size: 'feed_forward_length',
  max_position_embeddings: 'context_length',
  partial_rotary_factor: 'rope.dimension_count',
  factor: 'rope.scaling.factor',
  rope_theta: 'rope.freq_base',
  sliding_window: 'attention.sliding_window',
  layer_types: 'attention.sliding_window_pattern',
  relative_attention_num_buckets: 'attention.relative_buckets_count',
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
  const factors = await factorsOf(gguf, read);
  const found = describedBy(header, where, configOf(header, gguf, model, factors), options);
  const isGated = found.layers[0]?.feedForward.kind === 'gated';
  const naming =
    model === 't5'
      ? t5Naming(isGated ? 'wi_1' : 'wi')
      : architecture === 'jina-bert-v2'
        ? jinaBert
        : ((namings[found.architecture] ?? namings[model]) as Naming);
  const scale = header.numberIfAny('attention.scale');
  const isEncoder = found.kind !== 'decoder';
  if (header.read('attention.causal', flag) === isEncoder) {
    throw header.error('attention.causal', `is ${isEncoder}; expected ${!isEncoder}`);
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
      ...found.biases,
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
  const turned = ['llama', 'mistral', 'mixtral', 'smollm3', 'granite'].includes(architecture);
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
    if (own === 'token_types.weight') return { ...info, shape: asTable(info.shape) };
    // The rows of all experts.
    const [experts = 0, rows = 0, columns = 0] = info.shape;
    return info.shape.length === 3 ? { ...info, shape: [experts * rows, columns] } : info;
  }

  form(name: string) {
    return this.#gguf.form(this.#own(name));
  }

  tensor(...[name, ...rest]: Parameters<WeightFile['tensor']>) {
    return this.#gguf.tensor(this.#own(name), ...rest);
  }

  stream(...[name, ...rest]: Parameters<WeightFile['stream']>) {
    return this.#gguf.stream(this.#own(name), ...rest);
  }

  failure(name: string | undefined, problem: string) {
    return this.#gguf.failure(name && this.#own(name), problem);
  }

  #own(name: string): string {
    return ggufName(this.#naming, name) ?? ggufName(this.#naming, name.replace(/^bert\./, '')) ?? name;
  }
}
