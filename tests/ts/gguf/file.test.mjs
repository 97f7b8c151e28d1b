// GGUF files from every source: metadata and tensors against an independent writer, against Hugging Face's reader, and
// against the definitions of the blocks.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { GGMLQuantizationType, gguf as readByHuggingFace } from '@huggingface/gguf';
import { load, StateError } from 'ropewalk';
import { GgufError, openGguf } from 'ropewalk/models';
import { assertSameBits, random } from '../support/arrays.mjs';
import { notOptions, outOfRange, wrongType } from '../support/bad-values.mjs';
import { blockSizes, randomBlocks, weightsOfBlocks } from '../support/blocks.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { folderWith } from '../support/folder.mjs';
import { writeGguf } from '../support/gguf.mjs';
import { inUse } from '../support/peak.mjs';

const metadata = {
  'general.architecture': ['str', 'llama'],
  'a.u8': ['u8', 255],
  'a.i8': ['i8', -128],
  'a.u16': ['u16', 65535],
  'a.i16': ['i16', -32768],
  'a.u32': ['u32', 2 ** 32 - 1],
  'a.i32': ['i32', -(2 ** 31)],
  'a.f32': ['f32', -0],
  'a.true': ['bool', true],
  'a.false': ['bool', false],
  'a.u64': ['u64', 2n ** 64n - 1n],
  'a.i64': ['i64', -(2n ** 63n)],
  'a.f64': ['f64', 1e-300],
  'a.text': ['str', '\ufeff"名前\n\0😀'],
  'a.empty': ['str', ''],
  'a.texts': [['str'], ['x', '', 'y z', '\ufeff', 'é中😀', '\0\ufffd', '', '중é', '𝄞', 'z']],
  'a.none': [['str'], []],
  'a.bytes': [['u8'], [0, 255]],
  'a.i8s': [['i8'], [-1]],
  'a.u16s': [['u16'], [1, 2, 3]],
  'a.i16s': [['i16'], [-1]],
  'a.u32s': [['u32'], [7]],
  'a.i32s': [['i32'], [-3, 3]],
  'a.f32s': [['f32'], [1, 2.5, -3]],
  'a.bools': [['bool'], [true, false]],
  'a.u64s': [['u64'], [2n ** 63n]],
  'a.i64s': [['i64'], [-1n]],
  'a.f64s': [['f64'], [Math.PI]],
  __proto__x: ['str', 'y'],
};
const arrays = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
  f64: Float64Array,
};

const halves = Uint16Array.from({ length: 65536 }, (_, i) => i);
const blockTypes = Object.keys(blockSizes);
const tensors = {
  w: { dtype: 'F32', shape: [2, 3], data: Float32Array.of(1, -0, 3.5, Number.NaN, Infinity, 1e-45) },
  f16: { dtype: 'F16', shape: [256, 256], data: halves },
  bf16: { dtype: 'BF16', shape: [65536], data: halves },
  f64: { dtype: 'F64', shape: [2], data: Float64Array.of(Math.PI, -1e300) },
  i8: { dtype: 'I8', shape: [3], data: Int8Array.of(-128, 127, 0) },
  i16: { dtype: 'I16', shape: [1], data: Int16Array.of(-32768) },
  i32: { dtype: 'I32', shape: [1], data: Int32Array.of(-(2 ** 31)) },
  i64: { dtype: 'I64', shape: [2], data: BigInt64Array.of(-(2n ** 63n), 2n ** 53n + 1n) },
  q2_k: { dtype: 'Q2_K', shape: [1, 256], data: Uint8Array.from({ length: 84 }, (_, i) => i) },
  // Enough that pieces end within blocks.
  ...Object.fromEntries(
    blockTypes.map((type, i) => [
      type,
      { dtype: type.toUpperCase(), shape: [4, 3, 16384], data: randomBlocks(type, 12 * 16384, i) },
    ]),
  ),
  empty: { dtype: 'F32', shape: [4, 0], data: new Float32Array(0) },
  scalar: { dtype: 'F32', shape: [], data: Float32Array.of(7) },
  '\ufeff"名前\n😀': { dtype: 'F32', shape: [1], data: Float32Array.of(9) },
  __proto__x: { dtype: 'F32', shape: [1, 1, 1, 1], data: Float32Array.of(8) },
};
const decoded = Object.fromEntries(blockTypes.map((type) => [type, weightsOfBlocks(type, tensors[type].data)]));
const bytes = writeGguf(metadata, tensors);

const rw = await load({ simd: 'deterministic' });
const open = (source, options) => openGguf(rw, source, options);
const rawBytes = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);
const assertSameBytes = (got, want) => assert.ok(Buffer.from(rawBytes(got)).equals(rawBytes(want)));

function pathOf(t, content, name = 'model.gguf') {
  const path = join(folderWith(t), name);
  writeFileSync(path, content);
  return path;
}

