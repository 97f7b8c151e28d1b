// GPT-2: learned positions, layer norms, and matrices that are stored [inputs, outputs].

import type { WeightFile } from '../../sources/tensor-file.js';
import { ChangedFile } from '../description/changed-file.js';
import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { DenseFeedForward } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family } from '../description/family.js';
import { readActivation, readEps, type SizeNames, sizeOf } from '../description/fields.js';

/** The names of sizes in GPT-2's class and in those that follow it. @internal */
export const gptNames: SizeNames = {
  hidden_size: 'n_embd',
  num_attention_heads: 'n_head',
  num_hidden_layers: 'n_layer',
  intermediate_size: 'n_inner',
};

// The class is Conv1D, whose product is x w.
const isTurned = (name: string) => /\.(c_attn|c_proj|c_fc)\.weight$/.test(name);

// Numbers of a matrix that are handed on at once.
const numbersAtOnce = 2 ** 18;

/** A file whose matrices of layers appear as [outputs, inputs]. Each is read whole. */
class Turned extends ChangedFile {
  override info(name: string) {
    const info = super.info(name);
    return isTurned(name) ? { ...info, shape: [...info.shape].reverse() } : info;
  }

  override async stream(...[name, receive, options]: Parameters<WeightFile['stream']>): Promise<void> {
    if (!isTurned(name)) return super.stream(name, receive, options);
    const [rows = 0, columns = 0] = this.info(name).shape;
    const stored = await this.tensor(name, options);
    const piece = stored.slice(0, columns * Math.min(rows, Math.max(1, Math.floor(numbersAtOnce / columns))));
    for (let first = 0; first < rows; ) {
      const count = Math.min(rows - first, piece.length / columns);
      for (let i = 0; i < count * columns; ++i) {
        piece[i] = stored[(i % columns) * rows + first + Math.floor(i / columns)] as (typeof piece)[number];
      }
      const bytes = columns * piece.BYTES_PER_ELEMENT;
      receive(new Uint8Array(piece.buffer, piece.byteOffset, count * bytes), first * bytes);
      first += count;
    }
  }
}

const spelling: DecoderSpelling = {
  prefixes: ['transformer.', ''],
  tokens: 'wte.weight',
  positions: 'wpe.weight',
  layers: 'h.',
  finalNorm: 'ln_f',
  head: ['lm_head.weight'],
  layer(names, { modelDim }, { hiddenDim }: DenseFeedForward) {
    const [query, key, value] = names.joined('attn.c_attn', [modelDim, modelDim, modelDim], modelDim, true);
    return {
      maps: {
        ...{ query, key, value },
        output: names.linear('attn.c_proj', modelDim, modelDim),
        attentionNorm: names.norm('ln_1', modelDim, true),
        feedForwardNorm: names.norm('ln_2', modelDim, true),
      },
      feedForward: {
        kind: 'dense',
        up: names.linear('mlp.c_fc', hiddenDim, modelDim),
        down: names.linear('mlp.c_proj', modelDim, hiddenDim),
      },
    };
  },
};

const decoder = decoderTensors(spelling);

export const gpt2: Family = {
  stem: 'GPT2',
  read(reading) {
    const { fields } = reading;
    expectOnly(fields, { scale_attn_weights: true, scale_attn_by_inverse_layer_idx: false });
    return readDecoder(reading, {
      sizes: { vocabSize: 50257, hiddenDim: (modelDim) => 4 * modelDim, names: gptNames },
      feedForward: ({ hiddenDim }) => ({ kind: 'dense', hiddenDim }),
      position: 'absolute',
      maxPositions: sizeOf(fields, fields.has('n_positions') ? 'n_positions' : 'max_position_embeddings', 1024),
      norm: 'layer',
      eps: readEps(fields, 'layer_norm_epsilon', 1e-5),
      activation: readActivation(fields, 'geluTanh', 'activation_function'),
      biases: { attention: true, attentionOutput: true, feedForward: true },
      tied: true,
    });
  },
  fileOf: (file) => new Turned(file),
  // Masks that older files have.
  tensors: (model, file) => {
    const { spare = [], ...checkpoint } = decoder(model, file);
    return { ...checkpoint, spare: [...spare, 'attn.bias', 'attn.masked_bias'] };
  },
};
