// Marian, the translation models of OPUS-MT: sinusoids that are no weights, norms after the parts, and a bias of logits.

import { plainForms } from '../../sources/numbers.js';
import type { WeightFile } from '../../sources/tensor-file.js';
import { ChangedFile } from '../description/changed-file.js';
import { readDecoder } from '../description/decoders.js';
import type { ModelDescription, ModelFeedForward } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family } from '../description/family.js';
import { flag, readActivation, sizeOf } from '../description/fields.js';
import { type CrossLayerSlots, type LayerSlots, Names, vectorSlot } from '../description/slots.js';
import { readStartToken } from '../description/start-token.js';

const [anchor, positions, logitsBias] = [
  'encoder.layers.0.fc1.weight',
  'encoder.embed_positions.weight',
  'final_logits_bias',
] as const;
// One matrix, under whichever of its names a file has kept.
const embeddings = ['shared.weight', 'encoder.embed_tokens.weight', 'decoder.embed_tokens.weight'];
const head = 'lm_head.weight';

const prefixOf = (file: WeightFile) => (file.has(anchor) ? '' : 'model.');

// All sines of a position, then all cosines.
function sinusoids(rows: number, columns: number): Float32Array {
  const half = Math.ceil(columns / 2);
  return Float32Array.from({ length: rows * columns }, (_, at) => {
    const [row, i] = [Math.floor(at / columns), at % columns];
    const angle = row / 10000 ** ((2 * (i % half)) / columns);
    return i < half ? Math.sin(angle) : Math.cos(angle);
  });
}

/** A file with the table of positions, which most files leave out, and the bias of logits as a vector. */
class WithPositions extends ChangedFile {
  readonly #name: string;
  readonly #shape: readonly [rows: number, columns: number];

  constructor(file: WeightFile, { modelDim, maxPositions = 1 }: ModelDescription) {
    const name = prefixOf(file) + positions;
    super(file, [...file.names.filter((each) => each !== name), name]);
    this.#name = name;
    this.#shape = [maxPositions, modelDim];
  }

  override has(name: string) {
    return name === this.#name || super.has(name);
  }

