// ModernBERT: norms before the parts, a rotary encoding, a gated feed-forward part, and a window to both sides in all
// layers but every third.

import type { WeightFile } from '../../sources/tensor-file.js';
import { hasNormBias, readDecoder } from '../description/decoders.js';
import type { GatedFeedForward, ModelDescription } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Checkpoint, Family } from '../description/family.js';
import { flag, readActivation, readBiases, readEps, sizeOf } from '../description/fields.js';
import { type LayerSlots, type ModelSlots, Names } from '../description/slots.js';

function layerSlots(names: Names, model: ModelDescription, isFirst: boolean, hiddenDim: number): LayerSlots {
  const { modelDim, biases } = model;
  const [query, key, value] = names.joined('attn.Wqkv', [modelDim, modelDim, modelDim], modelDim, biases.attention);
  const [gate, up] = names.joined('mlp.Wi', [hiddenDim, hiddenDim], modelDim, biases.feedForward);
  const norm = (name: string) => names.norm(name, modelDim, hasNormBias(model));
  return {
    maps: {
      ...{ query, key, value },
      output: names.linear('attn.Wo', modelDim, modelDim, biases.attentionOutput),
      // The first layer reads the norm of the token vectors.
      ...(!isFirst && { attentionNorm: norm('attn_norm') }),
      feedForwardNorm: norm('mlp_norm'),
    },
    feedForward: {
      kind: 'gated',
      ...{ gate, up },
      down: names.linear('mlp.Wo', modelDim, hiddenDim, biases.feedForward),
    },
  };
}

// The head of a masked language model. Those of classes for other tasks begin with the same tensors.
function maskedHead(names: Names, model: ModelDescription, file: WeightFile): ModelSlots['head'] {
  const { modelDim, vocabSize, biases, givesLogits, tiedEmbeddings } = model;
  if (!(givesLogits ?? file.has('head.dense.weight'))) return undefined;
  return names.outside(['head.'], (_, plain) => ({
    transform: plain.linear('head.dense', modelDim, modelDim, file.has('head.dense.bias')),
    norm: plain.norm('head.norm', modelDim, hasNormBias(model)),
    weight: tiedEmbeddings ? undefined : plain.matrix('decoder.weight', vocabSize, modelDim),
    bias: biases.head ? plain.vector('decoder.bias', vocabSize) : undefined,
  }));
}

export const modernBert: Family = {
  stem: 'ModernBert',
  rope: { pairing: 'half', base: 1.6e5, localBase: 1e4 },
  read(reading) {
    const { fields, givesLogits } = reading;
    const every = sizeOf(fields, 'global_attn_every_n_layers', 3);
    const window = Math.floor(sizeOf(fields, 'local_attention', 128) / 2) + 1;
    // Versions of the class differ in the layers that are scaled.
    expectOnly(fields, { rope_scaling: null });
    // One activation for the layers and a head, whose class has gelu.
    const own = fields.peek('hidden_activation') ?? 'gelu';
    if (givesLogits !== false) expectOnly(fields, { classifier_activation: own }, givesLogits && own !== 'gelu');
    fields.use('classifier_bias', 'sparse_prediction', 'sparse_pred_ignore_index', 'position_embedding_type');
    const model = readDecoder(reading, {
      kind: 'encoder',
      sizes: { vocabSize: 50368 },
      sliding: () => ({ window, slides: (layer) => layer % every !== 0 }),
      norm: 'layer',
      eps: readEps(fields, 'norm_eps', 1e-5),
      activation: readActivation(fields, 'gelu', 'hidden_activation'),
      biases: {
        ...readBiases(fields),
        norms: flag(fields, 'norm_bias', false),
        head: flag(fields, 'decoder_bias', true),
      },
      tied: true,
    });
    expectOnly(fields, { num_key_value_heads: model.heads, head_dim: model.modelDim / model.heads });
    return model;
  },
  tensors(model, file): Checkpoint {
    const { modelDim, vocabSize } = model;
    const tokens = 'embeddings.tok_embeddings.weight';
    const names = new Names(file, ['model.', ''], tokens);
    const norm = (name: string) => names.norm(name, modelDim, hasNormBias(model));
    const head = maskedHead(names, model, file);
    const slots: ModelSlots = {
      tokens: names.matrix(tokens, vocabSize, modelDim),
      embeddingNorm: norm('embeddings.norm'),
      layers: model.layers.map(({ feedForward }, i) =>
        layerSlots(names.within(`layers.${i}.`), model, i === 0, (feedForward as GatedFeedForward).hiddenDim),
      ),
      finalNorm: norm('final_norm'),
      head,
    };
    const others = ['head.dense.weight', 'head.dense.bias', 'head.norm.weight', 'head.norm.bias', 'decoder.bias'];
    return { names, slots, spare: ['decoder.weight', ...(head === undefined ? others : [])] };
  },
};
