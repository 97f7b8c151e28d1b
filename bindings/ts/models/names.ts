// The tensors of each architecture under the names that Hugging Face's classes give them.

import type { Safetensors } from '../safetensors/file.js';
import type { ModelArchitecture, ModelConfig } from './description/description.js';
import {
  inTurn,
  type LayerSlots,
  type MatrixSlot,
  type ModelSlots,
  matrixSlot,
  Names,
  type Run,
  type VectorSlot,
  vectorSlot,
} from './description/slots.js';

/** A checkpoint's tensors, where they go, and what may be left aside. @internal */
export interface Checkpoint {
  readonly names: Names;
  readonly slots: ModelSlots;
}

// Tensors that nothing here needs: tables that are recomputed, masks that are options, heads of other tasks.
const buffers =
  '(rotary_emb\\.inv_freq|attention\\.(bias|masked_bias)|embeddings\\.position_ids|embed_positions\\.weight)$';
const otherHeads = '^(classifier|score|qa_outputs|cls\\.seq_relationship|cls)\\.';
const poolers = '(^|\\.)pooler\\.';
const images = '(^|\\.)(vision_tower|multi_modal_projector|vision_model)\\.';

/** @internal */
export function checkpointOf(config: ModelConfig, file: Safetensors): Checkpoint {
  const { names, slots } = readers[config.architecture](config, file);
  const tied = config.kind === 'decoder' && slots.head?.weight === undefined;
  const heads = tied ? '|(^|\\.)(lm_head|embed_out)\\.weight$' : '';
  // Models with relative positions have the table of absolute ones too, and do not add it.
  const table = config.position.startsWith('relative') ? '|embeddings\\.position_embeddings\\.weight$' : '';
  names.check(new RegExp(`${buffers}|${otherHeads}|${poolers}|${images}${heads}${table}`));
  return { names, slots };
}

interface Spelling {
  readonly prefixes: readonly string[];
  readonly tokens: string;
  readonly finalNorm: string;
  readonly head: readonly string[];
  readonly layer: (names: Names, config: ModelConfig, at: string) => LayerSlots['weights'];
}

function withBias(
  weights: Record<string, MatrixSlot | VectorSlot>,
  name: string,
  map: { weight: MatrixSlot | VectorSlot; bias?: VectorSlot },
): void {
  weights[name] = map.weight;
  if (map.bias !== undefined) weights[`${name}Bias`] = map.bias;
}

type Parts = Record<string, MatrixSlot | VectorSlot>;

function separateAttention(names: Names, config: ModelConfig, at: string, weights: Parts): void {
  const { modelDim, heads, kvHeads, headDim, biases } = config;
  const maps = { query: ['q_proj', heads], key: ['k_proj', kvHeads], value: ['v_proj', kvHeads] } as const;
  for (const [name, [spelling, count]] of Object.entries(maps)) {
    withBias(weights, name, names.linear(`${at}self_attn.${spelling}`, count * headDim, modelDim, biases.attention));
  }
}

function gatedFeedForward(names: Names, config: ModelConfig, at: string, weights: Parts): void {
  const { modelDim, hiddenDim, biases } = config;
  const maps = { gate: 'gate_proj', up: 'up_proj' } as const;
  for (const [name, spelling] of Object.entries(maps)) {
    withBias(weights, name, names.linear(`${at}mlp.${spelling}`, hiddenDim, modelDim, biases.feedForward));
  }
}

function llamaRest(names: Names, config: ModelConfig, at: string, weights: Parts): void {
  const { modelDim, hiddenDim, heads, headDim, biases } = config;
  withBias(weights, 'output', names.linear(`${at}self_attn.o_proj`, modelDim, heads * headDim, biases.attentionOutput));
  withBias(weights, 'down', names.linear(`${at}mlp.down_proj`, modelDim, hiddenDim, biases.feedForward));
  const sandwich = config.norms === 'sandwich';
  weights.attentionNorm = names.vector(`${at}input_layernorm.weight`, modelDim);
  weights.feedForwardNorm = names.vector(
    `${at}${sandwich ? 'pre_feedforward_layernorm' : 'post_attention_layernorm'}.weight`,
    modelDim,
  );
  if (sandwich) {
    weights.attentionAfterNorm = names.vector(`${at}post_attention_layernorm.weight`, modelDim);
    weights.feedForwardAfterNorm = names.vector(`${at}post_feedforward_layernorm.weight`, modelDim);
  }
  if (config.queryKeyNorm) {
    weights.queryNorm = names.vector(`${at}self_attn.q_norm.weight`, headDim);
    weights.keyNorm = names.vector(`${at}self_attn.k_norm.weight`, headDim);
  }
}

