// Models of several files, opened by their index from addresses, paths and Files.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { load } from 'ropewalk';
import { openSafetensors, SafetensorsError } from 'ropewalk/models';
import { assertSameBits } from '../support/arrays.mjs';
import { folderWith } from '../support/folder.mjs';
import { inUse } from '../support/peak.mjs';
import { fileOf, writeSafetensors } from '../support/safetensors.mjs';
import { sendRange, sendWhole, serve } from '../support/server.mjs';

const rw = await load({ simd: 'deterministic' });
const f32 = (...numbers) => ({ dtype: 'F32', shape: [numbers.length], data: Float32Array.from(numbers) });
const one = writeSafetensors({ a: f32(1, 2), b: f32(3) }, { format: 'pt', part: '1' });
const two = writeSafetensors({ c: f32(4), d: f32(5, 6, 7) }, { format: 'pt', part: '2' });
const weightMap = { a: 'm-1.safetensors', c: 'm 2#?.safetensors', b: 'm-1.safetensors', d: 'm 2#?.safetensors' };
const encode = (text) => new TextEncoder().encode(text);
const indexOf = (map) => encode(JSON.stringify({ metadata: { total_size: 28 }, weight_map: map }));
const files = {
  'model.safetensors.index.json': indexOf(weightMap),
  'm-1.safetensors': one,
  'm 2#?.safetensors': two,
};
const want = { a: [1, 2], b: [3], c: [4], d: [5, 6, 7] };

async function checkModel(file) {
  assert.deepEqual(file.names, ['a', 'b', 'c', 'd']);
  assert.deepEqual([...file.metadata], [['format', 'pt']]);
  assert.equal(file.byteLength, 28);
  for (const name of ['d', 'a', 'c', 'b']) assertSameBits(await file.tensor(name), want[name]);
  const target = rw.tensor([3]);
  await file.readInto('d', target);
  assertSameBits(target.data(), want.d);
  target.dispose();
  file.dispose();
}

function folderOf(t, content = files) {
  const folder = folderWith(t);
  for (const [name, bytes] of Object.entries(content)) writeFileSync(join(folder, name), bytes);
  return join(folder, 'model.safetensors.index.json');
}

async function serverOf(t, content = files, send = sendRange) {
  const { url, requests } = await serve(t, (request, response) => {
    const name = decodeURIComponent(new URL(request.url, 'http://x').pathname.split('/').at(-1));
    if (content[name] !== undefined) return send(request, response, content[name]);
    response.writeHead(404);
    response.end();
  });
  return { url: `${url}/repo/model.safetensors.index.json`, requests };
}

test('an index of a path or a file: URL finds the files beside it', async (t) => {
  const path = folderOf(t);
  await checkModel(await openSafetensors(rw, path));
  await checkModel(await openSafetensors(rw, pathToFileURL(path)));
  await checkModel(await openSafetensors(rw, pathToFileURL(path).href));
});

test('an index of a path without a folder finds the files beside it, and no address that it names', async (t) => {
  const { url, requests } = await serverOf(t);
  const folder = dirname(folderOf(t));
  const before = process.cwd();
  t.after(() => process.chdir(before));
  process.chdir(folder);
  const file = await openSafetensors(rw, 'model.safetensors.index.json');
  assert.equal(file.info('a').file, './m-1.safetensors');
  await checkModel(file);
  for (const name of [`http:${new URL(url).host}`, `data:;base64,${Buffer.from(one).toString('base64url')}`]) {
    writeFileSync('model.safetensors.index.json', indexOf({ a: name, b: name }));
    await assert.rejects(openSafetensors(rw, 'model.safetensors.index.json'), SafetensorsError);
  }
  assert.deepEqual(requests, []);
});

test('an index of an address finds the files beside it, with the query of its own', async (t) => {
  const { url, requests } = await serverOf(t);
  await checkModel(await openSafetensors(rw, `${url}?download=true#x`));
  assert.deepEqual(
    requests.map((each) => each.split(' ')[0]),
    ['/repo/model.safetensors.index.json', '/repo/m-1.safetensors', '/repo/m%202%23%3F.safetensors'].map(
      (path) => `${path}?download=true`,
    ),
  );
});

