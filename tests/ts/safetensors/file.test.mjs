// Safetensors files from memory, a Blob or a path: their contents, every way to read them, and every refusal.
import assert from 'node:assert/strict';
import { readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { load, OutOfMemoryError, StateError } from 'ropewalk';
import { openSafetensors, SafetensorsError } from 'ropewalk/models';
import { assertSameBits, detached, random } from '../support/arrays.mjs';
import { notAnInteger, notOptions, wrongType } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { folderWith } from '../support/folder.mjs';
import { run } from '../support/node.mjs';
import { inUse } from '../support/peak.mjs';
import { fileOf, writeSafetensors } from '../support/safetensors.mjs';

const large = random(700_001, 3); // some pieces, and a rest
const halves = Uint16Array.from({ length: 65536 }, (_, i) => i);
const tensors = [
  ['flags', { dtype: 'BOOL', shape: [3], data: Uint8Array.of(1, 0, 1) }], // what follows is not aligned
  ['w', { dtype: 'F32', shape: [2, 3], data: Float32Array.of(1, -0, 3.5, Number.NaN, Infinity, 1e-45) }],
  ['bf16', { dtype: 'BF16', shape: [256, 256], data: halves }],
  ['f16', { dtype: 'F16', shape: [65536], data: halves }],
  ['f64', { dtype: 'F64', shape: [2], data: Float64Array.of(Math.PI, -1e300) }],
  ['i8', { dtype: 'I8', shape: [2], data: Int8Array.of(-128, 127) }],
  ['u8', { dtype: 'U8', shape: [2], data: Uint8Array.of(0, 255) }],
  ['i16', { dtype: 'I16', shape: [1], data: Int16Array.of(-32768) }],
  ['u16', { dtype: 'U16', shape: [1], data: Uint16Array.of(65535) }],
  ['i32', { dtype: 'I32', shape: [1], data: Int32Array.of(-(2 ** 31)) }],
  ['u32', { dtype: 'U32', shape: [1], data: Uint32Array.of(2 ** 32 - 1) }],
  ['i64', { dtype: 'I64', shape: [2], data: BigInt64Array.of(-(2n ** 63n), 2n ** 53n + 1n) }],
  ['u64', { dtype: 'U64', shape: [1], data: BigUint64Array.of(2n ** 64n - 1n) }],
  ['f8', { dtype: 'F8_E4M3', shape: [5], data: Uint8Array.of(1, 2, 3, 4, 5) }],
  ['f4', { dtype: 'F4', shape: [4], data: Uint8Array.of(0x21, 0x43) }],
  ['empty', { dtype: 'F32', shape: [4, 0], data: new Float32Array(0) }],
  ['scalar', { dtype: 'F32', shape: [], data: Float32Array.of(7) }],
  ['__proto__', { dtype: 'F32', shape: [1], data: Float32Array.of(8) }],
  ['\ufeff"名前\n😀', { dtype: 'F32', shape: [1], data: Float32Array.of(9) }],
  ['large', { dtype: 'F32', shape: [700_001], data: large }],
];
const data = new Map(tensors.map(([name, { data }]) => [name, data]));
const bytes = writeSafetensors(tensors, { format: 'pt', __proto__x: 'y', '\ufeff': '\ud83d\ude00' });

const rw = await load({ simd: 'deterministic' });
const open = (source, options) => openSafetensors(rw, source, options);
const rawBytes = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);
const assertSameBytes = (got, want) => assert.ok(Buffer.from(rawBytes(got)).equals(rawBytes(want)));

// The value that the bits of a half stand for, by the definition.
const halfValue = (bits) => {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, mantissa] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return mantissa === 0 ? sign * Infinity : Number.NaN;
  return exponent === 0 ? sign * mantissa * 2 ** -24 : sign * (1024 + mantissa) * 2 ** (exponent - 25);
};
const bf16Value = (bits) => new Float32Array(Uint32Array.of(bits << 16).buffer)[0];
const values = { bf16: Float32Array.from(halves, bf16Value), f16: Float32Array.from(halves, halfValue) };