const llama: Spelling = {
  prefixes: ['model.', '', 'language_model.model.', 'model.language_model.'],
  tokens: 'embed_tokens.weight',
  finalNorm: 'norm',
  head: ['lm_head.weight', 'language_model.lm_head.weight'],
  layer(names, config, at) {
    const weights: Parts = {};
    separateAttention(names, config, at, weights);
    gatedFeedForward(names, config, at, weights);
    llamaRest(names, config, at, weights);
    return weights;
  },
};

// Queries, keys and values one after the other in qkv_proj; gate and up in gate_up_proj.
const phi3: Spelling = {
  ...llama,
  layer(names, config, at) {
    const { modelDim, hiddenDim, heads, kvHeads, headDim } = config;
    const maps = [heads, kvHeads, kvHeads].map((count) => matrixSlot(count * headDim, modelDim));
    names.fused(`${at}self_attn.qkv_proj.weight`, [(heads + 2 * kvHeads) * headDim, modelDim], inTurn(maps));
    const halves = [matrixSlot(hiddenDim, modelDim), matrixSlot(hiddenDim, modelDim)];
    names.fused(`${at}mlp.gate_up_proj.weight`, [2 * hiddenDim, modelDim], inTurn(halves));
    const [query, key, value] = maps as [MatrixSlot, MatrixSlot, MatrixSlot];
    const [gate, up] = halves as [MatrixSlot, MatrixSlot];
    const weights: Parts = { query, key, value, gate, up };
    llamaRest(names, config, at, weights);
    return weights;
  },
};

// Rows of query_key_value go by head: the head's query, its key, its value.
function byHead(slots: readonly (MatrixSlot | VectorSlot)[], heads: number, headDim: number): Run[] {
  return Array.from({ length: heads }, (_, head) =>
    slots.map((slot) => ({ slot, first: head * headDim, count: headDim })),
  ).flat();
}

const gptNeox: Spelling = {
  prefixes: ['gpt_neox.', ''],
  tokens: 'embed_in.weight',
  finalNorm: 'final_layer_norm',
  head: ['embed_out.weight'],
  layer(names, config, at) {
    const { modelDim, hiddenDim, heads, headDim, biases } = config;
    const rows = heads * headDim;
    const maps = [0, 1, 2].map(() => matrixSlot(rows, modelDim));
    names.fused(`${at}attention.query_key_value.weight`, [3 * rows, modelDim], byHead(maps, heads, headDim));
    const [query, key, value] = maps as [MatrixSlot, MatrixSlot, MatrixSlot];
    const weights: Parts = { query, key, value };
    if (biases.attention) {
      const vectors = [0, 1, 2].map(() => vectorSlot(rows));
      names.fused(`${at}attention.query_key_value.bias`, [3 * rows], byHead(vectors, heads, headDim));
      const [queryBias, keyBias, valueBias] = vectors as [VectorSlot, VectorSlot, VectorSlot];
      Object.assign(weights, { queryBias, keyBias, valueBias });
    }
    withBias(weights, 'output', names.linear(`${at}attention.dense`, modelDim, rows, biases.attentionOutput));
    withBias(weights, 'up', names.linear(`${at}mlp.dense_h_to_4h`, hiddenDim, modelDim));
    withBias(weights, 'down', names.linear(`${at}mlp.dense_4h_to_h`, modelDim, hiddenDim));
    withBias(weights, 'attentionNorm', names.norm(`${at}input_layernorm`, modelDim, true));
    withBias(weights, 'feedForwardNorm', names.norm(`${at}post_attention_layernorm`, modelDim, true));
    return weights;
  },
};

function decoder(spelling: Spelling) {
  return (config: ModelConfig, file: Safetensors): Checkpoint => {
    const { modelDim, vocabSize } = config;
    const names = new Names(file, spelling.prefixes, spelling.tokens);
    const tokens = names.matrix(spelling.tokens, vocabSize, modelDim);
    const layers = config.layers.map((_, i) => ({ weights: spelling.layer(names, config, `layers.${i}.`) }));
    const finalNorm = names.norm(spelling.finalNorm, modelDim, config.norm === 'layer');
    const hasHead =
      config.tiedEmbeddings || config.givesLogits === true || spelling.head.some((name) => file.has(name));
    const weight =
      config.tiedEmbeddings || !hasHead
        ? undefined
        : names.outside(spelling.head, (name, plain) => plain.matrix(name, vocabSize, modelDim));
    const head = weight === undefined ? {} : { weight };
    return { names, slots: { tokens, layers, finalNorm, ...(hasHead && { head }) } };
  };
}