test('a server without ranges, and one that does not say how long files are, give the same', async (t) => {
  for (const send of [
    (_, response, bytes) => sendWhole(response, bytes),
    (_, response, bytes) => {
      response.writeHead(200);
      response.end(bytes);
    },
  ]) {
    const { url } = await serverOf(t, files, send);
    await checkModel(await openSafetensors(rw, url));
  }
});

test('shard() gives the files of an index that is beside nothing', async () => {
  const asked = [];
  const shard = (name) => {
    asked.push(name);
    return asked.length === 1 ? files[name] : Promise.resolve(new Blob([files[name]]));
  };
  for (const index of [files['model.safetensors.index.json'], new Blob([files['model.safetensors.index.json']])]) {
    asked.length = 0;
    await checkModel(await openSafetensors(rw, index, { shard }));
    assert.deepEqual(asked, ['m-1.safetensors', 'm 2#?.safetensors']);
  }
  await assert.rejects(openSafetensors(rw, files['model.safetensors.index.json']), (error) => {
    assert.ok(error instanceof RangeError);
    assert.equal(error.argument, 'shard');
    return true;
  });
  const mine = new Error('mine');
  const fail = () => {
    throw mine;
  };
  await assert.rejects(openSafetensors(rw, files['model.safetensors.index.json'], { shard: fail }), (e) => e === mine);
  await assert.rejects(openSafetensors(rw, files['model.safetensors.index.json'], { shard: () => 7 }), TypeError);
});

test('many files are opened, few at a time', async (t) => {
  const many = Array.from({ length: 20 }, (_, i) => [`m-${i}.safetensors`, writeSafetensors({ [`t${i}`]: f32(i) })]);
  const map = Object.fromEntries(many.map(([name], i) => [`t${i}`, name]));
  const { url } = await serverOf(t, { 'model.safetensors.index.json': indexOf(map), ...Object.fromEntries(many) });
  const progress = [];
  const file = await openSafetensors(rw, url, { onProgress: ({ name }) => progress.push(name) });
  assert.equal(new Set(progress).size, 20);
  assertSameBits(await file.tensor('t19'), [19]);
});

test('of files that are sent whole one is held at a time', async (t) => {
  const many = Array.from({ length: 20 }, (_, i) => {
    const tensors = {
      [`t${i}`]: f32(i),
      [`rest${i}`]: { dtype: 'U8', shape: [2 ** 23], data: new Uint8Array(2 ** 23) },
    };
    return [`m-${i}.safetensors`, writeSafetensors(tensors)];
  });
  const map = Object.fromEntries(many.flatMap(([name], i) => [`t${i}`, `rest${i}`].map((tensor) => [tensor, name])));
  const closed = [];
  const content = { 'model.safetensors.index.json': indexOf(map), ...Object.fromEntries(many) };
  const { url } = await serverOf(t, content, (_, response, bytes) => {
    closed.push(once(response, 'close'));
    sendWhole(response, bytes);
  });
  const file = await openSafetensors(rw, url);
  assert.equal(closed.length, 21);
  await Promise.all(closed);
  for (let i = 0; i < 20; ++i) assertSameBits(await file.tensor(`t${i}`), [i]);
  assert.equal(closed.length, 41);
  await Promise.all(closed.slice(0, -1));
  await Promise.all(Array.from({ length: 20 }, (_, i) => file.tensor(`t${i}`)));
  file.dispose();
  await Promise.all(closed);
});

