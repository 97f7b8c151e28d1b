// A trained model as a checkpoint: a config.json and a safetensors file that loadModel of 'ropewalk/models' reads.
import type { RopeScaling } from '../rope/options.js';
import { permutePairing } from '../rope/pairing.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, StateError } from '../runtime/errors.js';
import type { NdArray } from '../runtime/tensor.js';
import { bytesOf, type OwnBytes, type OwnFloats } from '../runtime/typed-arrays.js';
import type { CheckedTrainer } from './options.js';

/** Options of `trainer.exportModel`. */
export interface ExportOptions {
  /** Of sinusoidal positions: rows of their table. Default context. */
  maxPositions?: number;
}

/** A model as `loadModel(rw, { config, weights })` of 'ropewalk/models' takes it. */
export interface ExportedModel {
  /** The config.json. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The safetensors file, in float32. */
  readonly weights: OwnBytes;
}

type Arrays = Readonly<Record<string, NdArray>>;

// Names of tensors of a layer, by ours.
const ofLayer: Readonly<Record<string, string>> = {
  attention_norm: 'input_layernorm',
  query: 'self_attn.q_proj',
  key: 'self_attn.k_proj',
  value: 'self_attn.v_proj',
  output: 'self_attn.o_proj',
  feed_forward_norm: 'post_attention_layernorm',
  up: 'mlp.up_proj',
  down: 'mlp.down_proj',
};
const ofModel: Readonly<Record<string, string>> = {
  embedding: 'model.embed_tokens',
  positions: 'model.embed_positions',
  final_norm: 'model.norm',
  unembedding: 'lm_head',
};

function tensorName(name: string): string {
  const [, layer, part = ''] = /^layers\.(\d+)\.(.*)$/.exec(name) ?? [];
  const known = layer === undefined ? ofModel[name] : ofLayer[part];
  return `${layer === undefined ? '' : `model.layers.${layer}.`}${known}.weight`;
}

// rope_parameters of a config.json: ntk is another base; other scalings that are not here are refused.
function ropeParameters(where: string, base: number, dim: number, scaling: RopeScaling) {
  switch (scaling.type) {
    case 'default':
      return { rope_type: 'default', rope_theta: base };
    case 'linear':
      return { rope_type: 'linear', rope_theta: base, factor: scaling.factor };
    case 'ntk':
      return { rope_type: 'default', rope_theta: base * scaling.factor ** (dim / (dim - 2)) };
    case 'yarn':
      return {
        rope_type: 'yarn',
        rope_theta: base,
        factor: scaling.factor,
        original_max_position_embeddings: scaling.originalLength,
        beta_fast: scaling.betaFast,
        beta_slow: scaling.betaSlow,
        truncate: scaling.truncate,
        mscale: scaling.mscale,
        mscale_all_dim: scaling.mscaleAllDim,
        attention_factor: scaling.attentionFactor,
      };
    case 'llama3':
      return {
        rope_type: 'llama3',
        rope_theta: base,
        factor: scaling.factor,
        original_max_position_embeddings: scaling.originalLength,
        low_freq_factor: scaling.lowFreqFactor ?? 1,
        high_freq_factor: scaling.highFreqFactor ?? 4,
      };
    default: {
      const problem = `is '${scaling.type}', which is not exported; default, linear, ntk, yarn and llama3 are`;
      throw new ArgumentRangeError(where, 'position.scaling.type', scaling.type, problem);
    }
  }
}

// Sines and cosines in turn, as the core adds them.
function sinusoids(rows: number, dim: number, base: number, scale: number): NdArray {
  const data = Float32Array.from({ length: rows * dim }, (_, i) => {
    const [position, c] = [Math.floor(i / dim), i % dim];
    const angle = position * base ** ((-2 * Math.floor(c / 2)) / dim);
    return scale * (c % 2 === 0 ? Math.sin(angle) : Math.cos(angle));
  });
  return { data, shape: [rows, dim] };
}

// What only a trained model can be, and the fields of its positions.
function positionFields(where: string, { given, context, core, position }: CheckedTrainer, maxPositions: number) {
  const refuse = (argument: string, value: unknown, expected: string) => {
    throw new ArgumentRangeError(where, argument, value, `is not exported; ${expected}`);
  };
  const { modelDim, heads, causal } = core.model;
  if (!causal) refuse('causal', causal, 'decoders are causal');
  if (given.norm === 'layer') refuse('norm', given.norm, "expected 'rms'");
  if (given.attention !== undefined && given.attention !== 'softmax') {
    refuse('attention', given.attention, "expected 'softmax'");
  }
  const encoding = position.given;
  const table = (rows: number) => ({ position_embedding_type: 'absolute', max_position_embeddings: rows });
  switch (encoding.encoding) {
    case 'none':
      return { position_embedding_type: 'none', max_position_embeddings: context };
    case 'rope': {
      const { rotaryDim = modelDim / heads, base = 10000, scaling = { type: 'default' } } = encoding;
      return {
        position_embedding_type: 'rope',
        max_position_embeddings: context,
        rotary_dim: rotaryDim,
        rope_parameters: ropeParameters(where, base, rotaryDim, scaling),
      };
    }
    case 'learned':
    case 'sinusoidal':
      if ((encoding.mode ?? 'add') !== 'add') refuse('position.mode', encoding.mode, "expected 'add'");
      return table(encoding.encoding === 'learned' ? position.longest : maxPositions);
    default:
      return refuse('position.encoding', encoding.encoding, 'none, rope, learned and sinusoidal are');
  }
}

