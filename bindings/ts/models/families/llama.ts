// LLaMA 2 and 3, and the parts that most decoders share.

import { type DecoderSpelling, decoderTensors, hasNormBias, readDecoder } from '../description/decoders.js';
import type { GatedFeedForward, ModelDescription } from '../description/description.js';
import type { Family } from '../description/family.js';
import { readBiases } from '../description/fields.js';
import type { FeedForwardSlots, LayerMaps, Names, NormSlots } from '../description/slots.js';

/** The norms around attention and the feed-forward part. @internal */
export function llamaNorms(names: Names, model: ModelDescription): LayerMaps {
  const { modelDim, norms } = model;
  const norm = (name: string) => names.norm(name, modelDim, hasNormBias(model));
  return {
    attentionNorm: norm('input_layernorm'),
    ...(norms === 'sandwich' && {
      attentionAfterNorm: norm('post_attention_layernorm'),
      feedForwardNorm: norm('pre_feedforward_layernorm'),
      feedForwardAfterNorm: norm('post_feedforward_layernorm'),
    }),
    ...(norms === 'pre' && { feedForwardNorm: norm('post_attention_layernorm') }),
  };
}

/** The output projection and the norms. @internal */
export function llamaRest(names: Names, model: ModelDescription, norms = llamaNorms): LayerMaps {
  const { modelDim, heads, kvHeads, headDim, biases, queryKeyNorm } = model;
  const headNorm = (name: string, count: number): NormSlots =>
    queryKeyNorm === 'own weights'
      ? { weight: names.table(`self_attn.${name}.weight`, count, headDim) }
      : names.norm(`self_attn.${name}`, queryKeyNorm === 'all heads' ? count * headDim : headDim, false);
  return {
    output: names.linear('self_attn.o_proj', modelDim, heads * headDim, biases.attentionOutput),
    ...norms(names, model),
    ...(queryKeyNorm && { queryNorm: headNorm('q_norm', heads), keyNorm: headNorm('k_norm', kvHeads) }),
  };
}

/** All maps and norms except the feed-forward part. @internal */
export function llamaMaps(names: Names, model: ModelDescription, norms = llamaNorms): LayerMaps {
  const { modelDim, heads, kvHeads, headDim, biases } = model;
  const map = (name: string, count: number) =>
    names.linear(`self_attn.${name}`, count * headDim, modelDim, biases.attention);
  return {
    query: map('q_proj', heads),
    key: map('k_proj', kvHeads),
    value: map('v_proj', kvHeads),
    ...llamaRest(names, model, norms),
  };
}

/** The feed-forward part. @internal */
export function llamaFeedForward(
  names: Names,
  { modelDim, biases }: ModelDescription,
  { hiddenDim }: GatedFeedForward,
  at = 'mlp.',
): FeedForwardSlots {
  const part = (name: string, outputs: number, inputs: number) =>
    names.linear(at + name, outputs, inputs, biases.feedForward);
  return {
    kind: 'gated',
    gate: part('gate_proj', hiddenDim, modelDim),
    up: part('up_proj', hiddenDim, modelDim),
    down: part('down_proj', modelDim, hiddenDim),
  };
}

/** @internal */
export const llamaSpelling: DecoderSpelling = {
  prefixes: ['model.', '', 'language_model.model.', 'model.language_model.'],
  tokens: 'embed_tokens.weight',
  finalNorm: 'norm',
  head: ['lm_head.weight', 'language_model.lm_head.weight'],
  layer(names, model, feedForward: GatedFeedForward) {
    return { maps: llamaMaps(names, model), feedForward: llamaFeedForward(names, model, feedForward) };
  },
};

export const llama: Family = {
  stem: 'Llama',
  rope: { pairing: 'half' },
  read: (reading) => readDecoder(reading, { biases: readBiases(reading.fields) }),
  tensors: decoderTensors(llamaSpelling),
};
