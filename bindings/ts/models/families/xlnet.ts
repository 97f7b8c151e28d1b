// XLNet as an encoder: its content stream, which sees both sides by the attention of Transformer-XL (Dai et al.,
// arXiv:1901.02860; Yang et al., arXiv:1906.08237). Scores are
//   scale ((q_i + u) . k_j + (q_i + v) . R_{i - j} + (q_i + s) . E_{types of i and j differ}).
// u is the bias of queries; what v and s have otherwise than u does not depend on the text.

import type { PackedMatrix } from '../../core.mjs';
import { checkTable, writeTable } from '../../encodings/sinusoidal.js';
import { orDisposed } from '../../runtime/handle.js';
import type { Heap } from '../../runtime/heap.js';
import { type Tensor, tensorMaker } from '../../runtime/tensor.js';
import type { WeightFile } from '../../sources/tensor-file.js';
import type { DenseFeedForward, ModelDescription } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family, LayerPositions } from '../description/family.js';
import { integerFrom, readActivation, type SizeNames } from '../description/fields.js';
import { type LayerSlots, type MatrixSlot, Names } from '../description/slots.js';
import { readEncoder } from './bert.js';
import { floatsOf } from './deberta.js';
import { Turned } from './gpt2.js';

const names: SizeNames = {
  hidden_size: 'd_model',
  num_attention_heads: 'n_head',
  num_hidden_layers: 'n_layer',
  intermediate_size: 'd_inner',
};

/** A file whose heads are one axis with their numbers. */
class Joined extends Turned {
  readonly #heads: number;

  constructor(file: WeightFile, { heads }: ModelDescription) {
    super(file, (name, [inputs = 0, count, dim = 0, ...more]) =>
      /\.rel_attn\.[qkvr]$/.test(name) && count === heads && more.length === 0 ? [inputs, heads * dim] : undefined,
    );
    this.#heads = heads;
  }

