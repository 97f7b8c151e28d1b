// Tests of the reference: published numbers, numbers of other programs, and properties of every model.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { isEncoder } from './families.mjs';
import { encoderLayer } from './reference/encoders.mjs';
import { float32, float64, reference } from './reference/reference.mjs';
import { ropeOf, rotate } from './reference/rope.mjs';
import { Weights } from './reference/weights.mjs';
import { assertAgrees, difference, flat, largest } from './rows.mjs';
import { idsOf } from './sequences.mjs';
import { tinyModel, variants } from './tiny/models.mjs';

const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
const layers = read('data/layers.json').cases;
const published = read('../ts/data/published.json');

/** Whether positions are added to the tokens. */
const hasTable = ({ tensors, config }) =>
  config.static_position_embeddings ||
  Object.keys(tensors).some(
    (name) => /(position_embeddings|wpe|embed_positions)\./.test(name) && !/encoder\./.test(name),
  );

/** A model with some fields of its config replaced. */
const withConfig = (model, fields) => ({ ...model, config: { ...model.config, ...fields } });

const rowsOf = ({ shape, data }, b) => {
  const [, tokens, dim] = shape;
  return Array.from({ length: tokens }, (_, t) => {
    const at = (b * tokens + t) * dim;
    return Float64Array.from(data.slice(at, at + dim), Math.fround);
  });
};

const tensorsOf = (inputs, names) =>
  Object.fromEntries(
    Object.entries(names).map(([name, input]) => {
      const { shape, data } = inputs[input];
      return [name, { dtype: 'F32', shape, data: Float32Array.from(data) }];
    }),
  );

describe('layers that an independent program computed', () => {
  const encoderNames = {
    ...{ 'attention.self.query.weight': 'q_w', 'attention.self.query.bias': 'q_b' },
    ...{ 'attention.self.key.weight': 'k_w', 'attention.self.key.bias': 'k_b' },
    ...{ 'attention.self.value.weight': 'v_w', 'attention.self.value.bias': 'v_b' },
    ...{ 'attention.output.dense.weight': 'o_w', 'attention.output.dense.bias': 'o_b' },
    ...{ 'attention.output.LayerNorm.weight': 'ln1_w', 'attention.output.LayerNorm.bias': 'ln1_b' },
    ...{ 'intermediate.dense.weight': 'fc1_w', 'intermediate.dense.bias': 'fc1_b' },
    ...{ 'output.dense.weight': 'fc2_w', 'output.dense.bias': 'fc2_b' },
    ...{ 'output.LayerNorm.weight': 'ln2_w', 'output.LayerNorm.bias': 'ln2_b' },
  };
  const llamaNames = {
    'input_layernorm.weight': 'rms1',
    ...{ 'self_attn.q_proj.weight': 'q_w', 'self_attn.k_proj.weight': 'k_w' },
    ...{ 'self_attn.v_proj.weight': 'v_w', 'self_attn.o_proj.weight': 'o_w' },
    'post_attention_layernorm.weight': 'rms2',
    ...{ 'mlp.gate_proj.weight': 'gate_w', 'mlp.up_proj.weight': 'up_w', 'mlp.down_proj.weight': 'down_w' },
  };

  function runEncoder({ params, inputs }, b) {
    const relative = params.mode.startsWith('relative');
    const names = relative ? { ...encoderNames, 'attention.self.distance_embedding.weight': 'rel' } : encoderNames;
    const config = {
      model_type: params.mode === 'rope' ? 'roformer' : 'bert',
      hidden_size: inputs.x.shape[2],
      num_attention_heads: params.n_heads,
      layer_norm_eps: params.eps,
      hidden_act: params.act,
      rotary_value: params.rotary_value,
      position_embedding_type: params.mode,
      max_position_embeddings: params.max_positions,
    };
    const x = rowsOf(inputs.x, b);
    const keep = inputs.keep_mask.data.slice(b * x.length, (b + 1) * x.length).map(Boolean);
    const positions = x.map((_, t) => t);
    return encoderLayer(float64, x, config, new Weights(tensorsOf(inputs, names)), '', { keep, positions }).out;
  }

  // The whole decoder, with the rows of x as its vocabulary.
  function runLlama({ params, inputs }, b) {
    const { kind, base, n_heads, n_kv_heads, eps, chunks: _, position0, ...scaling } = params;
    const x = rowsOf(inputs.x, b);
    const dim = x[0].length;
    const config = {
      model_type: 'llama',
      hidden_act: 'silu',
      hidden_size: dim,
      head_dim: params.head_dim,
      num_attention_heads: n_heads,
      num_key_value_heads: n_kv_heads,
      num_hidden_layers: 1,
      rms_norm_eps: eps,
      // The factor that the case has is what the reference must find.
      rope_parameters: { rope_type: kind, rope_theta: base, ...scaling, attention_factor: undefined },
      tie_word_embeddings: true,
    };
    const words = { dtype: 'F32', shape: [x.length, dim], data: Float32Array.from(flat(x)) };
    const norm = { dtype: 'F32', shape: [dim], data: new Float32Array(dim).fill(1) };
    const tensors = { 'model.embed_tokens.weight': words, 'model.norm.weight': norm };
    const own = tensorsOf(inputs, llamaNames);
    for (const name of Object.keys(own)) tensors[`model.layers.0.${name}`] = own[name];
    const positions = x.map((_, t) => position0 + t);
    return reference({ config, tensors }, { ids: x.map((_, t) => t), positions }).layers[0].out;
  }

  for (const each of layers) {
    test(each.name, () => {
      const run = each.op === 'llama_layer' ? runLlama : runEncoder;
      const got = Array.from({ length: each.inputs.x.shape[0] }, (_, b) => run(each, b));
      // They have 12 digits.
      assertAgrees('out', got, each.outputs.out.data, 2e-10);
    });
  }
});