const sources = {
  'a Uint8Array': () => bytes,
  'an ArrayBuffer': () => bytes.slice().buffer,
  'a part of a Buffer': () => Buffer.concat([Buffer.alloc(3), bytes, Buffer.alloc(5)]).subarray(3, 3 + bytes.length),
  'a Blob': () => new Blob([bytes]),
  'a path': (t) => pathOf(t, bytes),
  'a file: URL': (t) => pathToFileURL(pathOf(t, bytes)),
  'a data: URL': () => `data:;base64,${Buffer.from(bytes).toString('base64')}`,
  'a blob: URL': (t) => {
    const url = URL.createObjectURL(new Blob([bytes]));
    t.after(() => URL.revokeObjectURL(url));
    return url;
  },
};

function pathOf(t, content, name = 'model.safetensors') {
  const path = join(folderWith(t), name);
  writeFileSync(path, content);
  return path;
}

await onEachBuild((instance) => {
  for (const [what, source] of Object.entries(sources)) {
    test(`${what} gives every tensor as it was written`, async (t) => {
      const before = inUse(instance);
      const file = await openSafetensors(instance, source(t));
      assert.deepEqual(file.names, [...data.keys()]);
      assert.deepEqual(
        [...file.metadata],
        [
          ['format', 'pt'],
          ['__proto__x', 'y'],
          ['\ufeff', '\ud83d\ude00'],
        ],
      );
      for (const [name, { dtype, shape, data }] of tensors) {
        const info = file.info(name);
        assert.deepEqual([info.dtype, info.shape, info.byteLength], [dtype, shape, data.byteLength]);
        if (dtype.startsWith('F8') || dtype === 'F4') continue;
        const got = await file.tensor(name);
        if (dtype !== 'BOOL') assert.equal(got.constructor, data.constructor, name);
        assertSameBytes(got, data);
      }
      file.dispose();
      assert.deepEqual(inUse(instance), before);
    });
  }

  test('float16 and bfloat16 are widened to every one of their values, in an array and in a tensor', async () => {
    const file = await openSafetensors(instance, bytes);
    for (const [name, want] of Object.entries(values)) {
      const got = await file.tensor(name, { as: 'float32' });
      assertSameBits(got, want);
      const target = instance.tensor([65536]);
      await file.readInto(name, target);
      assertSameBytes(target.data(), got); // NaNs with their payloads
      target.dispose();
    }
    assertSameBits(await file.tensor('w', { as: 'float32' }), data.get('w'));
  });
});

test('tensor() names a dtype that it has no array for, and stream() gives its bytes', async () => {
  const file = await open(bytes);
  for (const [name, dtype] of [
    ['f8', 'F8_E4M3'],
    ['f4', 'F4'],
  ]) {
    await assert.rejects(file.tensor(name), (error) => {
      assert.ok(error instanceof SafetensorsError);
      assert.deepEqual([error.file, error.tensor], ['buffer', name]);
      assert.ok(error.message.includes(dtype), error.message);
      return true;
    });
    const pieces = [];
    await file.stream(name, (piece) => pieces.push(...piece));
    assert.deepEqual(pieces, [...data.get(name)]);
  }
  const target = rw.tensor([2]);
  for (const name of ['f64', 'i64', 'flags']) {
    await assert.rejects(file.tensor(name, { as: 'float32' }), { name: 'SafetensorsError', tensor: name });
    await assert.rejects(file.readInto(name, target), { name: 'SafetensorsError', tensor: name });
  }
  target.dispose();
});

test('a part of a tensor goes to a part of another', async (t) => {
  for (const source of Object.values(sources)) {
    const file = await open(source(t));
    const target = rw.tensor([10]);
    await file.readInto('large', target, { start: 4 * 300_000, end: 4 * 300_004, offset: 3 });
    assertSameBits(target.data(), [0, 0, 0, ...large.subarray(300_000, 300_004), 0, 0, 0]);
    await file.readInto('bf16', target, { start: 2 * 0x3f80, end: 2 * 0x3f82, offset: 8 });
    assertSameBits(target.data().subarray(8), values.bf16.subarray(0x3f80, 0x3f82));
    await file.readInto('large', target, { start: 4 * 700_001 });
    await file.readInto('empty', target, { offset: 10 });
    target.dispose();
  }
});

