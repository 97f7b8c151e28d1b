// loadModel(): the tensors that are read and kept, refusals, and no leaks.
import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { load, OutOfMemoryError, StateError } from 'ropewalk';
import { loadModel, openSafetensors, SafetensorsError } from 'ropewalk/models';
import { assertSameBits } from '../support/arrays.mjs';
import { notAChoice, notOptions } from '../support/bad-values.mjs';
import { folderWith } from '../support/folder.mjs';
import { fileOf, writeSafetensors } from '../support/safetensors.mjs';
import { fileOfModel, tinyBert, tinyGemma2, tinyLlama, tinyQwen2, tinyRoformer } from '../support/tiny-models.mjs';

const rw = await load({ simd: 'deterministic' });
const models = { tinyLlama, tinyGemma2, tinyQwen2, tinyBert, tinyRoformer };
const ids = [3, 1, 4, 1, 5, 9, 2, 6];
// The size of the heap is left out: it grows and never shrinks.
const inUse = () => {
  const { usedBytes, liveObjects } = rw.memory();
  return { usedBytes, liveObjects };
};
const before = inUse();

const loaded = (model, options = {}) =>
  loadModel(rw, { config: model.config, weights: fileOfModel(model), ...options });

/** The results of a model, which is then disposed of without leaks. */
async function resultOf(model, options) {
  const made = await loaded(model, options);
  const result =
    made.kind === 'encoder' ? made.forward(ids, { logits: true }).logits : made.forward(ids, { logits: 'all' }).logits;
  made.dispose();
  return result.data;
}

/** Fails unless the promise is rejected with an error of this class and words, and nothing is leaked. */
async function assertRefused(promise, Class, words) {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof Class, String(error.stack));
    for (const word of words) assert.ok(error.message.includes(word), `${error.message} has no ${word}`);
    return true;
  });
  assert.deepEqual(inUse(), before);
}

/** A copy of a model, with tensors replaced by `change`. */
function changed(model, change) {
  const tensors = { ...model.tensors };
  change(tensors);
  return { config: model.config, tensors };
}

for (const [name, make] of Object.entries(models)) {
  test(`${name} is freed to the last byte, whatever it was loaded from`, async (t) => {
    const model = make();
    const bytes = fileOfModel(model);
    const folder = folderWith(t, { 'model.safetensors': bytes });
    const expected = await resultOf(model);
    for (const weights of [bytes, bytes.buffer, new Blob([bytes]), join(folder, 'model.safetensors')]) {
      assertSameBits(await resultOf(model, { weights }), expected);
      assert.deepEqual(inUse(), before);
    }
  });

  test(`every tensor of ${name} is missed, by its name and what it should be`, async () => {
    const model = make();
    for (const [tensor, { shape }] of Object.entries(model.tensors)) {
      const without = changed(model, (tensors) => delete tensors[tensor]);
      await assertRefused(loaded(without), SafetensorsError, [`"${tensor}"`, 'missing', `[${shape.join(', ')}]`]);
    }
  });

  test(`every tensor of ${name} is refused in another shape or dtype`, async () => {
    const model = make();
    for (const [tensor, { shape, data }] of Object.entries(model.tensors)) {
      const [rows, ...rest] = shape;
      const longer = {
        dtype: 'F32',
        shape: [rows + 1, ...rest],
        data: new Float32Array(data.length + data.length / rows),
      };
      const words = [`"${tensor}"`, `[${longer.shape.join(', ')}]`, `[${shape.join(', ')}]`];
      await assertRefused(
        loaded(
          changed(model, (tensors) => {
            tensors[tensor] = longer;
          }),
        ),
        SafetensorsError,
        words,
      );
      const flat = { dtype: 'F32', shape: [1, ...shape], data };
      await assertRefused(
        loaded(
          changed(model, (tensors) => {
            tensors[tensor] = flat;
          }),
        ),
        SafetensorsError,
        [`"${tensor}"`, `[${flat.shape.join(', ')}]`],
      );
      for (const [dtype, Kind] of [
        ['F64', Float64Array],
        ['I8', Int8Array],
        ['I64', BigInt64Array],
      ]) {
        const other = { dtype, shape, data: new Kind(data.length) };
        await assertRefused(
          loaded(
            changed(model, (tensors) => {
              tensors[tensor] = other;
            }),
          ),
          SafetensorsError,
          [`"${tensor}"`, dtype, 'F32, F16, BF16'],
        );
      }
    }
  });

  test(`${name} is freed when a signal ends its loading, after any number of steps`, async () => {
    const model = make();
    const bytes = fileOfModel(model);
    for (let steps = 0; ; ++steps) {
      const controller = new AbortController();
      let count = 0;
      const onProgress = () => count++ === steps && controller.abort(new Error(`after ${steps}`));
      if (steps === Object.keys(model.tensors).length) break;
      const promise = loadModel(rw, { config: model.config, weights: bytes, signal: controller.signal, onProgress });
      await assertRefused(promise, Error, [`after ${steps}`]);
    }
    const gone = AbortSignal.abort(new Error('at once'));
    await assertRefused(loadModel(rw, { config: model.config, weights: bytes, signal: gone }), Error, ['at once']);
    await assertRefused(
      loaded(model, {
        onProgress() {
          throw new RangeError('by the caller');
        },
      }),
      RangeError,
      ['by the caller'],
    );
  });
}

