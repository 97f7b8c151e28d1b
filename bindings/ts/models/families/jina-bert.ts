// Jina BERT v2, which is a BERT by its model_type: ALiBi in both directions and a gated feed-forward part. From the code that
// Jina publishes with its checkpoints (jinaai/jina-bert-implementation, modeling_bert.py).

import { oneOf } from '../../checkpoints/fields.js';
import type { GatedFeedForward, ModelDescription } from '../description/description.js';
import type { Family, LayerSpelling, Reading } from '../description/family.js';
import { sizeOf } from '../description/fields.js';
import { bert, bertAttention, encoderTensors, readEncoder } from './bert.js';
import { alibiBiases } from './distance-biases.js';

const gates = { geglu: 'gelu', reglu: 'relu' } as const;

function readJina(reading: Reading): ModelDescription {
  const { fields, sequenceLength } = reading;
  const activation = fields.need('feed_forward_type', oneOf(gates));
  fields.use('position_embedding_type');
  const body = readEncoder(reading);
  const trained = sizeOf(fields, 'max_position_embeddings', 512);
  return {
    ...body,
    layers: body.layers.map(({ rope, feedForward: { hiddenDim } }) => ({
      rope,
      feedForward: { kind: 'gated', hiddenDim },
    })),
    position: 'alibi',
    maxPositions: sequenceLength ?? trained,
    activation,
    biases: { ...body.biases, feedForward: false },
  };
}

// Of the feed-forward part, only the last map has a bias. GGUF files may have the gate by itself.
const spelling: LayerSpelling = {
  layer(names, model, { hiddenDim }: GatedFeedForward) {
    const { modelDim } = model;
    const name = 'mlp.gated_layers';
    const [gate, up] = names.has('mlp.gate.weight')
      ? [names.linear('mlp.gate', hiddenDim, modelDim, false), names.linear(name, hiddenDim, modelDim, false)]
      : names.joined(name, [hiddenDim, hiddenDim], modelDim);
    return {
      maps: { ...bertAttention(names, model), feedForwardNorm: names.norm('mlp.layernorm', modelDim, true) },
      feedForward: { kind: 'gated', gate, up, down: names.linear('mlp.wo', modelDim, hiddenDim) },
    };
  },
};

const tensors = encoderTensors('bert.', { layers: spelling });

/** BERT and Jina BERT, which have one model_type. @internal */
export const bertOrJina: Family = {
  ...bert,
  otherStem: 'JinaBert',
  biases: alibiBiases,
  read: (reading) => (reading.fields.peek('position_embedding_type') === 'alibi' ? readJina : bert.read)(reading),
  tensors: (model, file) => (model.position === 'alibi' ? tensors : bert.tensors)(model, file),
};