const eight = new Uint8Array(8);
const refused = {
  'a file that is missing': [{ 'm-1.safetensors': undefined }, 'm-1.safetensors', undefined, /HTTP 404|ENOENT/],
  'a file that is cut': [{ 'm-1.safetensors': one.subarray(0, -1) }, 'm-1.safetensors', 'b', /is cut/],
  'a tensor in two files': [
    { 'm 2#?.safetensors': writeSafetensors({ c: f32(4), d: f32(5), a: f32(6) }) },
    'm 2#?.safetensors',
    'a',
    /is in .*m-1\.safetensors as well/,
  ],
  'a tensor that its file does not have': [
    { 'model.safetensors.index.json': indexOf({ ...weightMap, x: 'm-1.safetensors' }) },
    'model.safetensors.index.json',
    'x',
    /is not in m-1\.safetensors/,
  ],
  'a tensor in another file than its index says': [
    { 'model.safetensors.index.json': indexOf({ ...weightMap, a: 'm 2#?.safetensors' }) },
    'model.safetensors.index.json',
    'a',
    /is not in m 2#\?\.safetensors/,
  ],
  'an index that names a tensor twice': [
    { 'model.safetensors.index.json': encode('{"weight_map":{"a":"m-1.safetensors","\\u0061":"m-1.safetensors"}}') },
    'model.safetensors.index.json',
    undefined,
    /second of its name.*byte 37 of the index/,
  ],
  'an index without a weight_map': [
    { 'model.safetensors.index.json': encode('{"metadata":{}}') },
    'model.safetensors.index.json',
    undefined,
    /has no weight_map/,
  ],
  'an index that is cut': [
    { 'model.safetensors.index.json': indexOf(weightMap).subarray(0, -3) },
    'model.safetensors.index.json',
    undefined,
    /not JSON|no object of strings/,
  ],
  'a file that is an index again': [
    { 'm-1.safetensors': indexOf(weightMap) },
    'm-1.safetensors',
    undefined,
    /not a safetensors file/,
  ],
  'a file elsewhere': [
    { 'model.safetensors.index.json': indexOf({ a: '../m-1.safetensors' }) },
    'model.safetensors.index.json',
    undefined,
    /"\.\.\/m-1\.safetensors"; only plain names/,
  ],
  'a file of another address': [
    { 'model.safetensors.index.json': indexOf({ a: 'https://example.org/m' }) },
    'model.safetensors.index.json',
    undefined,
    /only plain names/,
  ],
  ...Object.fromEntries(
    ['http:127.0.0.1:9', 'file:m-1.safetensors', 'data:;base64,AAAA', 'C:m-1.safetensors'].map((name) => [
      `a file called ${name}`,
      [
        { 'model.safetensors.index.json': indexOf({ a: name }) },
        'model.safetensors.index.json',
        undefined,
        /only plain names/,
      ],
    ]),
  ),
  'a file with a hole': [
    { 'm-1.safetensors': fileOf({ a: { dtype: 'F32', shape: [1], data_offsets: [4, 8] } }, eight) },
    'm-1.safetensors',
    'a',
    /hole/,
  ],
};
for (const [what, [changed, file, tensor, message]] of Object.entries(refused)) {
  test(`${what} is refused`, async (t) => {
    const content = Object.fromEntries(
      Object.entries({ ...files, ...changed }).filter(([, bytes]) => bytes !== undefined),
    );
    const before = inUse(rw);
    for (const source of [folderOf(t, content), (await serverOf(t, content)).url]) {
      await assert.rejects(openSafetensors(rw, source), (error) => {
        assert.ok(error instanceof SafetensorsError, error.stack);
        assert.equal(error.tensor, tensor, error.message);
        assert.ok(decodeURIComponent(error.file).endsWith(file), error.message);
        assert.match(decodeURIComponent(error.message), message);
        return true;
      });
    }
    assert.deepEqual(inUse(rw), before);
  });
}

test('opening several files may be aborted', async (t) => {
  const path = folderOf(t);
  const reason = new Error('enough');
  const controller = new AbortController();
  const onProgress = () => controller.abort(reason);
  const before = inUse(rw);
  await assert.rejects(
    openSafetensors(rw, path, { signal: controller.signal, onProgress }),
    (error) => error === reason,
  );
  assert.deepEqual(inUse(rw), before);
});
