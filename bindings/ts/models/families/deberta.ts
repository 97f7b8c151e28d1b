// DeBERTa v2 and v3: BERT without positions of tokens; queries meet vectors of distances, and so do keys (disentangled
// attention, He et al., arXiv:2006.03654).

import { disentangledRow } from '../../attention/deberta.js';
import { type FieldCheck, text } from '../../checkpoints/fields.js';
import { layerNorm } from '../../layers/norms.js';
import { copyOf } from '../../layers/transformer-layer.js';
import { weight } from '../../layers/weights.js';
import { ArgumentRangeError, describe } from '../../runtime/errors.js';
import { orDisposed } from '../../runtime/handle.js';
import type { Heap } from '../../runtime/heap.js';
import { type NdArray, type Tensor, tensorMaker } from '../../runtime/tensor.js';
import type { WeightFile } from '../../sources/tensor-file.js';
import type { DisentangledDistances, ModelDescription } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family, LayerPositions, Reading } from '../description/family.js';
import { integerFrom, readEps, size, sizeOf } from '../description/fields.js';
import type { ModelSlots, Names, VectorSlot } from '../description/slots.js';
import { bertLayer, encoderTensors, maskedHead, readEncoder } from './bert.js';

// Where a file lacks one of these, the class has another value.
const needed = { relative_attention: true, position_biased_input: false, share_att_key: true };

const terms: FieldCheck<readonly string[]> = (where, name, value) => {
  const list =
    typeof value === 'string'
      ? value
          .toLowerCase()
          .split('|')
          .map((term) => term.trim())
      : value;
  if (Array.isArray(list) && list.length > 0 && list.every((term) => term === 'c2p' || term === 'p2c')) return list;
  throw new ArgumentRangeError(where, name, value, `is ${describe(value)}; expected "c2p", "p2c" or "c2p|p2c"`);
};

function readDistances({ fields }: Reading): DisentangledDistances {
  const asked = fields.need('pos_att_type', terms);
  const countOrNone = integerFrom(-1, 2 ** 16); // -1: none
  const most = fields.optional('max_relative_positions', countOrNone) ?? -1;
  const maxDistance = most > 0 ? most : sizeOf(fields, 'max_position_embeddings', 512);
  const buckets = fields.optional('position_buckets', countOrNone) ?? -1;
  if (buckets > 0 && (buckets < 4 || buckets % 2 !== 0 || maxDistance < buckets / 2 + 2)) {
    throw fields.misfit('position_buckets', `; expected an even number from 4 to ${2 * (maxDistance - 2)}`);
  }
  const norms = fields.optional('norm_rel_ebd', text)?.toLowerCase() ?? 'none';
  if (norms !== 'none' && norms !== 'layer_norm') {
    throw fields.misfit('norm_rel_ebd', '; expected "layer_norm" or "none"');
  }
  return {
    ...(buckets > 0 ? { span: buckets, maxDistance } : { span: maxDistance }),
    asKeys: asked.includes('c2p'),
    asQueries: asked.includes('p2c'),
    normed: norms === 'layer_norm',
  };
}

// Files of Microsoft have their own head in place of the one that the class calls cls.
function headOf(names: Names, model: ModelDescription, file: WeightFile): ModelSlots['head'] {
  const at = 'lm_predictions.lm_head.';
  if (!file.has(`${at}dense.weight`) || file.has('cls.predictions.transform.dense.weight')) {
    return maskedHead(names, model, file);
  }
  const { modelDim, vocabSize } = model;
  return names.outside([at], (_, plain) => ({
    transform: plain.linear(`${at}dense`, modelDim, modelDim),
    norm: plain.norm(`${at}LayerNorm`, modelDim, true),
    bias: plain.vector(`${at}bias`, vocabSize),
  }));
}

/** The numbers of a slot. @internal */
export function floatsOf(
  heap: Heap,
  where: string,
  { data, type, rows, columns }: VectorSlot,
): Float32Array<ArrayBuffer> {
  const tensor = copyOf(heap, where, weight(heap, where, 'table', { data, type }, [1, rows * columns]));
  const floats = tensor.data();
  tensor.dispose();
  return floats;
}