test('a tensor that nothing would use is refused, but for those that are known to be harmless', async () => {
  const one = { dtype: 'F32', shape: [1], data: Float32Array.of(1) };
  const has = (model, name) =>
    changed(model, (tensors) => {
      tensors[name] = one;
    });
  for (const [make, name] of [
    [tinyLlama, 'model.layers.0.self_attn.q_proj.bias'],
    [tinyLlama, 'model.layers.2.input_layernorm.weight'],
    [tinyLlama, 'model.layers.0.self_attn.q_norm.weight'],
    [tinyBert, 'bert.encoder.layer.0.attention.self.distance_embedding.weight'],
    [tinyBert, 'lm_head.weight'],
    [tinyQwen2, 'visual.patch_embed.weight'],
  ]) {
    await assertRefused(loaded(has(make(), name)), SafetensorsError, [`"${name}"`, 'no place']);
  }
  for (const [make, name] of [
    [tinyLlama, 'model.layers.0.self_attn.rotary_emb.inv_freq'],
    [tinyLlama, 'score.weight'],
    [tinyGemma2, 'lm_head.weight'], // tied: the file's copy
    [tinyBert, 'bert.embeddings.position_ids'],
    [tinyBert, 'cls.seq_relationship.weight'],
    [tinyBert, 'cls.predictions.decoder.weight'],
    [tinyRoformer, 'roformer.encoder.embed_positions.weight'],
  ]) {
    assertSameBits(await resultOf(has(make(), name)), await resultOf(make()));
  }
});

test('names may lack their prefix, and norms may have the names of TensorFlow', async () => {
  const renamed = (model, rename) => ({
    ...model,
    tensors: Object.fromEntries(Object.entries(model.tensors).map(([name, tensor]) => [rename(name), tensor])),
  });
  const bare = (name) => name.replace(/^(model|bert|roformer)\./, '');
  for (const make of Object.values(models)) {
    assertSameBits(await resultOf(renamed(make(), bare)), await resultOf(make()));
  }
  const old = (name) =>
    name.replace(/LayerNorm\.weight$/, 'LayerNorm.gamma').replace(/LayerNorm\.bias$/, 'LayerNorm.beta');
  assertSameBits(await resultOf(renamed(tinyBert(), old)), await resultOf(tinyBert()));
  const inner = (name) => (name.startsWith('model.') ? `language_model.${name}` : name);
  assertSameBits(await resultOf(renamed(tinyLlama(), inner)), await resultOf(tinyLlama()));
});

test('a file of the class without a head needs none, though its config names the class with one', async () => {
  const { config, tensors } = tinyLlama();
  const untied = { ...config, tie_word_embeddings: false, architectures: ['LlamaForCausalLM'] };
  const { 'lm_head.weight': _, ...body } = tensors;
  await assertRefused(loaded({ config: untied, tensors: body }), SafetensorsError, ['"lm_head.weight"', 'is missing']);
  const bare = Object.entries(body).map(([name, tensor]) => [name.replace(/^model\./, ''), tensor]);
  const model = await loaded({ config: untied, tensors: Object.fromEntries(bare) });
  assert.equal(model.hasLogits, false);
  model.dispose();
});

test('a file that is cut off, and one whose numbers int8 cannot hold, name the file and the tensor', async (t) => {
  const model = tinyLlama();
  const bytes = fileOfModel(model);
  const short = bytes.slice(0, -100);
  await assertRefused(loaded(model, { weights: short }), SafetensorsError, ['buffer']);
  const folder = folderWith(t, { 'model.safetensors': bytes });
  const path = join(folder, 'model.safetensors');
  const file = await openSafetensors(rw, path);
  truncateSync(path, bytes.length - 1000); // after its header was read
  await assertRefused(loaded(model, { weights: file }), SafetensorsError, [
    path,
    'tensor "model.embed_tokens.weight"',
    'changed',
  ]);
  file.dispose();
  const infinite = changed(model, (tensors) => {
    const { shape, data } = tensors['model.layers.1.mlp.up_proj.weight'];
    tensors['model.layers.1.mlp.up_proj.weight'] = {
      dtype: 'F32',
      shape,
      data: data.map((x, i) => (i === 700 ? Infinity : x)),
    };
  });
  const words = ['"model.layers.1.mlp.up_proj.weight"', 'not finite', 'int8'];
  await assertRefused(loaded(infinite, { storage: 'int8' }), SafetensorsError, words);
  const large = changed(model, (tensors) => {
    const { shape, data } = tensors['model.embed_tokens.weight'];
    tensors['model.embed_tokens.weight'] = { dtype: 'F32', shape, data: data.map(() => 1e6) };
  });
  await assertRefused(loaded(large, { storage: 'float16' }), SafetensorsError, ['embed_tokens', 'infinite', 'float16']);
});