describe('numbers of Hugging Face', () => {
  const inverse = published.hugging_face.inv_freq;

  for (const name of ['default', 'dynamic', 'yarn', 'llama3']) {
    test(`inv_freq of ${name}`, () => {
      const { params, expected, attention_factor } = inverse[name];
      const { frequencies, factor } = ropeOf(params.head_dim, params, { tokens: params.seq_len, maxPositions: 2048 });
      expected.forEach((want, i) => {
        assert.ok(Math.abs(frequencies[i] - want) <= 5e-5 * want, `[${i}] is ${frequencies[i]}, want ${want}`);
      });
      assert.ok(Math.abs(factor - attention_factor) <= 1e-12);
    });
  }

  test('longrope takes the short divisors up to the original length, the long ones above it', () => {
    const long_factor = Array.from({ length: 64 }, (_, i) => i + 1);
    const parameters = { rope_type: 'longrope', rope_theta: 10000, short_factor: Array(64).fill(2), long_factor };
    const of = (tokens) => ropeOf(128, parameters, { tokens, maxPositions: 20480, originalPositions: 2048 });
    const plain = ropeOf(128, { rope_theta: 10000 }).frequencies;
    assertAgrees(
      'short',
      of(2048).frequencies,
      plain.map((w) => w / 2),
      1e-16,
    );
    assertAgrees(
      'long',
      of(2049).frequencies,
      plain.map((w, i) => w / (i + 1)),
      1e-16,
    );
    assert.ok(Math.abs(of(1).factor - Math.sqrt(1 + Math.log(10) / Math.log(2048))) < 1e-15);
  });

  test("RoFormer's turned queries", () => {
    const q = Array.from({ length: 6 }, (_, t) => Float64Array.from({ length: 64 }, (_, d) => (64 * t + d) / 100));
    const turn = { ...ropeOf(64, { rope_theta: 10000 }), pairing: 'interleaved', headDim: 64 };
    const got = rotate(float64, q, { ...turn, positions: [0, 1, 2, 3, 4, 5] });
    const want = published.roformer.rotary.q_0_0_rows0_5_cols0_7;
    assertAgrees(
      'q',
      got.map((row) => row.subarray(0, 8)),
      want,
      1e-4,
    );
  });
});

