// Decoders: passes against the package's own layers, fused checkpoints, chunks, returned intermediates, and every
// refusal.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load, StateError } from 'ropewalk';
import { loadModel } from 'ropewalk/models';
import { assertClose, assertSameBits } from '../support/arrays.mjs';
import { linear } from '../support/attention-reference.mjs';
import { notABoolean, notAChoice, notAnInteger, notOptions, outOfRange, wrongType } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { inUse } from '../support/peak.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';
import { fileOfModel, tinyBert, tinyGemma2, tinyLlama, tinyQwen2 } from '../support/tiny-models.mjs';

const rw = await load({ simd: 'deterministic' });
const loaded = ({ config, tensors }, options, instance = rw) =>
  loadModel(instance, { config, weights: fileOfModel({ tensors }), ...options });
const ids = [3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8, 9, 7, 9, 32, 38];
// Two or three layers and a head on numbers of about 1, each product a sum of at most 36.
const tolerance = 512 * 2 ** -24;

// Models and caches that several tests use, made before any test measures memory.
const llama = await loaded(tinyLlama());
const qwen = await loaded(tinyQwen2());
const factors = (x) => Array(3).fill(x);
const longrope = {
  ...{ original_max_position_embeddings: 8, max_position_embeddings: 32 },
  rope_scaling: { rope_type: 'longrope', short_factor: factors(1), long_factor: factors(3) },
};
const short = await loaded(tinyLlama(longrope));
const long = await loaded(tinyLlama(longrope), { sequenceLength: 32 });
const dynamic = await loaded(
  tinyLlama({ max_position_embeddings: 8, rope_scaling: { rope_type: 'dynamic', factor: 2 } }),
);
const headless = await loaded({
  config: { ...tinyLlama().config, architectures: ['LlamaModel'] },
  tensors: Object.fromEntries(Object.entries(tinyLlama().tensors).filter(([name]) => name !== 'lm_head.weight')),
});
const cache = llama.kvCache({ capacity: 8, chunk: 2 });
const elsewhere = qwen.kvCache({ capacity: 40, chunk: 4 });
const two = llama.kvCache({ batch: 2 });
const gone = llama.kvCache();
gone.dispose();
for (const model of [llama, qwen, headless]) model.forward(Array(64).fill(1)); // plans keep tables of positions
const before = inUse(rw);

/** Logits [T, V] of tinyLlama(), tinyQwen2() and tinyGemma2() from the package's public layers. */
function composed(instance, { config, tensors }, tokens) {
  const { hidden_size: m, num_attention_heads: heads, num_key_value_heads: kvHeads } = config;
  const get = (name) => tensors[name]?.data;
  const gemma = config.model_type === 'gemma2';
  const shape = [tokens.length, m];
  const table = { data: get('model.embed_tokens.weight'), shape: [config.vocab_size, m] };
  let x = instance.embed(table, tokens, { scale: gemma ? Math.fround(Math.sqrt(m)) : 1 });
  for (let i = 0; i < config.num_hidden_layers; ++i) {
    const at = `model.layers.${i}.`;
    const names = {
      ...{ query: 'self_attn.q_proj', key: 'self_attn.k_proj', value: 'self_attn.v_proj', output: 'self_attn.o_proj' },
      ...{ gate: 'mlp.gate_proj', up: 'mlp.up_proj', down: 'mlp.down_proj', attentionNorm: 'input_layernorm' },
      ...(gemma
        ? {
            ...{ attentionAfterNorm: 'post_attention_layernorm', feedForwardNorm: 'pre_feedforward_layernorm' },
            feedForwardAfterNorm: 'post_feedforward_layernorm',
          }
        : { feedForwardNorm: 'post_attention_layernorm' }),
    };
    const weights = {};
    for (const [name, spelling] of Object.entries(names)) {
      weights[name] = get(`${at}${spelling}.weight`);
      if (get(`${at}${spelling}.bias`)) weights[`${name}Bias`] = get(`${at}${spelling}.bias`);
    }
    const slides = gemma ? i % 2 === 0 : config.use_sliding_window && i >= config.max_window_layers;
    const layer = instance.decoderLayer({
      ...{ modelDim: m, heads, kvHeads, hiddenDim: config.intermediate_size, eps: config.rms_norm_eps, weights },
      ...(slides && { window: { left: config.sliding_window - 1 } }),
      ...(gemma && { norms: 'sandwich', unitOffset: true, activation: 'geluTanh', softcap: 50 }),
      position: { encoding: 'rope', base: config.rope_theta },
    });
    x = layer.forward(x).out;
    layer.dispose();
  }
  const normed = instance.rmsNorm(x, { weight: get('model.norm.weight'), eps: config.rms_norm_eps, unitOffset: gemma });
  assert.deepEqual(normed.shape, shape);
  const logits = linear(normed.data, get('lm_head.weight') ?? table.data, undefined, m);
  return gemma ? logits.map((value) => 30 * Math.tanh(value / 30)) : logits;
}