const sources = {
  'a Uint8Array': () => bytes,
  'an ArrayBuffer': () => bytes.slice().buffer,
  'a Blob': () => new Blob([bytes]),
  'a path': (t) => pathOf(t, bytes),
  'a file: URL': (t) => pathToFileURL(pathOf(t, bytes)),
  'a data: URL': () => `data:;base64,${Buffer.from(bytes).toString('base64')}`,
};

function checkMetadata(got) {
  assert.deepEqual([...got.keys()], Object.keys(metadata));
  for (const [key, [type, value]] of Object.entries(metadata)) {
    const want = Array.isArray(type) && arrays[type[0]] !== undefined ? arrays[type[0]].from(value) : value;
    assert.deepStrictEqual(got.get(key), want, key);
  }
}

await onEachBuild((instance) => {
  for (const [what, source] of Object.entries(sources)) {
    test(`${what} gives the metadata and every tensor as it was written`, async (t) => {
      const before = inUse(instance);
      const file = await openGguf(instance, source(t));
      assert.equal(file.version, 3);
      checkMetadata(file.metadata);
      assert.deepEqual(file.names, Object.keys(tensors));
      for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
        const info = file.info(name);
        assert.deepEqual([info.dtype, info.shape, info.byteLength], [dtype, shape, data.byteLength]);
        const got = await file.tensor(name);
        assert.equal(got.constructor, data.constructor, name);
        assertSameBytes(got, data);
      }
      file.dispose();
      assert.deepEqual(inUse(instance), before);
    });
  }

  test('blocks are decoded to the float32 that their definition gives, in an array and in a tensor', async (t) => {
    for (const source of [bytes, pathOf(t, bytes)]) {
      const file = await openGguf(instance, source);
      for (const type of blockTypes) {
        const want = decoded[type];
        assertSameBits(await file.tensor(type, { as: 'float32' }), want);
        const target = instance.tensor([12, 16384]);
        await file.readInto(type, target);
        assertSameBits(target.data(), want);
        const [count, size] = blockSizes[type];
        await file.readInto(type, target, { start: 3 * size, end: 5 * size, offset: 1 });
        assertSameBits(target.data().subarray(0, 2 * count + 2), [
          want[0],
          ...want.subarray(3 * count, 5 * count),
          want[2 * count + 1],
        ]);
        target.dispose();
      }
      file.dispose();
    }
  });
});

test('float16 and bfloat16 are widened to every one of their values', async () => {
  const file = await open(bytes);
  const bf16 = new Float32Array(Uint32Array.from(halves, (bits) => bits << 16).buffer);
  assertSameBytes(await file.tensor('bf16', { as: 'float32' }), bf16);
  const f16 = await file.tensor('f16', { as: 'float32' });
  assertSameBits(f16.subarray(0x3c00, 0x3c03), [1, 1 + 2 ** -10, 1 + 2 ** -9]);
  assert.deepEqual([f16[1], f16[0x7c00], f16[0xfbff]], [2 ** -24, Infinity, -65504]);
});

test("Hugging Face's reader finds the same metadata and tensors", async (t) => {
  const path = pathOf(t, bytes);
  const theirs = await readByHuggingFace(path, { allowLocalFile: true });
  const file = await open(path);
  // Theirs drops a U+FEFF at the beginning of a text.
  const plain = (value) =>
    ArrayBuffer.isView(value) || Array.isArray(value) ? Array.from(value, plain) : marked(value);
  const marked = (value) => (typeof value === 'string' ? value.replace(/^\ufeff/, '') : value);
  for (const [key, value] of file.metadata) assert.deepEqual(plain(value), theirs.metadata[key], key);
  for (const [i, { name: theirName, dtype, shape, offset }] of theirs.tensorInfos.entries()) {
    const name = file.names[i];
    assert.equal(marked(name), theirName);
    const info = file.info(name);
    assert.deepEqual([info.dtype, info.shape], [GGMLQuantizationType[dtype], shape.map(Number).reverse()], name);
    const begin = Number(offset + theirs.tensorDataOffset);
    assertSameBytes(await file.tensor(name), bytes.subarray(begin, begin + info.byteLength));
  }
  assert.equal(file.names.length, theirs.tensorInfos.length);
});

test('version 2, other alignments and a file whose last tensor is not padded', async () => {
  for (const alignment of [8, 32, 64, 4096]) {
    for (const version of [2, 3]) {
      for (const padded of [true, false]) {
        const aligned = { ...metadata, 'general.alignment': ['u32', alignment] };
        const some = { i8: tensors.i8, w: tensors.w, last: tensors.i8 };
        const file = await open(writeGguf(aligned, some, { version, alignment, padded }));
        assert.equal(file.version, version);
        for (const name of file.names) assertSameBytes(await file.tensor(name), some[name].data);
      }
    }
  }
  const empty = await open(writeGguf({}, {}));
  assert.deepEqual([empty.names, [...empty.metadata], empty.byteLength], [[], [], 0]);
});