describe('what holds of every model', () => {
  for (const name of variants) {
    const model = tinyModel(name);
    const ids = idsOf(model, 11, 1);
    const whole = reference(model, { ids });
    const size = largest(flat(whole.hidden));

    test(`${name}: a float32 program is off by a few units of the last place`, () => {
      const single = flat(reference(model, { ids }, float32).hidden);
      const error = difference(flat(whole.hidden), single);
      assert.ok(error > 0 && error < 40 * 2 ** -24 * size, `${error}`);
    });

    if (!isEncoder(model)) {
      test(`${name}: tokens do not depend on later ones`, () => {
        const start = reference(model, { ids: ids.slice(0, 6) });
        assertAgrees('logits', start.logits, whole.logits.slice(0, 6), 1e-12);
      });
    }

    const absolute = hasTable(model) || name === 'roformer-value';
    test(`${name}: ${absolute ? 'positions' : 'only distances'} matter`, () => {
      // Scalings that depend on the length change above 16 positions.
      const shift = absolute || ['longrope', 'dynamic'].includes(model.config.rope_scaling?.type) ? 3 : 1000;
      const moved = reference(model, { ids, positions: ids.map((_, t) => t + shift) });
      const change = difference(flat(whole.hidden), flat(moved.hidden));
      assert.ok(absolute ? change > 0.01 : change < 1e-10 * size, `${change}`);
    });

    test(`${name}: the order of tokens matters`, () => {
      const swapped = [...ids];
      [swapped[2], swapped[5]] = [ids[5], ids[2]];
      const { hidden } = reference(model, { ids: swapped });
      // Without positions (or a causal mask) the token at the end would see the same.
      assert.ok(difference([...whole.hidden[10]], [...hidden[10]]) > 1e-3 * size);
    });
  }
});

// A field that a program overlooks must show. Each entry: variant, fields, and what they are.
const overlooked = [
  ['roformer', { rotary_value: true }],
  ['roformer-value', { rotary_value: false }],
  ['bert-relative-key', { position_embedding_type: 'relative_key_query' }],
  ['bert-relative-key-query', { position_embedding_type: 'relative_key' }],
  ['bert', { hidden_act: 'gelu_new' }],
  ['nomic-bert-masked', { rotary_emb_base: 10000 }],
  ['nomic-bert-masked', { layer_norm_epsilon: 1e-3 }],
  ['modernbert-masked', { global_attn_every_n_layers: 2 }],
  ['modernbert-masked', { global_rope_theta: 100 }],
  ['modernbert-masked', { local_attention: 4 }],
  ['modernbert-masked', { local_rope_theta: 160000 }],
  ['modernbert-masked', { norm_eps: 1e-3 }],
  ['gpt-neox', { use_parallel_residual: false }],
  ['gpt-neox', { rotary_pct: 0.5 }],
  ['gpt-neox', { rotary_emb_base: 5000 }],
  ['gpt-neox-sequential', { hidden_act: 'gelu' }],
  ['llama3', { rope_scaling: null }],
  ['llama3', { rope_theta: 10000 }],
  ['llama3', { rms_norm_eps: 1e-3 }],
  ['llama-linear', { rope_scaling: null }],
  ['mistral', { sliding_window: 7 }],
  ['mistral', { sliding_window: 5 }],
  ['qwen2-window', { use_sliding_window: false }],
  ['qwen2-window', { max_window_layers: 0 }],
  ['qwen3-yarn', { rope_scaling: null }],
  ['gemma2', { attn_logit_softcapping: null }],
  ['gemma2', { final_logit_softcapping: null }],
  ['gemma2', { query_pre_attn_scalar: 14 }],
  ['gemma2', { sliding_window: 6 }],
  ['gemma3', { rope_local_base_freq: 10000 }],
  ['gemma3', { rope_scaling: null }],
  ['gemma3', { sliding_window_pattern: 5 }],
  ['gemma3', { sliding_window: 6 }],
  ['phi3', { sliding_window: null }],
  ['phi3-longrope', { rope_scaling: null }],
  ['phi3-longrope', { original_max_position_embeddings: 8 }],
  ['phi3-longrope', { max_position_embeddings: 64 }],
  ['smollm3', { no_rope_layers: [1, 1, 1, 1] }],
  ['smollm3-window', { use_sliding_window: false }],
  ['smollm3-window', { no_rope_layer_interval: 3 }],
];