const variants = { 'a LLaMA': tinyLlama(), 'a Qwen 2 with windows': tinyQwen2(), 'a Gemma 2': tinyGemma2() };

await onEachBuild((each) => {
  for (const [name, model] of Object.entries(variants)) {
    test(`${name} is what its layers are`, async () => {
      const made = await loaded(model, {}, each);
      const { logits } = made.forward(ids, { logits: 'all' });
      assert.deepEqual(logits.shape, [16, 41]);
      assertClose(logits.data, composed(each, model, ids), 30 * tolerance);
      made.dispose();
    });
  }
});

/** Rows of a tensor, for fusing several. */
const rowsOf = ({ shape: [rows, columns = 1], data }, first, count = rows) =>
  data.subarray(first * columns, (first + count) * columns);
function joined(parts, columns) {
  const data = Float32Array.from(parts.flatMap((part) => [...part]));
  return { dtype: 'F32', shape: columns === undefined ? [data.length] : [data.length / columns, columns], data };
}

test('Phi-3 with queries, keys and values in one is the LLaMA with them apart', async () => {
  const llama = tinyLlama();
  const tensors = {};
  for (const [name, tensor] of Object.entries(llama.tensors)) {
    const at = name.match(/^model\.layers\.\d\./)?.[0];
    const part = (spelling) => rowsOf(llama.tensors[`${at}${spelling}_proj.weight`], 0);
    if (/[kv]_proj|up_proj/.test(name)) continue;
    if (name.includes('q_proj')) {
      tensors[`${at}self_attn.qkv_proj.weight`] = joined(
        ['q', 'k', 'v'].map((x) => part(`self_attn.${x}`)),
        24,
      );
    } else if (name.includes('gate_proj')) {
      tensors[`${at}mlp.gate_up_proj.weight`] = joined([part('mlp.gate'), part('mlp.up')], 24);
    } else tensors[name] = tensor;
  }
  const config = { ...llama.config, architectures: ['Phi3ForCausalLM'], model_type: 'phi3' };
  const [fused, apart] = [await loaded({ config, tensors }), await loaded(llama)];
  assertSameBits(fused.forward(ids).logits.data, apart.forward(ids).logits.data);
  fused.dispose();
  apart.dispose();
});

