// Nomic BERT: an encoder with a rotary encoding, a gated feed-forward part and one matrix for queries, keys and values, all
// without biases. From the code that Nomic publishes with its checkpoints (modeling_hf_nomic_bert.py).

import { agreed, type Fields } from '../../checkpoints/fields.js';
import * as check from '../../runtime/check.js';
import type { WeightFile } from '../../sources/tensor-file.js';
import type { GatedFeedForward, ModelDescription } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family, LayerSpelling } from '../description/family.js';
import { size } from '../description/fields.js';
import { type ModelSlots, Names } from '../description/slots.js';

// The settings of Nomic's models. Where a file lacks one of `needed`, Nomic's class has another value.
const needed = {
  activation_function: 'swiglu',
  qkv_proj_bias: false,
  mlp_fc1_bias: false,
  mlp_fc2_bias: false,
  rotary_emb_fraction: 1,
};
const usual = {
  prenorm: false,
  causal: false,
  parallel_block: false,
  use_rms_norm: false,
  rotary_emb_interleaved: false,
  hidden_act: 'silu',
};

// A size under GPT-2's name, which these files have, or BERT's.
function sizeIn(fields: Fields, name: string, other: string, one = size): number {
  return agreed(fields.at(name, other), one)?.value ?? fields.need(name, one);
}

// Bounded, because every layer is described before the file is read.
const count = (where: string, name: string, value: unknown) => check.integer(where, name, value, 1, 2 ** 12);

const spelling: LayerSpelling = {
  layer(names, { modelDim, heads, headDim }, { hiddenDim }: GatedFeedForward) {
    const rows = heads * headDim;
    const linear = (name: string, outputs: number, inputs: number) => names.linear(name, outputs, inputs, false);
    const [query, key, value] = names.joined('attn.Wqkv', [rows, rows, rows], modelDim);
    return {
      maps: {
        ...{ query, key, value },
        output: linear('attn.out_proj', modelDim, rows),
        attentionNorm: names.norm('norm1', modelDim, true),
        feedForwardNorm: names.norm('norm2', modelDim, true),
      },
      // The second of the two maps before the product has the activation.
      feedForward: {
        kind: 'gated',
        gate: linear('mlp.fc12', hiddenDim, modelDim),
        up: linear('mlp.fc11', hiddenDim, modelDim),
        down: linear('mlp.fc2', modelDim, hiddenDim),
      },
    };
  },
};

// The head of a masked language model, whose matrix is the table of token vectors.
function maskedHead(names: Names, { modelDim, givesLogits }: ModelDescription, file: WeightFile): ModelSlots['head'] {
  const at = 'cls.predictions.transform.';
  if (givesLogits !== true && !file.has(`${at}dense.weight`)) return undefined;
  return names.outside([at], (_, plain) => ({
    transform: plain.linear(`${at}dense`, modelDim, modelDim, false),
    norm: plain.norm(`${at}layer_norm`, modelDim, true),
  }));
}

export const nomicBert: Family = {
  stem: 'NomicBert',
  rope: { pairing: 'half', base: 1000 },
  read(reading) {
    const { fields, givesLogits } = reading;
    // Files of transformers 5, whose class has no biases, may leave these out.
    expectOnly(fields, needed, !fields.has('hidden_act'));
    expectOnly(fields, usual);
    const modelDim = sizeIn(fields, 'n_embd', 'hidden_size');
    const heads = sizeIn(fields, 'n_head', 'num_attention_heads');
    const [width, headCount] = fields.has('n_embd') ? ['n_embd', 'n_head'] : ['hidden_size', 'num_attention_heads'];
    if (modelDim % heads !== 0) throw fields.misfit(width, `, no multiple of ${headCount}, ${heads}; expected that`);
    const kvHeads = agreed(fields.at('num_heads_kv', 'num_key_value_heads'), size);
    if (kvHeads !== undefined && kvHeads.value !== heads) {
      throw fields.misfit(kvHeads.name, `; expected ${headCount}, ${heads}`);
    }
    const headDim = modelDim / heads;
    const hiddenDim = sizeIn(fields, 'n_inner', 'intermediate_size');
    const layer = { rope: reading.rope('full_attention', headDim), feedForward: { kind: 'gated', hiddenDim } } as const;
    return {
      ...{ kind: 'encoder', modelDim, embeddingDim: modelDim, heads, kvHeads: heads, headDim },
      vocabSize: fields.need('vocab_size', size),
      layers: Array.from({ length: sizeIn(fields, 'n_layer', 'num_hidden_layers', count) }, () => layer),
      position: 'rope',
      tokenTypes: fields.optional('type_vocab_size', size) ?? 2,
      norms: 'post',
      norm: 'layer',
      eps: agreed(fields.at('layer_norm_epsilon', 'layer_norm_eps'), check.positive)?.value ?? 1e-5,
      unitOffset: false,
      queryKeyNorm: false,
      activation: 'silu',
      biases: { attention: false, attentionOutput: false, feedForward: false },
      scale: 1 / Math.sqrt(headDim),
      scaledEmbeddings: false,
      turnValues: false,
      tiedEmbeddings: true,
      givesLogits,
    };
  },
  tensors(model, file) {
    const { modelDim, vocabSize, tokenTypes } = model;
    const names = new Names(file, ['', 'bert.'], 'embeddings.word_embeddings.weight');
    const head = maskedHead(names, model, file);
    const slots: ModelSlots = {
      tokens: names.matrix('embeddings.word_embeddings.weight', vocabSize, modelDim),
      tokenTypes: names.matrix('embeddings.token_type_embeddings.weight', tokenTypes, modelDim),
      embeddingNorm: names.norm('emb_ln', modelDim, true),
      layers: model.layers.map(({ feedForward }, i) =>
        spelling.layer(names.within(`encoder.layers.${i}.`), model, feedForward),
      ),
      head,
    };
    return { names, slots };
  },
};