test('weights stay as they come, or are kept as asked; a tied head takes no room', async () => {
  const bytesOf = async (model, options) => {
    const made = await loaded(model, options);
    const { bytes } = made.info;
    made.dispose();
    return bytes;
  };
  const numbers = ({ tensors }) => Object.values(tensors).reduce((sum, { data }) => sum + data.length, 0);
  const model = tinyLlama({ vocab_size: 512, tie_word_embeddings: true }, 'BF16');
  const made = await loaded(model);
  assert.equal(made.info.parameters, numbers(model));
  assert.equal(made.info.architecture, 'llama');
  made.dispose();
  const [given, wide, narrow] = [
    await bytesOf(model),
    await bytesOf(model, { storage: 'float32' }),
    await bytesOf(model, { storage: 'int8' }),
  ];
  // Panels of 16 rows are filled up, and norms are float32.
  assert.ok(given >= 2 * numbers(model) && given < 2.5 * numbers(model), `${given}`);
  assert.ok(wide > 1.9 * given && narrow < 0.6 * given, `${wide}, ${narrow}`);
  const untied = tinyLlama({ vocab_size: 512 }, 'BF16');
  assert.equal((await bytesOf(untied)) - given, 2 * 512 * 24);
  // bfloat16 is a part of float32: the same numbers at either size.
  assertSameBits(await resultOf(model, { storage: 'float32' }), await resultOf(model));
});

test('int8 gives logits that are near', async () => {
  const model = tinyLlama({ hidden_size: 64, intermediate_size: 96 });
  const [exact, near] = [await resultOf(model), await resultOf(model, { storage: 'int8' })];
  const norm = Math.hypot(...exact);
  const error = Math.hypot(...exact.map((x, i) => x - near[i])) / norm;
  // Each weight is off by about 1 / (127 sqrt(12)) of its row's largest, in a chain of ten products.
  assert.ok(error > 1e-4 && error < 0.03, `${error}`);
});

test('progress counts the bytes of the tensors that are read, up to their sum', async () => {
  const model = changed(tinyBert(), (tensors) => {
    tensors['cls.seq_relationship.weight'] = { dtype: 'F32', shape: [2, 24], data: new Float32Array(48) };
  });
  const seen = [];
  (await loaded(model, { onProgress: (progress) => seen.push(progress) })).dispose();
  const total = Object.values(tinyBert().tensors).reduce((sum, { data }) => sum + data.byteLength, 0);
  assert.deepEqual(seen.at(-1).loaded, total);
  for (const [i, { loaded: now, total: all, name }] of seen.entries()) {
    assert.equal(all, total);
    assert.ok(now > (seen[i - 1]?.loaded ?? 0), name);
    assert.ok(name in model.tensors);
  }
});

test('an open file stays open; one that loadModel opened is closed', async () => {
  const model = tinyLlama();
  const file = await openSafetensors(rw, fileOfModel(model));
  const made = await loadModel(rw, { config: model.config, weights: file });
  made.dispose();
  assert.equal(file.disposed, false);
  assert.equal((await file.tensor('model.norm.weight')).length, 24);
  file.dispose();
  await assert.rejects(loadModel(rw, { config: model.config, weights: file }), StateError);
  assert.deepEqual(inUse(), before);
});

test('a model of several files is loaded by its index', async (t) => {
  const model = tinyQwen2();
  const names = Object.keys(model.tensors);
  const parts = [names.slice(0, 9), names.slice(9)].map((some) =>
    writeSafetensors(Object.fromEntries(some.map((name) => [name, model.tensors[name]]))),
  );
  const files = ['a.safetensors', 'b.safetensors'];
  const map = Object.fromEntries(names.map((name, i) => [name, files[i < 9 ? 0 : 1]]));
  const index = 'model.safetensors.index.json';
  const folder = folderWith(t, {
    'a.safetensors': parts[0],
    'b.safetensors': parts[1],
    [index]: JSON.stringify({ weight_map: map }),
  });
  assertSameBits(await resultOf(model, { weights: join(folder, index) }), await resultOf(model));
  writeFileSync(join(folder, index), JSON.stringify({ weight_map: {} }));
  await assert.rejects(resultOf(model, { weights: join(folder, index) }), { file: join(folder, index) });
});