test('GPT-NeoX with queries, keys and values by head is its layers', async () => {
  const [m, heads, dim, n] = [24, 3, 8, 40];
  const make = tinyBert({ hidden_size: m, num_attention_heads: heads, intermediate_size: n });
  const get = (i, name) => make.tensors[`bert.encoder.layer.${i}.${name}`];
  const tensors = { 'gpt_neox.embed_in.weight': make.tensors['bert.embeddings.word_embeddings.weight'] };
  const layers = [0, 1].map((i) => {
    const weights = {};
    const put = (name, to, from) => {
      weights[name] = get(i, `${from}.weight`).data;
      weights[`${name}Bias`] = get(i, `${from}.bias`).data;
      for (const kind of ['weight', 'bias']) {
        if (to !== undefined) tensors[`gpt_neox.layers.${i}.${to}.${kind}`] = get(i, `${from}.${kind}`);
      }
    };
    for (const name of ['query', 'key', 'value']) put(name, undefined, `attention.self.${name}`);
    put('output', 'attention.dense', 'attention.output.dense');
    put('up', 'mlp.dense_h_to_4h', 'intermediate.dense');
    put('down', 'mlp.dense_4h_to_h', 'output.dense');
    put('attentionNorm', 'input_layernorm', 'attention.output.LayerNorm');
    put('feedForwardNorm', 'post_attention_layernorm', 'output.LayerNorm');
    for (const [kind, columns] of [
      ['weight', m],
      ['bias', undefined],
    ]) {
      const parts = Array.from({ length: heads }, (_, h) =>
        ['query', 'key', 'value'].map((name) => rowsOf(get(i, `attention.self.${name}.${kind}`), h * dim, dim)),
      ).flat();
      tensors[`gpt_neox.layers.${i}.attention.query_key_value.${kind}`] = joined(parts, columns);
    }
    return weights;
  });
  tensors['gpt_neox.final_layer_norm.weight'] = make.tensors['bert.embeddings.LayerNorm.weight'];
  tensors['gpt_neox.final_layer_norm.bias'] = make.tensors['bert.embeddings.LayerNorm.bias'];
  tensors['embed_out.weight'] = make.tensors['bert.embeddings.word_embeddings.weight'];
  const config = {
    ...{ model_type: 'gpt_neox', hidden_size: m, intermediate_size: n, num_attention_heads: heads, vocab_size: 37 },
    ...{ num_hidden_layers: 2, rotary_pct: 0.5, layer_norm_eps: 1e-5 },
  };
  for (const parallel of [true, false]) {
    const made = await loaded({ config: { ...config, use_parallel_residual: parallel }, tensors });
    const tokens = ids.map((id) => id % 37);
    const table = { data: tensors['gpt_neox.embed_in.weight'].data, shape: [37, m] };
    let x = rw.embed(table, tokens);
    for (const weights of layers) {
      const layer = rw.decoderLayer({
        ...{
          modelDim: m,
          heads,
          hiddenDim: n,
          eps: 1e-5,
          norm: 'layer',
          norms: parallel ? 'parallel' : 'pre',
          weights,
        },
        ...{ activation: 'gelu', position: { encoding: 'rope', rotaryDim: 4 } },
      });
      x = layer.forward(x).out;
      layer.dispose();
    }
    const [weight, bias] = ['weight', 'bias'].map((kind) => tensors[`gpt_neox.final_layer_norm.${kind}`].data);
    const normed = rw.layerNorm(x, { weight, bias, eps: 1e-5 });
    const { logits, hidden } = made.forward(tokens, { logits: 'all', hidden: true });
    assertClose(hidden.data, normed.data, tolerance);
    assertClose(logits.data, linear(normed.data, table.data, undefined, m), 4 * tolerance);
    made.dispose();
  }
});

test("Gemma's token vectors are multiplied by a root that is rounded as the file's type rounds it", async () => {
  // sqrt(24) = 4.8989794...: float32 4.898979663848877, float16 4.8984375, bfloat16 4.90625
  for (const [dtype, scale] of [
    ['F32', Math.fround(Math.sqrt(24))],
    ['BF16', 4.90625],
  ]) {
    const model = tinyGemma2({}, dtype);
    const made = await loaded(model);
    const [first] = made.forward([7], { hiddenStates: true }).hiddenStates;
    const bits = model.tensors['model.embed_tokens.weight'].data.slice(7 * 24, 8 * 24);
    const row = dtype === 'F32' ? bits : new Float32Array(Uint32Array.from(bits, (half) => half << 16).buffer);
    assertSameBits(
      first.data,
      row.map((value) => Math.fround(value * scale)),
    );
    made.dispose();
  }
  const half = tinyGemma2();
  const { shape } = half.tensors['model.embed_tokens.weight'];
  const data = Uint16Array.from({ length: shape[0] * shape[1] }, () => 0x3c00); // 1
  half.tensors['model.embed_tokens.weight'] = { dtype: 'F16', shape, data };
  const made = await loaded(half);
  assert.equal(made.forward([7], { hiddenStates: true }).hiddenStates[0].data[0], 4.8984375);
  made.dispose();
});