function encoderLayer(names: Names, config: ModelConfig, at: string): LayerSlots {
  const { modelDim, hiddenDim, heads, headDim } = config;
  const rows = heads * headDim;
  const weights: Parts = {};
  for (const name of ['query', 'key', 'value']) {
    withBias(weights, name, names.linear(`${at}attention.self.${name}`, rows, modelDim));
  }
  withBias(weights, 'output', names.linear(`${at}attention.output.dense`, modelDim, rows));
  withBias(weights, 'up', names.linear(`${at}intermediate.dense`, hiddenDim, modelDim));
  withBias(weights, 'down', names.linear(`${at}output.dense`, modelDim, hiddenDim));
  withBias(weights, 'attentionNorm', names.norm(`${at}attention.output.LayerNorm`, modelDim, true));
  withBias(weights, 'feedForwardNorm', names.norm(`${at}output.LayerNorm`, modelDim, true));
  if (config.position === 'rope' || config.position === 'absolute') return { weights };
  const distances = 2 * (config.maxPositions ?? 1) - 1;
  return { weights, distances: names.table(`${at}attention.self.distance_embedding.weight`, distances, headDim) };
}

// The head of a masked language model: dense, activation, norm, and the token vectors with a bias.
function maskedHead(names: Names, config: ModelConfig, file: Safetensors): ModelSlots['head'] {
  const { modelDim, embeddingDim, vocabSize } = config;
  const at = 'cls.predictions.';
  if (config.givesLogits !== true && !file.has(`${at}transform.dense.weight`)) return undefined;
  return names.outside([at], (_, plain) => {
    const transform = plain.linear(`${at}transform.dense`, embeddingDim, modelDim);
    const norm = plain.norm(`${at}transform.LayerNorm`, embeddingDim, true);
    const biasNames = [`${at}bias`, `${at}decoder.bias`];
    const bias = plain.vector(biasNames.find((name) => file.has(name)) ?? `${at}bias`, vocabSize);
    if (config.tiedEmbeddings) return { transform, norm, bias };
    return { transform, norm, bias, weight: plain.matrix(`${at}decoder.weight`, vocabSize, embeddingDim) };
  });
}

function encoder(prefix: string) {
  return (config: ModelConfig, file: Safetensors): Checkpoint => {
    const { modelDim, embeddingDim, vocabSize, tokenTypes, maxPositions = 0 } = config;
    const names = new Names(file, [prefix, ''], 'embeddings.word_embeddings.weight');
    const table = (name: string, rows: number) => names.matrix(`embeddings.${name}.weight`, rows, embeddingDim);
    const head = maskedHead(names, config, file);
    const slots: ModelSlots = {
      tokens: table('word_embeddings', vocabSize),
      ...(config.position === 'absolute' && { positions: table('position_embeddings', maxPositions) }),
      tokenTypes: table('token_type_embeddings', tokenTypes),
      embeddingNorm: names.norm('embeddings.LayerNorm', embeddingDim, true),
      ...(embeddingDim !== modelDim && {
        projection: names.linear('embeddings_project', modelDim, embeddingDim),
      }),
      layers: config.layers.map((_, i) => encoderLayer(names, config, `encoder.layer.${i}.`)),
      ...((names.has('pooler.dense.weight') || names.has('pooler.dense.bias')) && {
        pooler: names.linear('pooler.dense', modelDim, modelDim),
      }),
      ...(head && { head }),
    };
    return { names, slots };
  };
}

// One entry for each architecture.
const readers: Readonly<Record<ModelArchitecture, (config: ModelConfig, file: Safetensors) => Checkpoint>> = {
  bert: encoder('bert.'),
  roformer: encoder('roformer.'),
  gpt_neox: decoder(gptNeox),
  llama: decoder(llama),
  mistral: decoder(llama),
  qwen2: decoder(llama),
  qwen3: decoder(llama),
  gemma: decoder(llama),
  gemma2: decoder(llama),
  gemma3: decoder(llama),
  phi3: decoder(phi3),
  smollm3: decoder(llama),
};
