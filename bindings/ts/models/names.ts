// The tensors of each architecture under the names that Hugging Face's classes give them.

import type { Safetensors } from '../safetensors/file.js';
import type {
  DenseFeedForward,
  GatedFeedForward,
  ModelArchitecture,
  ModelConfig,
  ModelFeedForward,
} from './description/description.js';
import {
  type LayerMaps,
  type LayerSlots,
  type MatrixSlot,
  type ModelSlots,
  matrixSlot,
  Names,
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
  /** A layer whose feed-forward part is of the kind that the family's reader gives. */
  layer(names: Names, config: ModelConfig, feedForward: ModelFeedForward): LayerSlots;
}

function llamaRest(names: Names, { modelDim, heads, headDim, biases, norms, queryKeyNorm }: ModelConfig): LayerMaps {
  const norm = (name: string, length = modelDim) => names.norm(name, length, false);
  return {
    output: names.linear('self_attn.o_proj', modelDim, heads * headDim, biases.attentionOutput),
    attentionNorm: norm('input_layernorm'),
    ...(norms === 'sandwich'
      ? {
          attentionAfterNorm: norm('post_attention_layernorm'),
          feedForwardNorm: norm('pre_feedforward_layernorm'),
          feedForwardAfterNorm: norm('post_feedforward_layernorm'),
        }
      : { feedForwardNorm: norm('post_attention_layernorm') }),
    ...(queryKeyNorm && { queryNorm: norm('self_attn.q_norm', headDim), keyNorm: norm('self_attn.k_norm', headDim) }),
  };
}

const llama: Spelling = {
  prefixes: ['model.', '', 'language_model.model.', 'model.language_model.'],
  tokens: 'embed_tokens.weight',
  finalNorm: 'norm',
  head: ['lm_head.weight', 'language_model.lm_head.weight'],
  layer(names, config, { hiddenDim }: GatedFeedForward) {
    const { modelDim, heads, kvHeads, headDim, biases } = config;
    const attention = (name: string, count: number) =>
      names.linear(`self_attn.${name}`, count * headDim, modelDim, biases.attention);
    const part = (name: string, outputs: number, inputs: number) =>
      names.linear(`mlp.${name}`, outputs, inputs, biases.feedForward);
    return {
      maps: {
        query: attention('q_proj', heads),
        key: attention('k_proj', kvHeads),
        value: attention('v_proj', kvHeads),
        ...llamaRest(names, config),
      },
      feedForward: {
        kind: 'gated',
        gate: part('gate_proj', hiddenDim, modelDim),
        up: part('up_proj', hiddenDim, modelDim),
        down: part('down_proj', modelDim, hiddenDim),
      },
    };
  },
};

// Queries, keys and values one after the other in qkv_proj; gate and up in gate_up_proj.
const phi3: Spelling = {
  ...llama,
  layer(names, config, { hiddenDim }: GatedFeedForward) {
    const { modelDim, heads, kvHeads, headDim } = config;
    const [query, key, value] = names.joined(
      'self_attn.qkv_proj',
      [heads * headDim, kvHeads * headDim, kvHeads * headDim],
      modelDim,
    );
    const [gate, up] = names.joined('mlp.gate_up_proj', [hiddenDim, hiddenDim], modelDim);
    return {
      maps: { query, key, value, ...llamaRest(names, config) },
      feedForward: { kind: 'gated', gate, up, down: names.linear('mlp.down_proj', modelDim, hiddenDim, false) },
    };
  },
};

// Rows of query_key_value go by head: the head's query, its key, its value.
function byHead(names: Names, { modelDim, heads, headDim, biases }: ModelConfig): LayerMaps {
  const rows = heads * headDim;
  const join = <S extends MatrixSlot | VectorSlot>(part: string, shape: readonly number[], make: () => S) => {
    const slots = [make(), make(), make()] as const;
    const ofHead = (_: unknown, head: number) => slots.map((slot) => ({ slot, first: head * headDim, count: headDim }));
    names.fused(`attention.query_key_value.${part}`, shape, Array.from({ length: heads }, ofHead).flat());
    return slots;
  };
  const weights = join('weight', [3 * rows, modelDim], () => matrixSlot(rows, modelDim));
  const vectors = biases.attention ? join('bias', [3 * rows], () => vectorSlot(rows)) : undefined;
  const map = (i: 0 | 1 | 2) => ({ weight: weights[i], ...(vectors && { bias: vectors[i] }) });
  return { query: map(0), key: map(1), value: map(2) };
}

const gptNeox: Spelling = {
  prefixes: ['gpt_neox.', ''],
  tokens: 'embed_in.weight',
  finalNorm: 'final_layer_norm',
  head: ['embed_out.weight'],
  layer(names, config, { hiddenDim }: DenseFeedForward) {
    const { modelDim, heads, headDim, biases } = config;
    return {
      maps: {
        ...byHead(names, config),
        output: names.linear('attention.dense', modelDim, heads * headDim, biases.attentionOutput),
        attentionNorm: names.norm('input_layernorm', modelDim, true),
        feedForwardNorm: names.norm('post_attention_layernorm', modelDim, true),
      },
      feedForward: {
        kind: 'dense',
        up: names.linear('mlp.dense_h_to_4h', hiddenDim, modelDim),
        down: names.linear('mlp.dense_4h_to_h', modelDim, hiddenDim),
      },
    };
  },
};

function decoder(spelling: Spelling) {
  return (config: ModelConfig, file: Safetensors): Checkpoint => {
    const { modelDim, vocabSize } = config;
    const names = new Names(file, spelling.prefixes, spelling.tokens);
    const tokens = names.matrix(spelling.tokens, vocabSize, modelDim);
    const layers = config.layers.map(({ feedForward }, i) =>
      spelling.layer(names.within(`layers.${i}.`), config, feedForward),
    );
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

function encoderLayer(names: Names, config: ModelConfig, { hiddenDim }: ModelFeedForward): LayerSlots {
  const { modelDim, heads, headDim, position, maxPositions = 1 } = config;
  const rows = heads * headDim;
  return {
    maps: {
      query: names.linear('attention.self.query', rows, modelDim),
      key: names.linear('attention.self.key', rows, modelDim),
      value: names.linear('attention.self.value', rows, modelDim),
      output: names.linear('attention.output.dense', modelDim, rows),
      attentionNorm: names.norm('attention.output.LayerNorm', modelDim, true),
      feedForwardNorm: names.norm('output.LayerNorm', modelDim, true),
    },
    feedForward: {
      kind: 'dense',
      up: names.linear('intermediate.dense', hiddenDim, modelDim),
      down: names.linear('output.dense', modelDim, hiddenDim),
    },
    ...(position.startsWith('relative') && {
      distances: names.table('attention.self.distance_embedding.weight', 2 * maxPositions - 1, headDim),
    }),
  };
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
      layers: config.layers.map(({ feedForward }, i) =>
        encoderLayer(names.within(`encoder.layer.${i}.`), config, feedForward),
      ),
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