test('last, all and none are parts of the same logits', () => {
  const all = llama.forward(ids, { logits: 'all' }).logits;
  const last = llama.forward(ids).logits;
  assert.deepEqual(last.shape, [41]);
  assertSameBits(last.data, all.data.subarray(15 * 41));
  assert.deepEqual(Object.keys(llama.forward(ids, { logits: 'none' })), []);
  const { hidden, logits } = llama.forward(ids, { logits: 'none', hidden: true });
  assert.equal(logits, undefined);
  assert.deepEqual(hidden.shape, [16, 24]);
  assert.deepEqual(inUse(rw), before);
});

test('a batch has the bits of its rows', () => {
  const other = [...ids].reverse();
  const { logits, hidden } = llama.forward([ids, other], { logits: 'all', hidden: true });
  assert.deepEqual(
    [logits.shape, hidden.shape],
    [
      [2, 16, 41],
      [2, 16, 24],
    ],
  );
  assertSameBits(logits.data.subarray(16 * 41), llama.forward(other, { logits: 'all' }).logits.data);
  const last = llama.forward([ids, other]).logits;
  assert.deepEqual(last.shape, [2, 41]);
  assertSameBits(last.data.subarray(0, 41), llama.forward(ids).logits.data);
  assertSameBits(last.data.subarray(41), llama.forward(other).logits.data);
});

test('padding on either side is as if it were not there', () => {
  const short = ids.slice(0, 5);
  const expected = llama.forward(short, { logits: 'all' }).logits.data;
  const right = llama.forward([[...short, 0, 0]], { logits: 'all', attentionMask: [[1, 1, 1, 1, 1, 0, 0]] }).logits
    .data;
  assertSameBits(right.subarray(0, 5 * 41), expected);
  const mask = { data: BigInt64Array.of(0n, 0n, 1n, 1n, 1n, 1n, 1n), dims: [1, 7] };
  const positions = [0, 0, 0, 1, 2, 3, 4];
  const left = llama.forward([[0, 0, ...short]], { logits: 'all', attentionMask: mask, positions }).logits.data;
  assertClose(left.subarray(2 * 41), expected, tolerance);
});

test('an offset moves all tokens, and changes nothing but roundings', () => {
  const moved = llama.forward(ids, { offset: 4000, logits: 'all' }).logits.data;
  const plain = llama.forward(ids, { logits: 'all' }).logits.data;
  assertClose(moved, plain, 4 * tolerance);
  const spread = llama.forward(ids, { positions: ids.map((_, t) => 2 * t), logits: 'all' }).logits.data;
  assert.notDeepEqual(spread, plain);
});

describe('in chunks of any size the bits are those of one pass', () => {
  for (const [name, model] of Object.entries(variants)) {
    for (const keys of ['rotated', 'unrotated']) {
      test(`${name}, keys ${keys}`, async () => {
        const made = await loaded(model);
        const rows = [ids, [...ids].reverse()];
        const whole = made.forward(rows, { logits: 'all', hidden: true });
        for (const chunk of [1, 3, 7, 16]) {
          for (const capacity of [undefined, 16, 40]) {
            const cache = made.kvCache({ batch: 2, chunk, keys, ...(capacity && { capacity }) });
            const parts = made.forward(rows, { cache, logits: 'all', hidden: true });
            assertSameBits(parts.logits.data, whole.logits.data);
            assertSameBits(parts.hidden.data, whole.hidden.data);
            cache.reset();
            made.forward(
              rows.map((row) => row.slice(0, 10)),
              { cache, logits: 'none', chunk: 1 },
            );
            const rest = made.forward(
              rows.map((row) => row.slice(10)),
              { cache },
            );
            assertSameBits(rest.logits.data.subarray(0, 41), whole.logits.data.subarray(15 * 41, 16 * 41));
            cache.dispose();
          }
        }
        made.dispose();
      });
    }
  }
});

