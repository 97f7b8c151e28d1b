// Models from GGUF files: the same tiny model as a checkpoint and as a GGUF file gives the same numbers, and in 8 bits
// numbers within what rounding explains.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { load } from 'ropewalk';
import { GgufError, loadModel, openGguf } from 'ropewalk/models';
import { assertSameBits } from '../ts/support/arrays.mjs';
import { q8, weightsOfBlocks } from '../ts/support/blocks.mjs';
import { onEachBuild } from '../ts/support/builds.mjs';
import { folderWith } from '../ts/support/folder.mjs';
import { inUse } from '../ts/support/peak.mjs';
import { tinyLlama } from '../ts/support/tiny-models.mjs';
import { reference } from './reference/reference.mjs';
import { idsOf } from './sequences.mjs';
import { safetensorsOf } from './tiny/files.mjs';
import { ggufOf } from './tiny/gguf.mjs';
import { tinyModel } from './tiny/models.mjs';

// The frequencies of these are stored as rounded factors.
const rounded = ['llama3', 'llama-biases'];
const same = [
  ...['llama2', 'llama-linear', 'mistral', 'qwen2', 'qwen3', 'qwen3-yarn', 'smollm3', 'gemma', 'gemma2', 'gemma3'],
  ...['phi3', 'phi3-longrope', 'phi3-partial', 'gpt-neox', 'bert', 'bert-gamma', 'bert-bare', 'nomic-bert'],
  ...['nomic-bert-masked', 'gpt2', 'bloom', 'bloom-6', 'mpt', 'phi', 'stablelm'],
  ...['stablelm-parallel', 'olmo2', 'olmo2-grouped', 'olmo3-plain', 'granite', 'cohere', 'cohere2', 'falcon3'],
  ...['modernbert', 'modernbert-masked', 'embeddinggemma', 'cohere-normed', 'stablelm-normed'],
  ...['mixtral', 'qwen3-moe', 'jina-bert'],
];
const fround = (values) => values?.map(Math.fround);

// With settings that a GGUF file can hold: factors of float32, and Gemma's usual scale.
function storable({ config, ...model }) {
  const { rope_scaling: scaling, head_dim: headDim } = config;
  const lists = { long_factor: fround(scaling?.long_factor), short_factor: fround(scaling?.short_factor) };
  const changed = {
    ...(scaling?.long_factor !== undefined && { rope_scaling: { ...scaling, ...lists } }),
    ...('query_pre_attn_scalar' in config && { query_pre_attn_scalar: headDim }),
  };
  return { ...model, config: { ...config, ...changed } };
}

const hub = (rw, model, options) => loadModel(rw, { config: model.config, weights: safetensorsOf(model), ...options });
const outputOf = (model, ids) => model.forward(ids, model.kind === 'decoder' ? { logits: 'all' } : {});
const numbersOf = (model, ids) => {
  const out = outputOf(model, ids);
  return (model.kind === 'decoder' ? out.logits : out.hidden).data;
};

// Sizes that are whole blocks.
const wide = tinyLlama({
  ...{ vocab_size: 97, hidden_size: 64, intermediate_size: 96, num_hidden_layers: 2, num_attention_heads: 4 },
  ...{ num_key_value_heads: 2, head_dim: 16 },
});
wide.name = 'wide';

// The file with all matrices in Q8_0, and the model with the weights that those stand for.
function inBlocks(model) {
  const tensors = { ...model.tensors };
  for (const [name, tensor] of Object.entries(tensors)) {
    if (tensor.shape.length === 2) tensors[name] = { ...tensor, data: weightsOfBlocks('q8_0', q8(tensor.data)) };
  }
  const quantize = (_, tensor) => ({ dtype: 'Q8_0', shape: tensor.shape, data: q8(tensor.data) });
  return [ggufOf(model, quantize), { ...model, tensors }];
}

const instance = load({ simd: 'deterministic' });