test('a header of many megabytes is read in few pieces, with progress', async (t) => {
  const words = Array.from({ length: 100_000 }, (_, i) => `token ${i} ${'x'.repeat(i % 40)}`);
  const large = writeGguf({ 'tokenizer.ggml.tokens': [['str'], words] }, { w: tensors.w });
  for (const source of [large, pathOf(t, large)]) {
    const progress = [];
    const file = await open(source, { onProgress: (each) => progress.push(each) });
    assert.deepEqual(file.metadata.get('tokenizer.ggml.tokens'), words);
    assertSameBytes(await file.tensor('w'), tensors.w.data);
    assert.ok(progress.every(({ loaded, total }, i) => loaded <= total && loaded >= (progress[i - 1]?.loaded ?? 0)));
    assert.ok(progress.at(-1).loaded >= 3e6 && progress.length < 20, JSON.stringify(progress));
  }
});

test('a dtype without a decoder is given as bytes and refused as float32', async () => {
  const file = await open(bytes);
  const target = rw.tensor([256]);
  for (const [name, dtype] of Object.entries({ q2_k: 'Q2_K', f64: 'F64', i64: 'I64' })) {
    for (const read of [() => file.tensor(name, { as: 'float32' }), () => file.readInto(name, target)]) {
      await assert.rejects(read(), (error) => {
        assert.ok(error instanceof GgufError);
        assert.deepEqual([error.file, error.tensor, error.key], ['buffer', name, undefined]);
        assert.ok(error.message.includes(`is ${dtype}, which is not given as float32`), error.message);
        return true;
      });
    }
  }
  await assert.rejects(
    file.readInto('q4_0', target, { start: 1, end: 19 }),
    /within a block of 32 weights; Q4_0 takes 18/,
  );
  target.dispose();
});

test('a read that is aborted rejects with the reason and leaves nothing', async (t) => {
  const reason = new Error('enough');
  const large = { w: { dtype: 'F32', shape: [700_001], data: random(700_001, 3) } };
  const content = writeGguf({}, large);
  for (const source of [content, new Blob([content]), pathOf(t, content)]) {
    const before = inUse(rw);
    await assert.rejects(open(source, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
    const mine = () => {
      throw reason;
    };
    await assert.rejects(open(source, { onProgress: mine }), (error) => error === reason);
    const file = await open(source);
    const controller = new AbortController();
    const onProgress = () => controller.abort(reason);
    await assert.rejects(file.tensor('w', { signal: controller.signal, onProgress }), (error) => error === reason);
    assert.deepEqual(inUse(rw), before);
    assertSameBytes(await file.tensor('w'), large.w.data);
  }
});

test('a file that was disposed of refuses reads', async () => {
  const file = await open(bytes);
  file.dispose();
  assert.equal(file.disposed, true);
  assert.throws(() => file.info('w'), StateError);
  await assert.rejects(file.tensor('w'), StateError);
});

const noFunction = [null, 'f', {}].map((value) => wrongType(value, ''));
const noSource = [undefined, null, 1, true, {}, [], new Float32Array(2), () => {}].map((value) => wrongType(value, ''));

test('every bad argument is refused by its name', async () => {
  const rows = [
    ['rw', [undefined, null, {}, rw.analysis].map((value) => wrongType(value, '')), (value) => openGguf(value, bytes)],
    ['source', noSource, open],
    ['options', notOptions, (value) => open(bytes, value)],
    ['fetch', noFunction, (fetch) => open(bytes, { fetch })],
    ['part', noFunction, (part) => open(bytes, { part })],
    ['onProgress', noFunction, (onProgress) => open(bytes, { onProgress })],
    ['signal', [wrongType({ aborted: false }, '')], (signal) => open(bytes, { signal })],
    ['shard', [outOfRange(1, 'not an option')], (shard) => open(bytes, { shard })],
  ];
  for (const [argument, values, call] of rows) {
    for (const { value, error, shows, label } of values) {
      const before = inUse(rw);
      await assert.rejects(
        async () => call(value),
        (thrown) => {
          assert.ok(thrown instanceof error, `${label}: ${thrown}`);
          for (const part of [argument, shows]) assert.ok(thrown.message.includes(part), `${label}: ${thrown.message}`);
          return true;
        },
      );
      assert.deepEqual(inUse(rw), before);
    }
  }
  const file = await open(bytes);
  await assert.rejects(file.tensor('x'), { name: 'ArgumentRangeError', argument: 'name' });
  await assert.rejects(file.tensor('w', { as: 'float16' }), { name: 'ArgumentRangeError', argument: 'as' });
});
