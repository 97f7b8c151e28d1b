// OPT: learned positions from row 2 on, ReLU, norms before the parts, or after them in the model of 350 million weights.

import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { DenseFeedForward } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family } from '../description/family.js';
import { flag, readActivation, size, sizeOf } from '../description/fields.js';

const spelling: DecoderSpelling = {
  prefixes: ['model.decoder.', 'decoder.', ''],
  tokens: 'embed_tokens.weight',
  positions: 'embed_positions.weight',
  finalNorm: 'final_layer_norm',
  head: ['lm_head.weight'],
  layer(names, { modelDim, biases }, { hiddenDim }: DenseFeedForward) {
    const map = (name: string) => names.linear(`self_attn.${name}`, modelDim, modelDim, biases.attention);
    return {
      maps: {
        query: map('q_proj'),
        key: map('k_proj'),
        value: map('v_proj'),
        output: map('out_proj'),
        attentionNorm: names.norm('self_attn_layer_norm', modelDim, true),
        feedForwardNorm: names.norm('final_layer_norm', modelDim, true),
      },
      feedForward: {
        kind: 'dense',
        up: names.linear('fc1', hiddenDim, modelDim, biases.feedForward),
        down: names.linear('fc2', modelDim, hiddenDim, biases.feedForward),
      },
    };
  },
};

const plainTensors = decoderTensors(spelling);

export const opt: Family = {
  stem: 'OPT',
  read(reading) {
    const { fields } = reading;
    expectOnly(fields, { layer_norm_elementwise_affine: true, _remove_final_layer_norm: false });
    const biased = flag(fields, 'enable_bias', true);
    const model = readDecoder(reading, {
      sizes: { names: { intermediate_size: 'ffn_dim' }, vocabSize: 50272 },
      feedForward: ({ hiddenDim }) => ({ kind: 'dense', hiddenDim }),
      position: 'absolute',
      maxPositions: sizeOf(fields, 'max_position_embeddings', 2048),
      firstPosition: 2,
      norms: flag(fields, 'do_layer_norm_before', true) ? 'pre' : 'post',
      norm: 'layer',
      eps: 1e-5,
      activation: readActivation(fields, 'relu', 'activation_function'),
      biases: { attention: biased, attentionOutput: biased, feedForward: biased },
      tied: true,
    });
    return { ...model, embeddingDim: fields.optional('word_embed_proj_dim', size) ?? model.modelDim };
  },
  tensors(model, file) {
    const checkpoint = plainTensors(model, file);
    const { modelDim, embeddingDim } = model;
    if (embeddingDim === modelDim) return checkpoint;
    const { names, slots, spare = [] } = checkpoint;
    const projection = names.linear('project_in', modelDim, embeddingDim, false);
    if (slots.head === undefined) {
      return { names, slots: { ...slots, projection }, spare: [...spare, 'project_out.weight'] };
    }
    const transform = names.linear('project_out', embeddingDim, modelDim, false);
    return { ...checkpoint, slots: { ...slots, projection, head: { ...slots.head, transform } } };
  },
};
