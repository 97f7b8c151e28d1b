// LLaMA 2 and 3, and the parts that most decoders share.

import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { GatedFeedForward, ModelDescription } from '../description/description.js';
import type { Family } from '../description/family.js';
import { readBiases } from '../description/fields.js';
import type { LayerMaps, Names } from '../description/slots.js';

/** The output projection and the norms. @internal */
export function llamaRest(names: Names, model: ModelDescription): LayerMaps {
  const { modelDim, heads, headDim, biases, norms, queryKeyNorm } = model;
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

/** All maps and norms except the feed-forward part. @internal */
export function llamaMaps(names: Names, model: ModelDescription): LayerMaps {
  const { modelDim, heads, kvHeads, headDim, biases } = model;
  const map = (name: string, count: number) =>
    names.linear(`self_attn.${name}`, count * headDim, modelDim, biases.attention);
  return {
    query: map('q_proj', heads),
    key: map('k_proj', kvHeads),
    value: map('v_proj', kvHeads),
    ...llamaRest(names, model),
  };
}

/** @internal */
export const llamaSpelling: DecoderSpelling = {
  prefixes: ['model.', '', 'language_model.model.', 'model.language_model.'],
  tokens: 'embed_tokens.weight',
  finalNorm: 'norm',
  head: ['lm_head.weight', 'language_model.lm_head.weight'],
  layer(names, model, { hiddenDim }: GatedFeedForward) {
    const { modelDim, biases } = model;
    const part = (name: string, outputs: number, inputs: number) =>
      names.linear(`mlp.${name}`, outputs, inputs, biases.feedForward);
    return {
      maps: llamaMaps(names, model),
      feedForward: {
        kind: 'gated',
        gate: part('gate_proj', hiddenDim, modelDim),
        up: part('up_proj', hiddenDim, modelDim),
        down: part('down_proj', modelDim, hiddenDim),
      },
    };
  },
};

export const llama: Family = {
  stem: 'Llama',
  rope: { pairing: 'half' },
  read: (reading) => readDecoder(reading, { biases: readBiases(reading.fields) }),
  tensors: decoderTensors(llamaSpelling),
};