// Without a feed-forward part there is one of width 1 that adds zeros.
function withFeedForward(parameters: Arrays, layers: number, modelDim: number): Arrays {
  const array = (data: OwnFloats, shape: readonly number[]): NdArray => ({ data, shape });
  const parts = Array.from({ length: layers }, (_, i) => ({
    [`layers.${i}.feed_forward_norm`]: array(new Float32Array(modelDim).fill(1), [modelDim]),
    [`layers.${i}.up`]: array(new Float32Array(modelDim), [1, modelDim]),
    [`layers.${i}.down`]: array(new Float32Array(modelDim), [modelDim, 1]),
  }));
  return Object.assign({}, parameters, ...parts);
}

// Checkpoints have halves of a head as pairs.
function asHalves(arrays: Arrays, heads: number, headDim: number, rotaryDim: number): Arrays {
  const options = { from: 'interleaved', to: 'half', heads, headDim, rotaryDim } as const;
  const turned = ([name, { data, shape }]: [string, NdArray]): [string, NdArray] => [
    name,
    { data: /\.(?:query|key)$/.test(name) ? permutePairing(data, options) : data, shape },
  ];
  return Object.fromEntries(Object.entries(arrays).map(turned));
}

function safetensors(arrays: readonly (readonly [string, NdArray])[]): OwnBytes {
  let end = 0;
  const entries = arrays.map(([name, { data, shape }]) => {
    const begin = end;
    end += data.length * 4;
    return [name, { dtype: 'F32', shape, data_offsets: [begin, end] }] as const;
  });
  const text = JSON.stringify(Object.fromEntries(entries));
  const header = new TextEncoder().encode(text.padEnd(Math.ceil(text.length / 8) * 8)); // names are ASCII
  const file = new Uint8Array(8 + header.length + end);
  new DataView(file.buffer).setUint32(0, header.length, true);
  file.set(header, 8);
  for (const [i, [, { data }]] of arrays.entries()) {
    file.set(bytesOf(data), 8 + header.length + (entries[i]?.[1].data_offsets[0] ?? 0));
  }
  return file;
}

/** @internal */
export function exportModel(checked: CheckedTrainer, parameters: Arrays, options: ExportOptions): ExportedModel {
  const where = 'trainer.exportModel';
  const given = check.options(where, 'options', options, ['maxPositions']);
  const { position, context, core } = checked;
  const { modelDim, heads, layers, hiddenDim, vocab, eps } = core.model;
  const rows = check.integer(where, 'maxPositions', given.maxPositions ?? context, 1, 2 ** 20);
  const fields = positionFields(where, checked, rows);
  let arrays = hiddenDim === 0 ? withFeedForward(parameters, layers, modelDim) : parameters;
  for (const [name, { data }] of Object.entries(parameters)) {
    const bad = data.findIndex((number) => !Number.isFinite(number));
    if (bad >= 0) throw new StateError(`${where}: ${name} has ${data[bad]}, which is not finite`);
  }
  const encoding = position.given;
  if (given.maxPositions !== undefined && encoding.encoding !== 'sinusoidal') {
    const problem = `is for sinusoidal positions; this model has ${encoding.encoding}`;
    throw new ArgumentRangeError(where, 'maxPositions', given.maxPositions, problem);
  }
  if (encoding.encoding === 'sinusoidal') {
    const { base = 10000, scale = 1 } = encoding;
    arrays = { ...arrays, positions: sinusoids(rows, modelDim, base, scale) };
  }
  if (encoding.encoding === 'rope' && encoding.pairing === 'interleaved') {
    arrays = asHalves(arrays, heads, modelDim / heads, encoding.rotaryDim ?? modelDim / heads);
  }
  const config = {
    architectures: ['RopewalkForCausalLM'],
    model_type: 'ropewalk',
    vocab_size: vocab,
    hidden_size: modelDim,
    intermediate_size: Math.max(hiddenDim, 1),
    num_hidden_layers: layers,
    num_attention_heads: heads,
    hidden_act: checked.given.activation ?? 'gelu',
    rms_norm_eps: eps,
    tie_word_embeddings: false,
    ...fields,
  };
  const named = Object.entries(arrays).map(([name, array]) => [tensorName(name), array] as const);
  return { config: JSON.parse(JSON.stringify(config)), weights: safetensors(named) };
}