await onEachBuild((rw) => {
  for (const name of [...same, ...rounded]) {
    test(`${name} gives the numbers of its checkpoint`, async () => {
      const before = inUse(rw);
      const model = storable(tinyModel(name));
      const want = await hub(rw, model);
      const got = await loadModel(rw, { gguf: ggufOf(model) });
      assert.equal(got.kind, want.kind);
      const ids = idsOf(model, 13);
      const [numbers, exact] = [numbersOf(got, ids), numbersOf(want, ids)];
      if (rounded.includes(name)) {
        numbers.forEach((x, i) => {
          assert.ok(Math.abs(x - exact[i]) <= 2e-4 * Math.max(1, Math.abs(exact[i])), `${i}: ${x}, ${exact[i]}`);
        });
      } else {
        assertSameBits(numbers, exact);
      }
      got.dispose();
      want.dispose();
      assert.deepEqual(inUse(rw), before);
    });
  }

  test('what older files lack, and what newer ones say otherwise', async () => {
    const same = async (name, fields, change) => {
      const made = tinyModel(name, { dtype: 'F32' });
      const model = { ...made, config: { ...made.config, ...fields } };
      const [want, got] = [await hub(rw, model), await loadModel(rw, { gguf: ggufOf(model, undefined, change) })];
      const ids = idsOf(model, 13);
      assertSameBits(numbersOf(got, ids), numbersOf(want, ids));
      for (const each of [want, got]) each.dispose();
    };
    const without =
      (pattern, more = {}) =>
      (contents) => ({
        metadata: {
          ...Object.fromEntries(Object.entries(contents.metadata).filter(([key]) => !pattern.test(key))),
          ...more,
        },
      });
    const none = without(/sliding_window/, { 'phi3.attention.sliding_window': ['u32', 0] });
    await same('phi3', { sliding_window: null }, none); // Phi-4
    const caps = { attn_logit_softcapping: 50, final_logit_softcapping: 30, sliding_window: 4096 };
    await same('gemma2', { ...caps, query_pre_attn_scalar: 14 }, without(/softcapping|sliding_window/));
    await same('gemma3', { sliding_window_pattern: 1, query_pre_attn_scalar: 14 }, without(/sliding_window/));
    await same('mixtral', { sliding_window: 6 }, without(/^$/));
    // A flag for each layer, or a period.
    const types = [
      'full_attention',
      'sliding_attention',
      'sliding_attention',
      'full_attention',
      ...Array(3).fill('full_attention'),
    ];
    const flags = [['bool'], types.map((type) => type === 'sliding_attention')];
    const gemma3 = { query_pre_attn_scalar: 14, sliding_window_pattern: undefined };
    await same(
      'gemma3',
      { ...gemma3, layer_types: types },
      without(/^$/, { 'gemma3.attention.sliding_window_pattern': flags }),
    );
    const period = without(/^$/, { 'gemma3.attention.sliding_window_pattern': ['u32', 3] });
    await same('gemma3', { ...gemma3, sliding_window_pattern: 3 }, period);
    // A factor of 0 means none.
    await same('llama2', {}, without(/^$/, { 'llama.rope.scaling.factor': ['f32', 0] }));
    // config.json's attention_factor, as it is.
    const yarn = tinyModel('qwen3-yarn').config.rope_scaling;
    const stated = without(/^$/, { 'qwen3.rope.scaling.yarn_attn_factor': ['f32', 0.75] });
    await same('qwen3-yarn', { rope_scaling: { ...yarn, attention_factor: 0.75 } }, stated);
    // Of OLMo 3 it has been written under one key, under the other, and under both.
    const flagged = [['bool'], [true, true, true, false]];
    const factored = { rope_scaling: { ...tinyModel('olmo3').config.rope_scaling, attention_factor: 1.5 } };
    for (const names of [['attn_factor'], ['yarn_attn_factor'], ['attn_factor', 'yarn_attn_factor']]) {
      const written = Object.fromEntries(names.map((key) => [`olmo2.rope.scaling.${key}`, ['f32', 1.5]]));
      await same('olmo3', factored, without(/^$/, { 'olmo2.attention.sliding_window_pattern': flagged, ...written }));
    }
    // Newer converters leave Jina's gate beside what it multiplies.
    const joined = ({ tensors: { ...tensors } }) => {
      for (const i of [0, 1]) {
        const { [`blk.${i}.ffn_gate.weight`]: gate, [`blk.${i}.ffn_up.weight`]: up } = tensors;
        delete tensors[`blk.${i}.ffn_gate.weight`];
        const shape = [2 * up.shape[0], up.shape[1]];
        tensors[`blk.${i}.ffn_up.weight`] = { ...up, shape, data: Float32Array.of(...gate.data, ...up.data) };
      }
      return { tensors };
    };
    await same('jina-bert', {}, joined);
    // Granite 4 without experts and state space layers.
    const hiddenDim = tinyModel('granite').config.intermediate_size;
    const granite4 = {
      'granite.expert_shared_feed_forward_length': ['u32', hiddenDim],
      'granite.expert_count': ['u32', 0],
      'granite.rope.scaling.finetuned': ['bool', true],
      'granite.ssm.group_count': ['u32', 1],
      'granite.attention.head_count_kv': [
        ['i32'],
        Array(tinyModel('granite').config.num_hidden_layers).fill(tinyModel('granite').config.num_key_value_heads),
      ],
    };
    await same('granite', {}, without(/^$/, granite4));
    // Granite Embedding R2.
    const silu = without(/^$/, { 'modern-bert.hidden_activation': ['str', 'silu'] });
    await same('modernbert', { hidden_activation: 'silu', classifier_activation: 'silu' }, silu);
    const row = ({ tensors }) => {
      const { data } = tensors['token_types.weight'];
      const width = data.length / 2;
      return {
        tensors: { ...tensors, 'token_types.weight': { dtype: 'F32', shape: [width], data: data.slice(0, width) } },
      };
    };
    const bert = tinyModel('bert', { dtype: 'F32' });
    const [two, one] = [
      await loadModel(rw, { gguf: ggufOf(bert) }),
      await loadModel(rw, { gguf: ggufOf(bert, undefined, row) }),
    ];
    assertSameBits(numbersOf(one, [1, 2, 3]), numbersOf(two, [1, 2, 3]));
  });

  test('vectors of texts are the means of the tokens, scaled to length 1', async () => {
    const made = tinyModel('nomic-bert');
    const [want, got] = [await hub(rw, made), await loadModel(rw, { gguf: ggufOf(made) })];
    const ids = idsOf(made, 9);
    const { data, shape } = got.embedText(ids);
    assertSameBits(data, want.embedText(ids).data);
    assert.deepEqual(shape, [36]);
    const { hidden } = reference(made, { ids });
    const mean = Array.from(hidden[0], (_, i) => hidden.reduce((sum, token) => sum + token[i], 0) / hidden.length);
    const length = Math.hypot(...mean);
    mean.forEach((x, i) => {
      assert.ok(Math.abs(data[i] - x / length) < 1e-6, `${i}: ${data[i]}, ${x / length}`);
    });
    assert.throws(() => got.forward(ids, { logits: true }), /logits is true; the checkpoint has no head/);
    for (const model of [want, got]) model.dispose();
  });

  test('a file that ranks or pools has no logits', async () => {
    const pooled = ({ metadata, tensors: { 'output.weight': _, ...tensors } }) => ({
      metadata: { ...metadata, 'llama.pooling_type': ['u32', 3] },
      tensors,
    });
    for (const each of [wide, tinyModel('mistral')]) {
      const model = await loadModel(rw, { gguf: ggufOf(each, undefined, pooled) });
      assert.throws(() => model.forward([1, 2, 3], { logits: 'all' }), /logits/);
      model.dispose();
    }
  });

  test('8-bit blocks give the numbers of their weights, and in integers numbers near them', async () => {
    const [quantized, widened] = inBlocks(wide);
    const ids = idsOf(wide, 21);
    const want = numbersOf(await hub(rw, widened), ids);
    const model = await loadModel(rw, { gguf: quantized, arithmetic: 'float32' });
    const got = numbersOf(model, ids);
    const size = Math.max(...want.map(Math.abs));
    got.forEach((x, i) => {
      assert.ok(Math.abs(x - want[i]) <= 2e-5 * size, `${i}: ${x}, ${want[i]}`);
    });
    const inIntegers = numbersOf(await loadModel(rw, { gguf: quantized }), ids);
    // Activations in 8 bits: a part in 254 of the largest of a block, in each of some ten products one after the other.
    inIntegers.forEach((x, i) => {
      assert.ok(Math.abs(x - want[i]) <= 0.04 * size, `${i}: ${x}, ${want[i]}`);
    });
    assert.notDeepEqual(inIntegers, got);
    // Greedy tokens are those of the weights.
    const tokens = async (loaded) => {
      const made = [];
      for await (const { token } of loaded.generate(ids.slice(0, 5), { maxTokens: 12, temperature: 0 }))
        made.push(token);
      return made;
    };
    assert.deepEqual(await tokens(model), await tokens(await hub(rw, widened)));
  });

  test('a file may be stored anew, and takes as much memory as its blocks', async () => {
    const [quantized] = inBlocks(wide);
    const as8 = await loadModel(rw, { gguf: quantized });
    const as4 = await loadModel(rw, { gguf: quantized, storage: 'q4_0' });
    const plain = await loadModel(rw, { gguf: ggufOf(wide) });
    const { bytes } = plain.info;
    assert.ok(as8.info.bytes < 0.29 * bytes);
    assert.ok(as4.info.bytes < 0.17 * bytes);
    for (const model of [as8, as4, plain]) model.dispose();
  });
});

