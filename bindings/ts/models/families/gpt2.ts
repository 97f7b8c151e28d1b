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

// Numbers of a matrix that are handed on at once.
const numbersAtOnce = 2 ** 18;

/** Of a tensor whose matrices are stored [inputs, outputs]: these two, and how many there are follows; else undefined. @internal */
export type TurnedShape = (
  name: string,
  shape: readonly number[],
) => readonly [inputs: number, outputs: number] | undefined;

/**
 * A file some of whose matrices, stored [inputs, outputs], appear as [outputs, inputs], and many in one tensor one after
 * the other. Each tensor is read whole.
 * @internal
 */
export class Turned extends ChangedFile {
  readonly #turned: TurnedShape;

  constructor(file: WeightFile, turned: TurnedShape) {
    super(file);
    this.#turned = turned;
  }

  override info(name: string) {
    const info = super.info(name);
    const [columns] = this.#turned(name, info.shape) ?? [];
    return columns === undefined
      ? info
      : { ...info, shape: [info.shape.reduce((product, n) => product * n, 1) / columns, columns] };
  }

  override async stream(...[name, receive, ...rest]: Parameters<WeightFile['stream']>): Promise<void> {
    const [, each] = this.#turned(name, super.info(name).shape) ?? []; // rows of a matrix
    if (each === undefined) return super.stream(name, receive, ...rest);
    const [rows = 0, columns = 0] = this.info(name).shape;
    const stored = await this.tensor(name, ...rest);
    const piece = stored.slice(0, columns * Math.min(rows, Math.max(1, Math.floor(numbersAtOnce / columns))));
    for (let first = 0; first < rows; ) {
      const count = Math.min(rows - first, piece.length / columns);
      for (let i = 0; i < count * columns; ++i) {
        const row = first + Math.floor(i / columns);
        const at = (Math.floor(row / each) * columns + (i % columns)) * each + (row % each);
        piece[i] = stored[at] as (typeof piece)[number];
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

/** Of files that may have masks, as older ones do. @internal */
export function maskedTensors(spelling: DecoderSpelling): Family['tensors'] {
  const decoder = decoderTensors(spelling);
  return (model, file) => {
    const { spare = [], ...checkpoint } = decoder(model, file);
    return { ...checkpoint, spare: [...spare, 'attn.bias', 'attn.masked_bias'] };
  };
}

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
  // The class is Conv1D, whose product is x w.
  fileOf: (file) =>
    new Turned(file, (name, [inputs = 0, outputs, ...more]) =>
      outputs !== undefined && more.length === 0 && /\.(c_attn|c_proj|c_fc)\.weight$/.test(name)
        ? [inputs, outputs]
        : undefined,
    ),
  tensors: maskedTensors(spelling),
};