test('pieces are small, in order, and told in bytes of the tensor', async (t) => {
  const path = pathOf(t, bytes);
  for (const source of [bytes, new Blob([bytes]), path]) {
    const file = await open(source);
    const progress = [];
    let next = 0;
    await file.stream(
      'large',
      (piece, at) => {
        assert.equal(at, next);
        assert.ok(piece.length <= 2 ** 20);
        next += piece.length;
      },
      { onProgress: (each) => progress.push(each) },
    );
    assert.equal(next, large.byteLength);
    assert.ok(progress.length >= 3);
    assert.deepEqual(progress.at(-1), { loaded: next, total: next, name: 'large' });
  }
  const opened = [];
  await open(path, { onProgress: (each) => opened.push(each) });
  const header = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
  assert.deepEqual(opened, [{ loaded: header, total: header, name: path }]);
});

test('a tensor has at most 64 dimensions', async () => {
  const ones = (rank) => ({ dtype: 'U8', shape: new Array(rank).fill(1), data: Uint8Array.of(5) });
  const file = await open(writeSafetensors({ w: ones(64) }));
  assert.equal(file.info('w').shape.length, 64);
  const error = { name: 'SafetensorsError', tensor: 'w', message: /has 65 dimensions; expected at most 64$/ };
  await assert.rejects(open(writeSafetensors({ w: ones(65) })), error);
});

