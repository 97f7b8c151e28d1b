// GPT-NeoX and Pythia: attention and feed-forward part side by side, layer norms, and rotation of a quarter of each
// head.

import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { DenseFeedForward, ModelDescription } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family } from '../description/family.js';
import { flag, readActivation, readEps } from '../description/fields.js';
import {
  type LayerMaps,
  type MatrixSlot,
  matrixSlot,
  type Names,
  type VectorSlot,
  vectorSlot,
} from '../description/slots.js';

/** Queries, keys and values in one tensor, whose rows are ordered by head: its query, its key, its value. @internal */
export function byHead(names: Names, { modelDim, heads, headDim, biases }: ModelDescription, name: string): LayerMaps {
  const rows = heads * headDim;
  const join = <S extends MatrixSlot | VectorSlot>(part: string, shape: readonly number[], make: () => S) => {
    const slots = [make(), make(), make()] as const;
    const ofHead = (_: unknown, head: number) => slots.map((slot) => ({ slot, first: head * headDim, count: headDim }));
    names.fused(`${name}.${part}`, shape, Array.from({ length: heads }, ofHead).flat());
    return slots;
  };
  const weights = join('weight', [3 * rows, modelDim], () => matrixSlot(rows, modelDim));
  const vectors = biases.attention ? join('bias', [3 * rows], () => vectorSlot(rows)) : undefined;
  const map = (i: 0 | 1 | 2) => ({ weight: weights[i], ...(vectors && { bias: vectors[i] }) });
  return { query: map(0), key: map(1), value: map(2) };
}

const spelling: DecoderSpelling = {
  prefixes: ['gpt_neox.', ''],
  tokens: 'embed_in.weight',
  finalNorm: 'final_layer_norm',
  head: ['embed_out.weight'],
  layer(names, model, { hiddenDim }: DenseFeedForward) {
    const { modelDim, heads, headDim, biases } = model;
    return {
      maps: {
        ...byHead(names, model, 'attention.query_key_value'),
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

export const gptNeox: Family = {
  stem: 'GPTNeoX',
  rope: { pairing: 'half', rotaryFraction: 0.25 },
  read(reading) {
    const { fields } = reading;
    const attention = flag(fields, 'attention_bias', true);
    const model = readDecoder(reading, {
      feedForward: ({ hiddenDim }) => ({ kind: 'dense', hiddenDim }),
      norms: flag(fields, 'use_parallel_residual', true) ? 'parallel' : 'pre',
      norm: 'layer',
      eps: readEps(fields, 'layer_norm_eps', 1e-5),
      activation: readActivation(fields, 'gelu'),
      biases: { attention, attentionOutput: attention, feedForward: true },
    });
    expectOnly(fields, { num_key_value_heads: model.heads });
    return model;
  },
  tensors: decoderTensors(spelling),
};