test('captures are of the layers and heads that were asked for, and change no bit', () => {
  const plain = llama.forward(ids).logits.data;
  const given = llama.forward(ids, {
    capture: ['probabilities', 'k', 'normed'],
    captureLayers: [1, 0],
    captureHeads: [2],
    hiddenStates: true,
  });
  assertSameBits(given.logits.data, plain);
  assert.deepEqual(
    given.captured.map(({ layer }) => layer),
    [0, 1],
  );
  assert.deepEqual(given.captured[0].probabilities.shape, [1, 16, 16]);
  assert.deepEqual(given.captured[0].k.shape, [16, 2, 6]);
  assert.deepEqual(
    given.hiddenStates.map(({ shape }) => shape),
    Array(3).fill([16, 24]),
  );
  assertSameBits(given.hiddenStates[2].data, llama.forward(ids, { hidden: true }).hidden.data);
  // With a cache, scores go over all keys.
  const cache = llama.kvCache();
  llama.forward(ids.slice(0, 15), { cache });
  const next = llama.forward(ids.slice(15), { cache, capture: ['probabilities'], captureHeads: [2] });
  assert.deepEqual(next.captured[1].probabilities.shape, [1, 1, 16]);
  assertSameBits(next.captured[1].probabilities.data, given.captured[1].probabilities.data.subarray(15 * 16));
  cache.dispose();
  assert.deepEqual(inUse(rw), before);
});

test('withRope gives a model of its own with the same weights', async () => {
  const made = await loaded(tinyLlama());
  const plain = made.forward(ids).logits.data;
  const stretched = made.withRope({ scaling: { type: 'linear', factor: 2 } });
  const even = stretched.forward(ids, { positions: ids.map((_, t) => 2 * t) }).logits.data;
  assertClose(even, plain, tolerance); // positions twice as far apart, turned half as much
  const alternating = made.withRope((rope, layer) => (layer === 0 ? null : { ...rope, base: 500 }));
  assert.deepEqual(alternating.ropes, [null, { headDim: 6, base: 500, pairing: 'half' }]);
  assert.notDeepEqual(alternating.forward(ids).logits.data, plain);
  const cache = alternating.kvCache();
  const inParts = [alternating.forward(ids.slice(0, 9), { cache }), alternating.forward(ids.slice(9), { cache })][1];
  assertSameBits(inParts.logits.data, alternating.forward(ids).logits.data);
  assert.throws(() => made.forward(ids, { cache }), /turns keys by another plan/);
  made.dispose();
  assert.throws(() => made.forward(ids), StateError);
  assert.throws(() => made.kvCache(), StateError);
  assert.ok(alternating.forward(ids).logits.data.every(Number.isFinite));
  for (const each of [cache, alternating, stretched]) each.dispose();
  assert.deepEqual(inUse(rw), before);
});

test('float32 angles are as near as the position is small', async () => {
  const made = await loaded(tinyLlama(), { angles: 'float32' });
  assert.equal(made.ropes[0].angles, 'float32');
  const [near, far] = [0, 100_000].map((offset) => {
    const [a, b] = [made, llama].map((model) => model.forward(ids, { offset, logits: 'all' }).logits.data);
    return Math.max(...a.map((x, i) => Math.abs(x - b[i])));
  });
  assert.ok(near < tolerance && far > near && far < 0.1, `${near}, ${far}`);
  made.dispose();
});

test('frequencies that depend on the length are used up to it', () => {
  assert.ok(short.forward(ids.slice(0, 8)).logits.data.every(Number.isFinite));
  assert.ok(long.forward(ids).logits.data.every(Number.isFinite));
  assert.notDeepEqual(long.forward(ids.slice(0, 8)).logits.data, short.forward(ids.slice(0, 8)).logits.data);
});

test('a checkpoint without a head gives hidden states', () => {
  assert.equal(headless.hasLogits, false);
  assert.equal(headless.forward(ids).logits, undefined);
  assertSameBits(headless.forward(ids, { hidden: true }).hidden.data, llama.forward(ids, { hidden: true }).hidden.data);
});