// The vectors of distances [2 span, M], normalized where they are.
function vectorsOf(
  heap: Heap,
  where: string,
  { modelDim, eps }: ModelDescription,
  { vectors, norm }: NonNullable<ModelSlots['disentangled']>,
): Float32Array {
  const data = floatsOf(heap, where, vectors);
  if (norm?.bias === undefined) return data;
  const [factors, bias] = [floatsOf(heap, where, norm.weight), floatsOf(heap, where, norm.bias)];
  return layerNorm<NdArray, undefined>(heap, { data, shape: [vectors.rows, modelDim] }, { weight: factors, bias, eps })
    .data;
}

// Each layer's maps make tables of the vectors of distances, once.
const positions: LayerPositions = (heap, where, model, slots, layers) => {
  const { heads, headDim, disentangled } = model;
  if (disentangled === undefined || slots.disentangled === undefined) return [];
  const { span, maxDistance, asKeys, asQueries } = disentangled;
  const rowOf = disentangledRow(span, maxDistance);
  const limit = maxDistance ?? span; // the least distance that has the outermost row
  const buckets = Int32Array.from({ length: 2 * limit + 1 }, (_, n) => rowOf(n - limit));
  const vectors = vectorsOf(heap, where, model, slots.disentangled);
  const make = ({ block }: (typeof layers)[number]) => {
    const owned: Tensor[] = [];
    const tensor = tensorMaker(heap, where, owned);
    return orDisposed(owned, () => {
      const list = tensor(buckets.length).set(new Float32Array(buckets.buffer));
      const tableOf = (keys: boolean) => {
        const table = tensor(2 * span, heads * headDim).pointer;
        heap.scope(where, (scratch) => {
          const from = heap.put(scratch, vectors);
          heap.call(() => block.project(keys, table, from, 2 * span));
        });
        return table;
      };
      const relative = {
        rows: { limit, keyMinusQuery: false, buckets: list.pointer },
        ...(asKeys && { queryTable: tableOf(true) }),
        ...(asQueries && { keyTable: tableOf(false) }),
        ownTables: true,
      };
      return { encoding: model.position, rope: undefined, owned, part: () => ({ relative }) };
    });
  };
  return layers.map((layer) => ({ make: () => make(layer), maxLength: Number.POSITIVE_INFINITY }));
};

export const debertaV2: Family = {
  stem: 'DebertaV2',
  positions,
  read(reading) {
    const { fields } = reading;
    expectOnly(fields, needed, true);
    const body = readEncoder({ ...reading, headDim: fields.optional('attention_head_size', size) }, 0);
    expectOnly(fields, { embedding_size: body.modelDim, conv_kernel_size: 0 });
    const disentangled = readDistances(reading);
    const products = 1 + Number(disentangled.asKeys) + Number(disentangled.asQueries);
    return {
      ...body,
      eps: readEps(fields, 'layer_norm_eps', 1e-7),
      position: 'disentangled',
      disentangled,
      scale: 1 / Math.sqrt(body.headDim * products),
    };
  },
  tensors(model, file) {
    const { modelDim, disentangled } = model;
    const { names, slots } = encoderTensors('deberta.', { headOf, layers: bertLayer('_proj') })(model, file);
    const vectors = names.table('encoder.rel_embeddings.weight', 2 * (disentangled?.span ?? 0), modelDim);
    const norm = disentangled?.normed && names.norm('encoder.LayerNorm', modelDim, true);
    const others = file.names.filter((name) => /^(lm|mask)_predictions\./.test(name));
    return {
      names,
      slots: { ...slots, disentangled: { vectors, ...(norm && { norm }) } },
      // A table and a copy that some files have and the class does not read.
      spare: ['embeddings.position_embeddings.weight', 'embeddings.word_embeddings._weight', ...others],
    };
  },
};