  override info(name: string) {
    const [rows, columns] = this.#shape;
    if (name === this.#name) return { dtype: 'F32', shape: this.#shape, byteLength: 4 * rows * columns, file: name };
    const info = super.info(name);
    const isRow = name === logitsBias && info.shape.length === 2 && info.shape[0] === 1;
    return isRow ? { ...info, shape: info.shape.slice(1) } : info;
  }

  override form(name: string) {
    return name === this.#name ? plainForms.F32 : super.form(name);
  }

  override async stream(...[name, receive, ...rest]: Parameters<WeightFile['stream']>): Promise<void> {
    if (name !== this.#name) return super.stream(name, receive, ...rest);
    const bytes = new Uint8Array(sinusoids(...this.#shape).buffer);
    receive(bytes, 0);
    rest[0].onProgress?.({ loaded: bytes.length, total: bytes.length, name });
  }
}

function attentionSlots(names: Names, { modelDim }: ModelDescription) {
  const map = (name: string) => names.linear(name, modelDim, modelDim);
  return { query: map('q_proj'), key: map('k_proj'), value: map('v_proj'), output: map('out_proj') };
}

function layerSlots(names: Names, model: ModelDescription, { hiddenDim }: ModelFeedForward): LayerSlots {
  const { modelDim } = model;
  return {
    maps: {
      ...attentionSlots(names.within('self_attn.'), model),
      attentionNorm: names.norm('self_attn_layer_norm', modelDim, true),
      feedForwardNorm: names.norm('final_layer_norm', modelDim, true),
    },
    feedForward: {
      kind: 'dense',
      up: names.linear('fc1', hiddenDim, modelDim),
      down: names.linear('fc2', modelDim, hiddenDim),
    },
  };
}

function crossSlots(names: Names, model: ModelDescription, feedForward: ModelFeedForward): CrossLayerSlots {
  const norm = names.norm('encoder_attn_layer_norm', model.modelDim, true);
  return {
    ...layerSlots(names, model, feedForward),
    cross: { ...attentionSlots(names.within('encoder_attn.'), model), norm },
  };
}

export const marian: Family = {
  stem: 'Marian',
  hasBoth: true,
  read(reading) {
    const { fields, givesLogits } = reading;
    expectOnly(fields, {
      ...{ static_position_embeddings: true, share_encoder_decoder_embeddings: true, tie_word_embeddings: true },
      ...{ normalize_before: false, normalize_embedding: false, add_final_layer_norm: false, add_bias_logits: false },
      is_decoder: false,
    });
    const names = {
      ...{ hidden_size: 'd_model', num_attention_heads: 'encoder_attention_heads' },
      ...{ num_hidden_layers: 'encoder_layers', intermediate_size: 'encoder_ffn_dim' },
    } as const;
    const isScaled = flag(fields, 'scale_embedding', false);
    const read = readDecoder(reading, {
      kind: 'encoder',
      sizes: { names },
      feedForward: ({ hiddenDim }) => ({ kind: 'dense', hiddenDim }),
      position: 'absolute',
      maxPositions: sizeOf(fields, 'max_position_embeddings', 1024),
      norms: 'post',
      norm: 'layer',
      eps: 1e-5,
      activation: readActivation(fields, 'gelu', 'activation_function'),
      biases: { attention: true, attentionOutput: true, feedForward: true, head: true },
      tiedEmbeddings: true,
    });
    const { modelDim, vocabSize, layers } = read;
    expectOnly(fields, { decoder_vocab_size: vocabSize });
    const encoder: ModelDescription = isScaled ? { ...read, embeddingScale: Math.sqrt(modelDim) } : read;
    // The decoder's sizes mean nothing for an encoder alone.
    const count = sizeOf(fields, 'decoder_layers', layers.length);
    const heads = sizeOf(fields, 'decoder_attention_heads', encoder.heads);
    const hiddenDim = sizeOf(fields, 'decoder_ffn_dim', layers[0]?.feedForward.hiddenDim);
    if (!givesLogits) return encoder;
    if (modelDim % heads !== 0)
      throw fields.misfit('decoder_attention_heads', `, which does not divide d_model, ${modelDim}`);
    const headDim = modelDim / heads;
    const decoder: ModelDescription = {
      ...{ ...encoder, kind: 'decoder', heads, kvHeads: heads, headDim, scale: 1 / Math.sqrt(headDim) },
      layers: Array(count).fill({ rope: null, feedForward: { kind: 'dense', hiddenDim } }),
    };
    return { ...encoder, kind: 'encoder-decoder', decoder, startToken: readStartToken(fields, vocabSize, 58100) };
  },
  fileOf: (file, model) => new WithPositions(file, model),
  tensors(model, file) {
    const { modelDim, vocabSize, maxPositions = 1, layers, decoder } = model;
    const prefix = prefixOf(file);
    const names = new Names(file, [prefix], anchor);
    const spellings = [...embeddings.map((name) => prefix + name), head];
    const own = names.within('encoder.layers.');
    const others = names.within('decoder.layers.');
    const slots = {
      tokens: names.outside(spellings, (name, plain) => plain.matrix(name, vocabSize, modelDim)),
      positions: names.matrix(positions, maxPositions, modelDim),
      layers: layers.map(({ feedForward }, i) => layerSlots(own.within(`${i}.`), model, feedForward)),
    };
    const copies = [...embeddings, head];
    if (decoder === undefined) {
      const unused = file.names.filter((name) => /^((model\.)?decoder\.|final_logits_bias$)/.test(name));
      return { names, slots, spare: [...copies, ...unused] };
    }
    const bias = vectorSlot(vocabSize);
    new Names(file, [''], '', names.destinations).fused(
      logitsBias,
      [vocabSize],
      [{ slot: bias, first: 0, count: vocabSize }],
    );
    const layersOf = decoder.layers.map(({ feedForward }, i) =>
      crossSlots(others.within(`${i}.`), decoder, feedForward),
    );
    return { names, slots: { ...slots, decoder: { layers: layersOf, head: { bias } } }, spare: copies };
  },
};