describe('what a program that overlooks a field would get', () => {
  for (const [name, fields] of overlooked) {
    const told = Object.entries(fields).map(([field, value]) => `${field} ${JSON.stringify(value)}`);
    test(`${name} with ${told}`, () => {
      const model = tinyModel(name);
      const ids = idsOf(model, 11, 2);
      const want = flat(reference(model, { ids }).logits);
      const got = flat(reference(withConfig(model, fields), { ids }).logits);
      // Fifty times what the tests of models let pass.
      assert.ok(difference(want, got) > 50 * 16 * 2 ** -24 * largest(want), `${difference(want, got)}`);
    });
  }

  test("BERT's distances counted the other way", () => {
    const model = tinyModel('bert-relative-key');
    const ids = idsOf(model, 11, 2);
    const [one, other] = [false, true].map((keyMinusQuery) => flat(reference(model, { ids, keyMinusQuery }).hidden));
    assert.ok(difference(one, other) > 0.1);
  });
});

describe('the same model, said differently', () => {
  const ids = idsOf(tinyModel('gemma3'), 11, 3);

  test('one RoPE for each type of layer, in fields old and new', () => {
    const old = tinyModel('gemma3', { dtype: 'F32' });
    const { config } = tinyModel('gemma3-types');
    assertAgrees('logits', reference({ ...old, config }, { ids }).logits, reference(old, { ids }).logits, 0);
  });

  test('Phi-3 is LLaMA with joined matrices and a window', () => {
    const phi = tinyModel('phi3');
    const tensors = { ...phi.tensors };
    const width = phi.config.hidden_size;
    const cut = (name, parts) => {
      const { dtype, data } = phi.tensors[name];
      let at = 0;
      for (const [part, rows] of parts) {
        tensors[part] = { dtype, shape: [rows, width], data: data.subarray(at * width, (at + rows) * width) };
        at += rows;
      }
    };
    for (let i = 0; i < phi.config.num_hidden_layers; ++i) {
      const at = `model.layers.${i}.`;
      const rows = { q_proj: 36, k_proj: 12, v_proj: 12 };
      const attention = Object.entries(rows).map(([part, n]) => [`${at}self_attn.${part}.weight`, n]);
      cut(`${at}self_attn.qkv_proj.weight`, attention);
      const wide = phi.config.intermediate_size;
      cut(`${at}mlp.gate_up_proj.weight`, [
        [`${at}mlp.gate_proj.weight`, wide],
        [`${at}mlp.up_proj.weight`, wide],
      ]);
    }
    const mistral = { config: { ...phi.config, model_type: 'mistral' }, tensors };
    assertAgrees('logits', reference(mistral, { ids }).logits, reference(phi, { ids }).logits, 0);
  });

  test('padding on either side of an encoder, at the positions of the tokens, changes nothing', () => {
    for (const name of variants) {
      const model = tinyModel(name);
      if (!isEncoder(model)) continue;
      const own = idsOf(model, 7, 4);
      const want = reference(model, { ids: own }).hidden;
      for (const left of [0, 4]) {
        const positions = Array.from({ length: 11 }, (_, t) => Math.max(0, t - left));
        const keep = positions.map((_, t) => t >= left && t < left + 7);
        const padded = positions.map((_, t) => (keep[t] ? own[t - left] : 0));
        const got = reference(model, { ids: padded, keep, positions }).hidden.slice(left, left + 7);
        assertAgrees(name, got, want, 1e-12);
      }
    }
  });
});