  override info(name: string) {
    const info = super.info(name);
    const before = /\.rel_attn\.r_[rsw]_bias$/.test(name) ? 0 : /\.rel_attn\.(o|seg_embed)$/.test(name) ? 1 : undefined;
    const [heads, dim = 0, ...more] = info.shape.slice(before);
    if (before === undefined || heads !== this.#heads || more.length > 0) return info;
    return { ...info, shape: [...info.shape.slice(0, before), heads * dim] };
  }
}

// [rows, M] to [rows, H * D], without a bias.
function mapped(heap: Heap, where: string, { packed }: MatrixSlot, out: number, x: number, rows: number): void {
  const map = heap.construct(where, (core) => new core.Linear());
  try {
    heap.run(where, () => map.create(packed as PackedMatrix, 0, 0));
    heap.call(() => map.apply(out, x, rows, -1));
  } finally {
    heap.destroy(map);
  }
}

// Each layer's map makes a table of the sinusoids of distances, once.
const positions: LayerPositions = (heap, where, model, slots) => {
  const { modelDim, heads, headDim, scale, maxPositions = 1, clampedDistance = maxPositions } = model;
  const limit = Math.min(clampedDistance, maxPositions - 1);
  const rows = 2 * limit + 1;
  const width = heads * headDim;
  const distanceCount = 2 * maxPositions - 1;
  const make = ({ maps, transformerXl }: LayerSlots) => {
    const { query } = maps;
    if (transformerXl === undefined || query?.bias === undefined) throw new TypeError('not the slots of an XLNet');
    const { distances, positionBias, segmentBias, segments } = transformerXl;
    const [u, v, s, ends] = [query.bias, positionBias, segmentBias, segments].map((slot) =>
      floatsOf(heap, where, slot),
    ) as [Float32Array, Float32Array, Float32Array, Float32Array];
    // (w - u) . x of each head
    const product = (w: Float32Array, head: number, x: Float32Array, row: number) => {
      let sum = 0;
      for (let d = head * headDim; d < (head + 1) * headDim; ++d) {
        sum += ((w[d] as number) - (u[d] as number)) * (x[row * width + d] as number);
      }
      return sum;
    };
    const owned: Tensor[] = [];
    const tensor = tensorMaker(heap, where, owned);
    return orDisposed(owned, () => {
      const table = tensor(rows, width);
      heap.scope(where, (scratch) => {
        const sinusoids = scratch(rows * modelDim * 4);
        const at = Float64Array.from({ length: rows }, (_, n) => n - limit);
        writeTable(heap, where, checkTable(where, { dim: modelDim, layout: 'concatenated' }), at, sinusoids, scratch);
        mapped(heap, where, distances, table.pointer, sinusoids, rows);
      });
      const numbers = table.data();
      const biases = Float32Array.from({ length: heads * distanceCount }, (_, n) => {
        const distance = maxPositions - 1 - (n % distanceCount); // of the query behind the key
        const row = Math.max(-limit, Math.min(limit, distance)) + limit;
        return scale * product(v, Math.floor(n / distanceCount), numbers, row);
      });
      const ofTypes = Float32Array.from({ length: 2 * heads }, (_, n) =>
        product(s, n % heads, ends, Math.floor(n / heads)),
      );
      const part = {
        relative: { rows: { limit, keyMinusQuery: false }, queryTable: table.pointer, ownTables: true },
        distanceBias: tensor(heads, distanceCount).set(biases).pointer,
        distanceFirst: 1 - maxPositions,
        distanceCount,
      };
      const segments = {
        segmentTable: tensor(2, width).set(ends).pointer,
        segmentBias: tensor(2, heads).set(ofTypes).pointer,
      };
      return { encoding: model.position, rope: undefined, owned, segments, part: () => part };
    });
  };
  return slots.layers.map((layer) => ({ make: () => make(layer), maxLength: Number.POSITIVE_INFINITY }));
};

export const xlnet: Family = {
  stem: 'XLNet',
  positions,
  read(reading) {
    const { fields, sequenceLength } = reading;
    const body = readEncoder(reading, 0, { names });
    expectOnly(fields, { d_head: body.headDim, attn_type: 'bi', bi_data: false, same_length: false, untie_r: true });
    const clamped = fields.optional('clamp_len', integerFrom(-1, 2 ** 24)) ?? -1;
    return {
      ...body,
      activation: readActivation(fields, 'gelu', 'ff_activation'),
      position: 'transformer-xl',
      maxPositions: sequenceLength ?? 512,
      ...(clamped > 0 && { clampedDistance: clamped }),
      tokenTypes: 5,
      biases: { attention: false, attentionOutput: false, feedForward: true },
    };
  },
  fileOf: (file, model) => new Joined(file, model),
  tensors(model, file) {
    const { modelDim, heads, headDim, vocabSize, tiedEmbeddings } = model;
    const tensors = new Names(file, ['transformer.', ''], 'word_embedding.weight');
    const width = heads * headDim;
    const tokens = tensors.matrix('word_embedding.weight', vocabSize, modelDim);
    const layers = model.layers.map(({ feedForward }, i): LayerSlots => {
      const { hiddenDim } = feedForward as DenseFeedForward;
      const layer = tensors.within(`layer.${i}.`);
      const map = (name: string, rows = width, columns = modelDim) => layer.matrix(`rel_attn.${name}`, rows, columns);
      const bias = (name: string) => layer.vector(`rel_attn.r_${name}_bias`, width);
      return {
        maps: {
          query: { weight: map('q'), bias: bias('w') },
          key: { weight: map('k') },
          value: { weight: map('v') },
          output: { weight: map('o', modelDim, width) },
          attentionNorm: layer.norm('rel_attn.layer_norm', modelDim, true),
          feedForwardNorm: layer.norm('ff.layer_norm', modelDim, true),
        },
        feedForward: {
          kind: 'dense',
          up: layer.linear('ff.layer_1', hiddenDim, modelDim),
          down: layer.linear('ff.layer_2', modelDim, hiddenDim),
        },
        transformerXl: {
          distances: map('r'),
          positionBias: bias('r'),
          segmentBias: bias('s'),
          segments: layer.table('rel_attn.seg_embed', 2, width),
        },
      };
    });
    const hasHead = model.givesLogits === true || file.has('lm_loss.bias');
    const head = () =>
      tensors.outside(['lm_loss.'], (at, plain) => ({
        weight: tiedEmbeddings ? undefined : plain.matrix(`${at}weight`, vocabSize, modelDim),
        bias: plain.vector(`${at}bias`, vocabSize),
      }));
    return {
      names: tensors,
      slots: { tokens, layers, head: hasHead ? head() : undefined },
      // The vector of masked queries, the head where it is the table, and those of other tasks.
      spare: [
        'mask_emb',
        ...['lm_loss', 'sequence_summary.summary', 'logits_proj'].flatMap((name) => [`${name}.weight`, `${name}.bias`]),
      ],
    };
  },
};