describe('forward of a decoder', () => {
  const row = [1, 2, 3];
  const lists = [wrongType(5, '5'), wrongType('1', '"1"'), wrongType(null, 'null')];
  testAllRefusals(rw, 'model.forward', {
    ids: [
      [...lists, outOfRange([]), outOfRange([1, 41], '41'), outOfRange([-1], '-1'), outOfRange([0.5], '0.5')],
      (value) => llama.forward(value),
    ],
    options: [notOptions, (value) => llama.forward(row, value)],
    logits: [notAChoice, (logits) => llama.forward(row, { logits })],
    hidden: [notABoolean, (hidden) => llama.forward(row, { hidden })],
    hiddenStates: [notABoolean, (hiddenStates) => llama.forward(row, { hiddenStates })],
    chunk: [notAnInteger({ min: 1, max: 2 }), (chunk) => llama.forward(row, { cache, chunk })],
    cache: [[wrongType(5, '5'), wrongType({}, 'an object')], (value) => llama.forward(row, { cache: value })],
    offset: [
      notAnInteger({ min: -(2 ** 53) + 1, max: 2 ** 53 - 1 }).filter(({ value }) => value !== 2 ** 53),
      (offset) => llama.forward(row, { offset }),
    ],
    positions: [[...lists, outOfRange([0, 1], '2 entries')], (positions) => llama.forward(row, { positions })],
    attentionMask: [[...lists, outOfRange([1, 1, 3], '3')], (attentionMask) => llama.forward(row, { attentionMask })],
  });
  testUnknownOptions(rw, 'model.forward', ['tokenTypes', 'pooled', 'mask'], (options) => llama.forward(row, options));
  testMisfits(rw, 'model.forward', {
    'more tokens than the cache has room for': [
      RangeError,
      ['cache', '8 more tokens', 'ids have 9'],
      () => llama.forward(Array(9).fill(1), { cache }),
    ],
    'a cache of another batch': [RangeError, ['cache', 'batch 2', '1 rows'], () => llama.forward(row, { cache: two })],
    'a cache of a model with other layers': [
      RangeError,
      ['cache', '3 layers', '2'],
      () => llama.forward(row, { cache: elsewhere }),
    ],
    'a cache of another model': [RangeError, ['cache', 'another plan'], () => headless.forward(row, { cache })],
    'a cache that was disposed of': [StateError, ['cache', 'disposed'], () => llama.forward(row, { cache: gone })],
    'an offset beside a cache': [
      RangeError,
      ['offset', 'without a cache'],
      () => llama.forward([1], { cache, offset: 0 }),
    ],
    'positions beside a cache': [
      RangeError,
      ['positions', 'without a cache'],
      () => llama.forward([1], { cache, positions: [0] }),
    ],
    'a mask beside a cache': [
      RangeError,
      ['attentionMask', 'without a cache'],
      () => llama.forward([1], { cache, attentionMask: [1] }),
    ],
    'captures of more than a chunk': [
      RangeError,
      ['capture', 'ids have 3', 'chunk is 2'],
      () => llama.forward(row, { cache, capture: ['q'] }),
    ],
    'hidden states of more than a chunk': [
      RangeError,
      ['hiddenStates', 'one pass'],
      () => llama.forward(row, { cache, hiddenStates: true }),
    ],
    'scores of a layer whose keys leave a window': [
      RangeError,
      ['capture', 'probabilities', 'window'],
      () => qwen.forward(row, { cache: elsewhere, capture: ['probabilities'] }),
    ],
    'logits of a checkpoint without a head': [
      RangeError,
      ['logits', 'no head'],
      () => headless.forward(row, { logits: 'last' }),
    ],
    'more than short frequencies are for': [
      RangeError,
      ['ids', 'position 8', '8 tokens', 'sequenceLength'],
      () => short.forward(Array(9).fill(1)),
    ],
    'an offset beyond them': [RangeError, ['offset', 'position 8'], () => short.forward([1], { offset: 8 })],
    'positions beyond them': [RangeError, ['positions', 'position 9'], () => short.forward([1], { positions: [9] })],
    'more than a dynamic base is for': [
      RangeError,
      ['ids', 'position 8', 'sequenceLength'],
      () => dynamic.forward(Array(9).fill(1)),
    ],
  });
  test('model.forward left the cache empty', () => assert.equal(cache.length, 0));
});