test('a read that is aborted rejects with the reason and leaves nothing', async (t) => {
  const reason = new Error('enough');
  for (const source of [bytes, new Blob([bytes]), pathOf(t, bytes)]) {
    const file = await open(source);
    const target = rw.tensor([700_001]);
    const before = inUse(rw);
    const handles = () => readdirSync('/proc/self/fd').length;
    const open0 = process.platform === 'linux' ? handles() : 0;
    for (const read of [
      (options) => file.tensor('large', options),
      (options) => file.readInto('large', target, options),
      (options) => file.stream('large', () => {}, options),
    ]) {
      const controller = new AbortController();
      let loaded = 0;
      const onProgress = (progress) => {
        loaded = progress.loaded;
        controller.abort(reason);
      };
      await assert.rejects(read({ signal: controller.signal, onProgress }), (error) => error === reason);
      assert.ok(loaded > 0 && loaded < large.byteLength);
      await assert.rejects(read({ signal: AbortSignal.abort(reason) }), (error) => error === reason);
    }
    assert.deepEqual(inUse(rw), before);
    if (process.platform === 'linux') assert.equal(handles(), open0);
    await file.readInto('large', target);
    assertSameBits(target.data(), large);
    target.dispose();
  }
  await assert.rejects(open(bytes, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
});

test('others have their turn while bytes are read, so that they may abort', async () => {
  const file = await open(bytes);
  const before = inUse(rw);
  const reason = new Error('enough');
  const controller = new AbortController();
  const onProgress = ({ loaded }) => {
    const from = performance.now();
    while (performance.now() - from < 20); // as if the piece were large
    if (loaded <= 2 ** 20) setImmediate(() => controller.abort(reason));
  };
  await assert.rejects(file.tensor('large', { signal: controller.signal, onProgress }), (error) => error === reason);
  assert.deepEqual(inUse(rw), before);
});

test('what a callback throws ends the read and comes out as it is', async () => {
  const file = await open(bytes);
  const mine = new Error('mine');
  const fail = () => {
    throw mine;
  };
  await assert.rejects(file.tensor('w', { onProgress: fail }), (error) => error === mine);
  await assert.rejects(file.stream('w', fail), (error) => error === mine);
  const before = inUse(rw);
  await assert.rejects(open(bytes, { onProgress: fail }), (error) => error === mine);
  assert.deepEqual(inUse(rw), before);
});

test('a tensor that is disposed of during a read is not written to', async () => {
  const file = await open(bytes);
  const target = rw.tensor([700_001]);
  await assert.rejects(file.readInto('large', target, { onProgress: () => target.dispose() }), StateError);
});

test('the heap may grow during a read', async () => {
  const instance = await load({ simd: 'deterministic' });
  const file = await openSafetensors(instance, bytes);
  const target = instance.tensor([700_001]);
  const { heapBytes } = instance.memory();
  const held = [];
  await file.readInto('large', target, { onProgress: () => held.push(instance.tensor([4e6])) });
  assert.ok(instance.memory().heapBytes > heapBytes);
  assertSameBits(target.data(), large);
});

test('a file that was disposed of refuses reads, and those under way', async () => {
  const file = await open(bytes);
  await assert.rejects(
    file.stream('large', () => file.dispose()),
    StateError,
  );
  assert.equal(file.disposed, true);
  file.dispose();
  assert.throws(() => file.info('w'), StateError);
  await assert.rejects(file.tensor('w'), StateError);
});

test('a file that is cut, changed or gone after it was opened is refused by name', async (t) => {
  const path = pathOf(t, bytes);
  const file = await open(path);
  truncateSync(path, bytes.length - 1);
  await assert.rejects(file.tensor('large'), (error) => {
    assert.ok(error instanceof SafetensorsError);
    assert.deepEqual([error.file, error.tensor], [path, 'large']);
    assert.match(error.message, /changed/);
    return true;
  });
  await assert.rejects(open(path), { name: 'SafetensorsError', file: path, tensor: 'large', message: /is cut/ });
  await assert.rejects(open(join(path, 'x')), { name: 'SafetensorsError', message: /cannot be read: ENOTDIR/ });
  await assert.rejects(open(`${path}.gone`), { name: 'SafetensorsError', message: /cannot be read: ENOENT/ });
  await assert.rejects(open(folderWith(t)), { name: 'SafetensorsError', message: /is not a file/ });
  const view = bytes.slice();
  const memory = await open(view);
  detached(view);
  await assert.rejects(memory.tensor('w'), { name: 'SafetensorsError', tensor: 'w', message: /detached/ });
  for (const gone of [view, view.buffer]) {
    await assert.rejects(open(gone), { name: 'ArgumentTypeError', argument: 'source', message: /is not detached/ });
  }
});

test('a File is called by its name', { skip: typeof File === 'undefined' && 'no File here' }, async () => {
  const file = await open(new File([bytes], 'mine.safetensors'));
  assert.equal(file.info('w').file, 'mine.safetensors');
});

test('every error tells file, tensor and what is wrong, and the next file opens', async () => {
  const tensor = { dtype: 'F32', shape: [2], data_offsets: [0, 8] };
  const eight = new Uint8Array(8);
  const refused = [
    [bytes.subarray(0, 5), undefined, /has 5 bytes/],
    [bytes.subarray(0, 40), undefined, /is cut: the file has 32 of the \d+ bytes of its header/],
    [bytes.subarray(0, bytes.length - 1), 'large', /is cut: the file has/],
    [new TextEncoder().encode('<!DOCTYPE html><html>'), undefined, /not a safetensors file/],
    [fileOf({ a: tensor }, new Uint8Array(9)), undefined, /1 of which no tensor covers \(byte \d+ of the file\)/],
    [fileOf({ a: { ...tensor, dtype: 'F33' } }, eight), 'a', /dtype/],
    [fileOf({ a: { ...tensor, shape: [3] } }, eight), 'a', /has 8 bytes where its dtype and shape need 12/],
    [fileOf({ a: { ...tensor, shape: [2 ** 52, 2 ** 52] } }, eight), 'a', /more numbers than any file/],
    [fileOf({ a: { ...tensor, dtype: 'F4', shape: [15] } }, eight), 'a', /shape of 60 bits, which are no whole number/],
    [fileOf({ a: { ...tensor, shape: [1.5] } }, eight), 'a', /shape/],
    [fileOf({ a: tensor, b: tensor }, eight), 'b', /begins at byte 0, within another tensor, which ends at 8/],
    [fileOf({ '😀\n': { ...tensor, data_offsets: [1, 9] } }, new Uint8Array(9)), '😀\n', /leaves a hole/],
    [fileOf({ __metadata__: 1 }), '__metadata__', /no object of strings/],
    [fileOf('{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\\u0077":{}}'), 'w', /described in full/],
    [fileOf('{"a":{"dtype":"U8","dtype":"U8"'), 'a', /second of its name/],
    [fileOf('{"\u00e9'), undefined, /not JSON as the format wants it \(byte 12 of the file\)/],
  ];
  for (const [file, name, message] of refused) {
    const before = inUse(rw);
    await assert.rejects(open(file), (error) => {
      assert.ok(error instanceof SafetensorsError, error.stack);
      assert.ok(error instanceof Error && error.name === 'SafetensorsError');
      assert.deepEqual([error.file, error.tensor], ['buffer', name], error.message);
      assert.match(error.message, /^buffer: /);
      assert.match(error.message, message);
      if (name !== undefined) assert.ok(error.message.includes(JSON.stringify(name)), error.message);
      return true;
    });
    assert.deepEqual(inUse(rw), before);
  }
  assertSameBits(await (await open(bytes)).tensor('w'), data.get('w'));
});

test('a header of many tensors opens in time that grows with it', async () => {
  const many = Array.from({ length: 20_000 }, (_, i) => [`t${i}`, { dtype: 'U8', shape: [1], data: Uint8Array.of(i) }]);
  const file = await open(writeSafetensors(many));
  assert.equal(file.names.length, 20_000);
  assert.deepEqual([...(await file.tensor('t19999'))], [19_999 % 256]);
});

// Promises of refusals: the class, and the argument in the message.
async function refuses(call, { value, error, shows, label }, argument) {
  const before = inUse(rw);
  await assert.rejects(
    async () => call(value),
    (thrown) => {
      assert.ok(thrown instanceof error, `${label}: ${thrown}`);
      for (const part of [argument, shows ?? ''])
        assert.ok(thrown.message.includes(part), `${label}: ${thrown.message}`);
      return true;
    },
  );
  assert.deepEqual(inUse(rw), before);
}

const notAFunction = [wrongType(null, 'null'), wrongType('f', '"f"'), wrongType({}, 'an object')];
const notASignal = [wrongType(null, 'null'), wrongType(true, 'true'), wrongType({ aborted: false }, 'an object')];
const noSource = [undefined, null, 1, true, {}, [], new Float32Array(2), new DataView(new ArrayBuffer(8)), () => {}];

test('every bad argument is refused by its name', async () => {
  const file = await open(bytes);
  const target = rw.tensor([6]);
  const other = await load({ simd: 'deterministic' });
  const gone = rw.tensor([6]);
  gone.dispose();
  const into = (options) => file.readInto('w', target, options);
  const rows = [
    ['rw', [undefined, null, {}, 1, other.analysis].map((v) => wrongType(v, '')), (v) => openSafetensors(v, bytes)],
    ['source', noSource.map((v) => wrongType(v, '')), open],
    ['options', notOptions, (v) => open(bytes, v)],
    ['options', notOptions, (v) => file.tensor('w', v)],
    ['options', notOptions, into],
    ['options', notOptions, (v) => file.stream('w', () => {}, v)],
    ['signal', notASignal, (signal) => open(bytes, { signal })],
    ['onProgress', notAFunction, (onProgress) => open(bytes, { onProgress })],
    ['fetch', notAFunction, (fetch) => open(bytes, { fetch })],
    ['shard', notAFunction, (shard) => open(bytes, { shard })],
    ['signal', notASignal, (signal) => file.tensor('w', { signal })],
    ['signal', notASignal, (signal) => into({ signal })],
    ['onProgress', notAFunction, (onProgress) => into({ onProgress })],
    ['receive', [wrongType(undefined, 'undefined'), ...notAFunction], (receive) => file.stream('w', receive)],
    ['name', [1, null, undefined, {}].map((v) => wrongType(v, '')), (name) => file.tensor(name)],
    [
      'name',
      ['', 'W', 'toString'].map((value) => ({ value, error: RangeError, shows: `"${value}"` })),
      (v) => file.tensor(v),
    ],
    ['name', [{ value: 'x', error: RangeError, shows: '"x"' }], (v) => file.info(v)],
    ['as', [{ value: 'f32', error: RangeError, shows: '"f32"' }, wrongType(1, '1')], (as) => file.tensor('w', { as })],
    [
      'target',
      [new Float32Array(6), 0, undefined, null, {}].map((v) => wrongType(v, '')),
      (v) => file.readInto('w', v),
    ],
    ['target', [{ value: gone, error: StateError, shows: 'disposed' }], (v) => file.readInto('w', v)],
    ['target', [{ value: other.tensor([6]), error: StateError, shows: 'instance' }], (v) => file.readInto('w', v)],
    ['start', notAnInteger({ min: 0, max: 24 }), (start) => into({ start })],
    ['end', notAnInteger({ min: 8, max: 24 }), (end) => into({ start: 8, end })],
    ['offset', notAnInteger({ min: 0, max: 6 }), (offset) => into({ offset })],
    ['start', [{ value: 2, error: RangeError, shows: 'within a number' }], (start) => into({ start })],
    ['end', [{ value: 7, error: RangeError, shows: 'within a number' }], (end) => into({ end })],
    ['target', [{ value: 1, error: RangeError, shows: 'has 5 numbers from offset 1' }], (offset) => into({ offset })],
    ['twist', [{ value: 1, error: RangeError, shows: 'not an option' }], (twist) => into({ twist })],
    ['twist', [{ value: 1, error: RangeError, shows: 'not an option' }], (twist) => open(bytes, { twist })],
  ];
  for (const [argument, values, call] of rows) for (const bad of values) await refuses(call, bad, argument);
  const small = rw.tensor([5]);
  await refuses(() => file.readInto('w', small), { error: RangeError, shows: '6 are read' }, 'target');
  assertSameBits(target.data(), new Float32Array(6));
  for (const made of [target, small]) made.dispose();
});

test('a tensor that no array can hold is refused for want of memory', async () => {
  const size = 2 ** 48;
  const header = fileOf({ a: { dtype: 'U8', shape: [size], data_offsets: [0, size] } });
  const fetch = async () =>
    new Response(header, {
      status: 206,
      headers: { 'Content-Range': `bytes 0-${header.length - 1}/${header.length + size}` },
    });
  const file = await open('https://example.org/a.safetensors', { fetch });
  await assert.rejects(file.tensor('a'), OutOfMemoryError);
});

const roomy = freemem() > 2 ** 32;
test('a full heap refuses a file for want of memory, and opens it when there is room', {
  skip: !roomy && 'less than 4 GB of memory are free',
}, async () => {
  const script = `
    import { load } from 'ropewalk';
    import { openSafetensors } from 'ropewalk/models';
    const rw = await load();
    const held = [];
    for (let size = 2 ** 28; size >= 1; size /= 2) {
      try {
        for (;;) held.push(rw.tensor([size]));
      } catch (error) {
        if (error.name !== 'OutOfMemoryError') throw error;
      }
    }
    const file = Buffer.from('${Buffer.from(fileOf('{}')).toString('base64')}', 'base64');
    const attempt = () => openSafetensors(rw, file).then(() => 'opened', (error) => error.name);
    const full = await attempt();
    held[0].dispose();
    console.log(full, await attempt());`;
  const { stdout } = await run(['--input-type=module', '-e', script]);
  assert.equal(stdout.trim(), 'OutOfMemoryError opened');
});

test('a length that no double holds is not told as if it were exact', async () => {
  const bytes = new Uint8Array(16);
  new DataView(bytes.buffer).setBigUint64(0, 2n ** 53n + 1n, true);
  await assert.rejects(openSafetensors(rw, bytes), { message: /a header of about 9007199254740992 bytes/ });
  new DataView(bytes.buffer).setBigUint64(0, 100_000_001n, true);
  await assert.rejects(openSafetensors(rw, bytes), { message: /a header of 100000001 bytes/ });
});

test('bytes that were detached are refused by the name of the argument', async () => {
  for (const gone of [detached(new Uint8Array(16)), detached(new Uint8Array(16)).buffer]) {
    await assert.rejects(openSafetensors(rw, gone), { name: 'ArgumentTypeError', argument: 'source' });
  }
});