test('loading takes the memory of the blocks and a slice, from bytes, a Blob and a path', async (t) => {
  const rw = await instance;
  const large = tinyLlama({ vocab_size: 40_000, hidden_size: 64, intermediate_size: 96, tie_word_embeddings: true });
  const gguf = ggufOf(large, (_, { shape, data }) => ({ dtype: 'Q8_0', shape, data: q8(data) }));
  const path = join(folderWith(t), 'm.gguf');
  writeFileSync(path, gguf);
  for (const source of [gguf, new Blob([gguf]), path]) {
    const before = inUse(rw);
    rw.resetPeak();
    const model = await loadModel(rw, { gguf: source });
    const { usedBytes, peak } = rw.memory();
    assert.ok(peak - usedBytes < 1.1 * 2 ** 20, `${peak - usedBytes}`);
    assert.ok(usedBytes - before.usedBytes < 1.02 * gguf.length, `${usedBytes - before.usedBytes} of ${gguf.length}`);
    model.dispose();
  }
});

// The error names the key or the tensor of the GGUF file, and nothing is left.
const changed = (change) => ggufOf(wide, undefined, change);
const refused = {
  'an unknown architecture': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'general.architecture': ['str', 'rwkv7'] } })),
    { key: 'general.architecture' },
    /is "rwkv7", which is not supported; expected one of "llama", .*"bert"/,
  ],
  'an architecture that is like others': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'general.architecture': ['str', 'qwen2moe'] } })),
    { key: 'general.architecture' },
    /is "qwen2moe", which is not supported; near it: "qwen2", "qwen3", "qwen3moe"; expected one of "llama", /,
  ],
  'an architecture that is no text': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'general.architecture': ['u32', 7] } })),
    { key: 'general.architecture' },
    /is 7; expected a text/,
  ],
  'a size that is missing': [
    changed(({ metadata: { 'llama.embedding_length': _, ...metadata } }) => ({ metadata })),
    { key: 'llama.embedding_length' },
    /is missing/,
  ],
  'a size of 0': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'llama.block_count': ['u32', 0] } })),
    { key: 'llama.block_count' },
    /is 0; expected a whole number of at least 1/,
  ],
  'heads that differ from layer to layer': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'llama.attention.head_count_kv': [['i32'], [1, 2]] } })),
    { key: 'llama.attention.head_count_kv' },
    /differs from layer to layer/,
  ],
  'an eps that is a text': [
    changed(({ metadata }) => ({
      metadata: { ...metadata, 'llama.attention.layer_norm_rms_epsilon': ['str', '1e-5'] },
    })),
    { key: 'llama.attention.layer_norm_rms_epsilon' },
    /is "1e-5"; expected a positive number/,
  ],
  'values of another size than keys': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'llama.attention.value_length': ['u32', 8] } })),
    { key: 'llama.attention.value_length' },
    /is 8; expected 16/,
  ],
  'an unknown scaling': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'llama.rope.scaling.type': ['str', 'ntk'] } })),
    { key: 'llama.rope.scaling.type' },
    /is "ntk"; expected/,
  ],
  'an activation that nothing would use': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'llama.hidden_activation': ['str', 'gelu'] } })),
    { key: 'llama.hidden_activation' },
    /is "gelu"; nothing would use it/,
  ],
  'an activation that is none': [
    ggufOf(tinyModel('modernbert'), undefined, ({ metadata }) => ({
      metadata: { ...metadata, 'modern-bert.hidden_activation': ['str', 'mish'] },
    })),
    { key: 'modern-bert.hidden_activation' },
    /hidden_activation is "mish"/,
  ],
  'a setting that nothing would use': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'llama.logit_scale': ['f32', 2] } })),
    { key: 'llama.logit_scale' },
    /is 2; nothing would use it/,
  ],
  'a decoder that is not causal': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'llama.attention.causal': ['bool', false] } })),
    { key: 'llama.attention.causal' },
    /is false; expected true/,
  ],
  'an encoder that is causal': [
    ggufOf(tinyModel('nomic-bert'), undefined, ({ metadata }) => ({
      metadata: { ...metadata, 'nomic-bert.attention.causal': ['bool', true] },
    })),
    { key: 'nomic-bert.attention.causal' },
    /is true; expected false/,
  ],
  'more experts of a token than there are': [
    ggufOf(tinyModel('mixtral'), undefined, ({ metadata }) => ({
      metadata: { ...metadata, 'llama.expert_used_count': ['u32', 6] },
    })),
    { key: 'llama.expert_used_count' },
    /num_experts_per_tok is 6; expected at most 5/,
  ],
  'experts of no size': [
    ggufOf(
      tinyModel('qwen3-moe'),
      undefined,
      ({ metadata: { 'qwen3moe.expert_feed_forward_length': _, ...metadata } }) => ({
        metadata,
      }),
    ),
    { key: 'qwen3moe.expert_feed_forward_length' },
    /is missing; expected a whole number/,
  ],
  'an expert that is missing': [
    ggufOf(tinyModel('mixtral'), undefined, ({ tensors }) => {
      const own = tensors['blk.1.ffn_up_exps.weight'];
      const [count, ...sizes] = own.shape;
      const data = own.data.slice(0, (own.data.length / count) * 4);
      return { tensors: { ...tensors, 'blk.1.ffn_up_exps.weight': { ...own, shape: [4, ...sizes], data } } };
    }),
    { tensor: 'blk.1.ffn_up_exps.weight' },
    /has shape \[208, 36\]; its config makes it \[260, 36\]/,
  ],
  'a gate that is missing': [
    ggufOf(tinyModel('nomic-bert'), undefined, ({ tensors: { 'blk.0.ffn_gate.weight': _, ...tensors } }) => ({
      tensors,
    })),
    { tensor: 'blk.0.ffn_gate.weight' },
    /is missing; expected float numbers \[52, 36\]/,
  ],
  'a tensor that is missing': [
    changed(({ tensors: { 'blk.1.ffn_down.weight': _, ...tensors } }) => ({ tensors })),
    { tensor: 'blk.1.ffn_down.weight' },
    /is missing; expected float numbers \[64, 96\]/,
  ],
  'a vocabulary alone': [changed(() => ({ tensors: {} })), { tensor: 'token_embd.weight' }, /is missing or empty$/],
  'token vectors that are missing': [
    changed(({ tensors: { 'token_embd.weight': _, ...tensors } }) => ({ tensors })),
    { tensor: 'token_embd.weight' },
    /is missing or empty$/,
  ],
  'no token at all': [
    changed(({ tensors }) => ({
      tensors: { ...tensors, 'token_embd.weight': { dtype: 'F32', shape: [0, 64], data: new Float32Array(0) } },
    })),
    { tensor: 'token_embd.weight' },
    /is missing or empty/,
  ],
  'a tensor of another shape': [
    changed(({ tensors }) => ({
      tensors: { ...tensors, 'output_norm.weight': { dtype: 'F32', shape: [32], data: new Float32Array(32) } },
    })),
    { tensor: 'output_norm.weight' },
    /has shape \[32\]; its config makes it \[64\]/,
  ],
  'a tensor that nothing would use': [
    changed(({ tensors }) => ({
      tensors: { ...tensors, 'blk.0.ffn_gate_inp.weight': { dtype: 'F32', shape: [2], data: new Float32Array(2) } },
    })),
    { tensor: 'blk.0.ffn_gate_inp.weight' },
    /has no place in a model/,
  ],
  'a type that is not computed with': [
    changed(({ tensors }) => ({
      tensors: { ...tensors, 'blk.0.ffn_up.weight': { dtype: 'I8', shape: [96, 64], data: new Int8Array(96 * 64) } },
    })),
    { tensor: 'blk.0.ffn_up.weight' },
    /is I8; expected one of F32, F16, BF16, Q4_0, .*Q6_K/,
  ],
  'heads that do not divide': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'llama.attention.head_count_kv': ['u32', 3] } })),
    { key: 'llama.attention.head_count_kv' },
    /makes no model: .*does not divide/,
  ],
  'more layers than any model': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'llama.block_count': ['u32', 100000] } })),
    { key: 'llama.block_count' },
    /makes no model/,
  ],
  'an eps that is missing': [
    changed(({ metadata: { 'llama.attention.layer_norm_rms_epsilon': _, ...metadata } }) => ({ metadata })),
    { key: 'llama.attention.layer_norm_rms_epsilon' },
    /is missing; expected a positive number/,
  ],
  'a factor of cos and sin that nothing would use': [
    changed(({ metadata }) => ({ metadata: { ...metadata, 'llama.rope.scaling.attn_factor': ['f32', 1.5] } })),
    { key: 'llama.rope.scaling.attn_factor' },
    /is 1.5; expected 1/,
  ],
  'Granite without a rotary encoding': [
    ggufOf(tinyModel('granite'), undefined, ({ metadata }) => ({
      metadata: { ...metadata, 'granite.rope.scaling.finetuned': ['bool', false] },
    })),
    { key: 'granite.rope.scaling.finetuned' },
    /is false; expected true/,
  ],
  'YaRN beside factors of frequencies': [
    ggufOf(tinyModel('llama3'), undefined, ({ metadata }) => ({
      metadata: {
        ...metadata,
        'llama.rope.scaling.type': ['str', 'yarn'],
        'llama.rope.scaling.factor': ['f32', 4],
        'llama.rope.scaling.original_context_length': ['u32', 16],
      },
    })),
    { key: 'llama.rope.scaling.type' },
    /is "yarn" beside rope_freqs.weight; expected "linear"/,
  ],
  'a ramp of YaRN that is not whole': [
    changed(({ metadata }) => ({
      metadata: {
        ...metadata,
        'llama.rope.scaling.type': ['str', 'yarn'],
        'llama.rope.scaling.factor': ['f32', 4],
        'llama.rope.scaling.yarn_ext_factor': ['f32', 0.5],
      },
    })),
    { key: 'llama.rope.scaling.yarn_ext_factor' },
    /is 0.5; expected 1/,
  ],
  'a factor of 0': [
    changed(({ tensors }) => ({
      tensors: { ...tensors, 'rope_freqs.weight': { dtype: 'F32', shape: [8], data: new Float32Array(8) } },
    })),
    { tensor: 'rope_freqs.weight' },
    /has a factor of 0; expected positive numbers/,
  ],
  'long factors without short ones': [
    changed(({ tensors }) => ({
      tensors: {
        ...tensors,
        'rope_factors_long.weight': { dtype: 'F32', shape: [8], data: new Float32Array(8).fill(1) },
      },
    })),
    { tensor: 'rope_factors_short.weight' },
    /is missing; expected both/,
  ],
  'factors of another count': [
    changed(({ tensors }) => ({
      tensors: { ...tensors, 'rope_freqs.weight': { dtype: 'F32', shape: [3], data: Float32Array.of(1, 2, 3) } },
    })),
    { tensor: 'rope_freqs.weight' },
    /has 3 factors; expected one for each pair/,
  ],
};