test('where memory is short in the middle, what was loaded before is freed', async (t) => {
  // The table of token vectors comes last and has 8 GiB, of which the file system keeps none.
  const [vocab, dim] = [2 ** 23, 256];
  const model = tinyLlama({ hidden_size: dim, tie_word_embeddings: true });
  const { 'model.embed_tokens.weight': _, ...rest } = model.tensors;
  const header = {};
  let end = 0;
  for (const [name, { shape, data }] of Object.entries(rest)) {
    header[name] = { dtype: 'F32', shape, data_offsets: [end, end + data.byteLength] };
    end += data.byteLength;
  }
  const bytes = 4 * vocab * dim;
  header['model.embed_tokens.weight'] = { dtype: 'F32', shape: [vocab, dim], data_offsets: [end, end + bytes] };
  const start = fileOf(header);
  const path = join(folderWith(t, { 'model.safetensors': start }), 'model.safetensors');
  truncateSync(path, start.length + end + bytes);
  const config = { ...model.config, vocab_size: vocab };
  const inTurn = [];
  const promise = loadModel(rw, { config, weights: path, onProgress: ({ name }) => inTurn.push(name) });
  await assertRefused(promise, OutOfMemoryError, ['loadModel']);
  assert.equal(inTurn.at(-1), 'model.norm.weight');
});

test('a large matrix goes slice by slice: the peak is the weights and a slice', async () => {
  const model = tinyLlama({ vocab_size: 60_000, hidden_size: 64, tie_word_embeddings: true }, 'BF16');
  const bytes = fileOfModel(model);
  rw.resetPeak();
  const made = await loaded(model, { weights: bytes });
  const { usedBytes, peak } = rw.memory();
  // A slice of 1 MiB, and what is read of a header.
  assert.ok(peak - usedBytes < 1.1 * 2 ** 20, `${peak - usedBytes}`);
  assert.ok(usedBytes - before.usedBytes < 1.05 * bytes.length, `${usedBytes}`);
  made.dispose();
});

describe('loadModel refuses', () => {
  const { config } = tinyLlama();
  const weights = fileOfModel(tinyLlama());
  const rows = {
    options: [notOptions, (value) => loadModel(rw, value)],
    storage: [notAChoice, (storage) => loadModel(rw, { config, weights, storage })],
    angles: [notAChoice, (angles) => loadModel(rw, { config, weights, angles })],
  };
  for (const [argument, [values, call]] of Object.entries(rows)) {
    test(`a bad ${argument}`, async () => {
      for (const bad of values)
        await assertRefused(call(bad.value), bad.error, [argument === 'options' ? '' : argument, bad.shows ?? '']);
    });
  }

  test('what is missing or unknown', async () => {
    const table = [
      [{ weights }, TypeError, ['config', 'undefined']],
      [{ config }, TypeError, ['weights', 'undefined']],
      [{ config, weights: 5 }, TypeError, ['weights', '5']],
      [{ config, weights, model: 1 }, RangeError, ['model is not an option']],
      [{ config, weights, signal: 5 }, TypeError, ['signal', '5']],
      [{ config, weights, onProgress: 5 }, TypeError, ['onProgress', '5']],
      [{ config, weights, sequenceLength: 0 }, RangeError, ['sequenceLength', '0']],
      [{ config, weights, relativeSign: 'backwards' }, RangeError, ['relativeSign', '"backwards"']],
      [{ config, weights, relativeSign: 'query-minus-key' }, RangeError, ['relativeSign', 'rope positions']],
      [{ config: { ...config, model_type: 'mamba' }, weights }, RangeError, ['model_type', '"gpt2"']],
    ];
    for (const [options, Class, words] of table) await assertRefused(loadModel(rw, options), Class, words);
    await assertRefused(loadModel({}, { config, weights }), TypeError, ['rw', 'load()']);
  });
});

test('nothing is left of all this', () => assert.deepEqual(inUse(), before));

test('the config of a model is frozen, layers and their encodings as well: sizes of memory follow from it', async () => {
  const model = await loaded(tinyLlama());
  const parts = [model.config, model.config.layers, model.config.layers[0], model.config.layers[0].rope];
  for (const part of parts) assert.ok(Object.isFrozen(part));
  assert.throws(() => Object.assign(model.config, { vocabSize: 20 }), TypeError);
  model.dispose();
});