describe('refused by name is', () => {
  for (const [what, [gguf, { key, tensor }, message]] of Object.entries(refused)) {
    test(what, async () => {
      const rw = await instance;
      const before = inUse(rw);
      await assert.rejects(loadModel(rw, { gguf }), (error) => {
        assert.ok(error instanceof GgufError, error.stack);
        assert.match(error.message, message);
        assert.deepEqual([error.key, error.tensor, error.file], [key, tensor, 'buffer']);
        return true;
      });
      assert.deepEqual(inUse(rw), before);
    });
  }

  test('what excludes the other, and a file of the other format', async () => {
    const rw = await instance;
    const gguf = ggufOf(wide);
    for (const other of ['config', 'weights']) {
      const options = { gguf, [other]: other === 'config' ? wide.config : safetensorsOf(wide) };
      await assert.rejects(loadModel(rw, options), { name: 'ArgumentRangeError', argument: other });
    }
    await assert.rejects(loadModel(rw, { gguf: safetensorsOf(wide) }), {
      name: 'GgufError',
      message: /not a GGUF file/,
    });
    await assert.rejects(loadModel(rw, { gguf: 7 }), {
      name: 'ArgumentTypeError',
      argument: 'gguf',
      message: /^loadModel: gguf is 7; /,
    });
    await assert.rejects(loadModel(rw, { config: wide.config, weights: gguf }), { name: 'SafetensorsError' });
    await assert.rejects(loadModel(rw, { gguf, relativeSign: 'key-minus-query' }), { argument: 'relativeSign' });
  });
});

test('a file that is open, one in a folder, progress and an abort', async (t) => {
  const rw = await instance;
  const gguf = ggufOf(wide);
  const before = inUse(rw);
  const path = join(folderWith(t), 'm.gguf');
  writeFileSync(path, gguf);
  const file = await openGguf(rw, path);
  const progress = [];
  const ids = idsOf(wide, 9);
  const checkpoint = await hub(rw, wide);
  const want = numbersOf(checkpoint, ids);
  checkpoint.dispose();
  for (const source of [file, path]) {
    const model = await loadModel(rw, { gguf: source, onProgress: (each) => progress.push(each) });
    assertSameBits(numbersOf(model, ids), want);
    const { loaded, total } = progress.at(-1);
    assert.deepEqual([loaded, total], [file.byteLength, file.byteLength]);
    model.dispose();
  }
  assert.equal(file.disposed, false);
  const reason = new Error('enough');
  const controller = new AbortController();
  const options = { signal: controller.signal, onProgress: () => controller.abort(reason) };
  await assert.rejects(loadModel(rw, { gguf: path, ...options }), (error) => error === reason);
  file.dispose();
  assert.deepEqual(inUse(rw), before);
});
