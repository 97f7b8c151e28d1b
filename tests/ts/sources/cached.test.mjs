// Files kept in a folder: downloads that break off, files that change, no network, several openings at once.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, renameSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cached, loadModel, openSafetensors, SafetensorsError, storedFiles } from 'ropewalk/models';
import { assertSameBits } from '../support/arrays.mjs';
import {
  breakOff,
  broken,
  bytes,
  changeable,
  cutAt,
  monday,
  noFiles,
  one,
  opened,
  rw,
  short,
  tuesday,
  two,
} from '../support/kept.mjs';
import { run } from '../support/node.mjs';
import { inUse } from '../support/peak.mjs';
import { sendRange, serve } from '../support/server.mjs';
import { fileOfModel, tinyLlama } from '../support/tiny-models.mjs';

test('the first opening downloads the file, the second one only asks for it', async (t) => {
  const before = inUse(rw);
  const { requests, source, folder, url } = await changeable(t);
  assert.equal(source.address, url);
  assert.ok(!existsSync(folder));
  const progress = await opened(source);
  const name = url.replace(/\?.*/, '');
  const counts = progress.filter(({ total }) => total === bytes.length);
  assert.deepEqual(counts.at(-1), { loaded: bytes.length, total: bytes.length, name });
  assert.ok(counts.every(({ loaded }, i) => i === 0 || loaded > counts[i - 1].loaded));
  assert.deepEqual(requests, ['GET bytes=0-']);
  await opened(source);
  await opened(cached(new URL(`${url}#fragment`), { folder })); // the same file
  assert.deepEqual(requests.slice(1), ['HEAD bytes=0-', 'HEAD bytes=0-']);
  assert.deepEqual(inUse(rw), before);
});

test('parts of tensors are read from the folder', async (t) => {
  const { source, state } = await changeable(t);
  const file = await openSafetensors(rw, source);
  state.gone = true;
  const target = rw.tensor([2]);
  await file.readInto('large', target, { start: 400_000, end: 400_008 });
  assertSameBits(target.data(), one.want.large.subarray(100_000, 100_002));
  target.dispose();
  file.dispose();
});

const validators = {
  'an ETag': { ETag: '"a"' },
  'a weak ETag and Last-Modified': { ETag: 'W/"a"', 'Last-Modified': monday },
  'Last-Modified': { 'Last-Modified': monday },
};
for (const [what, headers] of Object.entries(validators)) {
  test(`a download that broke off is resumed where the server sends ${what}`, async (t) => {
    const server = await changeable(t, { headers });
    const start = Date.now();
    const stored = await breakOff(server);
    const [{ lastUsed }] = await storedFiles({ folder: server.folder });
    assert.ok(lastUsed >= start && lastUsed <= Date.now());
    assert.ok(stored > 0 && stored <= cutAt, stored);
    const [{ loaded }] = await opened(server.source);
    assert.ok(loaded > stored);
    assert.deepEqual(server.requests, ['GET bytes=0-', `GET bytes=${stored}-`]);
    await opened(server.source);
    assert.equal(server.requests.at(-1), 'HEAD bytes=0-');
  });
}

test('a download that broke off twice is resumed twice', async (t) => {
  const server = await changeable(t);
  const first = await breakOff(server);
  const second = await breakOff(server);
  assert.ok(second > first);
  await opened(server.source);
  assert.deepEqual(server.requests, ['GET bytes=0-', `GET bytes=${first}-`, `GET bytes=${second}-`]);
});

const anew = {
  'has neither ETag nor Last-Modified': [{ headers: {} }, {}],
  'has only a weak ETag': [{ headers: { ETag: 'W/"a"' } }, {}],
  'has another version with another ETag': [{}, { headers: { ETag: '"b"' }, ...two }],
  'has another version with another Last-Modified': [
    { headers: { 'Last-Modified': monday } },
    { headers: { 'Last-Modified': tuesday }, ...two },
  ],
  'has another version with another weak ETag': [
    { headers: { ETag: 'W/"a"', 'Last-Modified': monday } },
    { headers: { ETag: 'W/"b"', 'Last-Modified': monday }, ...two },
  ],
  'has another version of another length': [{ headers: { 'Last-Modified': monday } }, { bytes: short }],
  'has another version that is shorter than what is stored': [{}, { headers: { ETag: '"b"' }, bytes: short }],
};
for (const [what, [before, after]] of Object.entries(anew)) {
  test(`a download that broke off begins anew where the server ${what}`, async (t) => {
    const server = await changeable(t, before);
    assert.ok((await breakOff(server)) > 0);
    Object.assign(server.state, after);
    await opened(server.source, after.want ? two : one);
    const [stored] = await storedFiles({ folder: server.folder });
    assert.deepEqual([stored.bytes, stored.complete], [server.state.bytes.length, true]);
    const sizes = readdirSync(server.folder).map((name) => readFileSync(join(server.folder, name)).length);
    assert.ok(sizes.includes(server.state.bytes.length)); // in one piece
    assert.equal(sizes.length, 2); // with its record; nothing is left of the other
  });
}

test('of a file from a server that ignores ranges, what is stored already is not stored again', async (t) => {
  const server = await changeable(t, { whole: true });
  const stored = await breakOff(server);
  const [{ loaded }] = await opened(server.source);
  assert.ok(loaded > stored);
  const sizes = readdirSync(server.folder).map((name) => readFileSync(join(server.folder, name)).length);
  assert.ok([stored, bytes.length - stored].every((each) => sizes.includes(each)));
  assert.equal(sizes.length, 3);
});

test('an opening that is aborted keeps what came', async (t) => {
  const server = await changeable(t);
  const controller = new AbortController();
  const reason = new Error('enough');
  const onProgress = () => controller.abort(reason);
  const opening = openSafetensors(rw, server.source, { signal: controller.signal, onProgress });
  await assert.rejects(opening, (error) => error === reason);
  const [{ bytes: stored }] = await storedFiles({ folder: server.folder });
  assert.ok(stored > 0 && stored < bytes.length);
  await opened(server.source);
  assert.equal(server.requests.at(-1), `GET bytes=${stored}-`);
});

test('so does one whose onProgress throws', async (t) => {
  const server = await changeable(t);
  const onProgress = () => {
    throw new RangeError('mine');
  };
  await assert.rejects(openSafetensors(rw, server.source, { onProgress }), { name: 'RangeError', message: 'mine' });
  const [{ bytes: stored }] = await storedFiles({ folder: server.folder });
  assert.ok(stored > 0);
  await opened(server.source);
  assert.equal(server.requests.at(-1), `GET bytes=${stored}-`);
});

const changed = {
  'another ETag': [{}, { headers: { ETag: '"b"' } }],
  'another Last-Modified': [{ headers: { 'Last-Modified': monday } }, { headers: { 'Last-Modified': tuesday } }],
  'another weak ETag and the same Last-Modified': [
    { headers: { ETag: 'W/"a"', 'Last-Modified': monday } },
    { headers: { ETag: 'W/"b"', 'Last-Modified': monday } },
  ],
  'neither ETag nor Last-Modified': [{ headers: {} }, {}],
  'another ETag, from a server that refuses HEAD': [{ noHead: 405 }, { headers: { ETag: '"b"' } }],
  'another ETag, from a server without HEAD': [{ noHead: 501 }, { headers: { ETag: '"b"' } }],
  'another ETag, from a server that ignores ranges': [{ whole: true }, { headers: { ETag: '"b"' } }],
};
for (const [what, [before, after]] of Object.entries(changed)) {
  test(`a file that comes back with ${what} is downloaded again, and nothing is left of the old one`, async (t) => {
    const server = await changeable(t, before);
    const old = await openSafetensors(rw, server.source);
    Object.assign(server.state, { bytes: two.bytes, ...after });
    await opened(server.source, two);
    assert.equal(server.requests.at(-1), 'GET bytes=0-');
    assert.equal(readdirSync(server.folder).length, 2);
    // What was open before gives no bytes of the new version.
    await assert.rejects(old.tensor('large'), (error) => {
      return error instanceof SafetensorsError && /cannot be read/.test(error.message);
    });
    old.dispose();
  });
}

test('a file that has not changed is not downloaded again by a server that refuses HEAD', async (t) => {
  const server = await changeable(t, { noHead: 405 });
  await opened(server.source);
  const progress = await opened(server.source);
  assert.ok(progress.every(({ total }) => total < 1000)); // the header alone
  assert.deepEqual(server.requests, ['GET bytes=0-', 'HEAD bytes=0-', 'GET bytes=0-']);
});

const offline = {
  'the server cannot be reached': { gone: true },
  'the server answers with 503': { status: 503 },
  'the server asks for fewer requests': { status: 429 },
  'the server refuses HEAD, and answers GET with 503': { noHead: 405, status: 503 },
  'the server has no HEAD, and ends the connection of GET': { noHead: 501, gone: true },
};
for (const [what, state] of Object.entries(offline)) {
  test(`a complete file is opened where ${what}, a partial one is not`, async (t) => {
    for (const headers of [{ ETag: '"a"' }, {}]) {
      const server = await changeable(t, { headers });
      await opened(server.source);
      Object.assign(server.state, state);
      await opened(server.source);
    }
    const server = await changeable(t);
    const stored = await breakOff(server);
    Object.assign(server.state, state);
    await assert.rejects(openSafetensors(rw, server.source), /cannot be fetched/);
    Object.assign(server.state, { gone: false, status: undefined });
    await opened(server.source);
    assert.equal(server.requests.at(-1), `GET bytes=${stored}-`);
  });
}

for (const status of [403, 404]) {
  test(`a file that the server refuses with ${status} is refused, and stays stored`, async (t) => {
    const server = await changeable(t);
    await opened(server.source);
    server.state.status = status;
    await assert.rejects(openSafetensors(rw, server.source), (error) => {
      assert.ok(error instanceof SafetensorsError);
      assert.equal(error.file, server.url.replace(/\?.*/, ''));
      return new RegExp(`HTTP ${status}`).test(error.message);
    });
    server.state.status = undefined;
    await opened(server.source);
    assert.equal(server.requests.at(-1), 'HEAD bytes=0-');
  });
}

test('openings at once of one address download it once', async (t) => {
  const server = await changeable(t);
  await Promise.all([1, 2, 3].map(() => opened(server.source)));
  assert.equal(server.requests.filter((each) => each.startsWith('GET')).length, 1);
});

test('an opening that waits for another goes on when that fails, and may be aborted', async (t) => {
  const server = await changeable(t, { cut: cutAt });
  const controller = new AbortController();
  const first = assert.rejects(openSafetensors(rw, server.source), broken);
  const second = assert.rejects(openSafetensors(rw, server.source, { signal: controller.signal }), {
    name: 'AbortError',
  });
  const third = assert.rejects(openSafetensors(rw, server.source), broken);
  controller.abort();
  await Promise.all([first, second, third]);
  assert.equal(server.requests.length, 2);
});

test('an opening that waits for another ends when it is aborted', async (t) => {
  let answer;
  const asked = new Promise((resolve) => {
    answer = resolve;
  });
  const { url } = await serve(t, async (request, response) => {
    await asked;
    sendRange(request, response, bytes, { ETag: '"a"' });
  });
  const source = cached(`${url}/m`, { folder: noFiles(t) });
  const ends = [];
  const controller = new AbortController();
  const first = opened(source).then(() => ends.push('first'));
  const second = openSafetensors(rw, source, { signal: controller.signal }).catch(({ message }) => ends.push(message));
  const turns = async () => {
    for (let i = 0; i < 50; ++i) await new Promise(setImmediate);
  };
  await turns();
  controller.abort(new Error('enough'));
  await turns();
  ends.push('answer');
  answer();
  await Promise.all([first, second, opened(source)]);
  assert.deepEqual(ends, ['enough', 'answer', 'first']);
});

test('several processes at once keep one whole file', async (t) => {
  const server = await changeable(t);
  const code = `import { load } from 'ropewalk';
import { cached, openSafetensors } from 'ropewalk/models';
const source = cached(${JSON.stringify(server.url)}, { folder: ${JSON.stringify(server.folder)} });
const file = await openSafetensors(await load(), source);
const { buffer } = await file.tensor('large');
console.log(Buffer.from(buffer).toString('base64').slice(-1000));`;
  const outputs = await Promise.all([1, 2, 3].map(() => run(['--input-type=module', '--eval', code])));
  const want = Buffer.from(one.want.large.buffer).toString('base64').slice(-1000);
  for (const { stdout } of outputs) assert.equal(stdout.trim(), want);
  server.state.gone = true;
  await opened(server.source);
});

test('an open file is read on after another process has stored the same bytes again', async (t) => {
  const server = await changeable(t);
  const file = await openSafetensors(rw, server.source);
  const segment = readdirSync(server.folder).find((name) => !name.endsWith('.json'));
  const path = join(server.folder, segment);
  writeFileSync(`${path}.new`, readFileSync(path));
  utimesSync(`${path}.new`, 1, 1);
  renameSync(`${path}.new`, path);
  assertSameBits(await file.tensor('large'), one.want.large);
  file.dispose();
});

test('a file whose bytes in the folder are damaged is completed', async (t) => {
  const server = await changeable(t);
  await opened(server.source);
  const segment = readdirSync(server.folder).find((name) => !name.endsWith('.json'));
  truncateSync(join(server.folder, segment), 1000);
  await opened(server.source);
  assert.equal(server.requests.at(-1), 'GET bytes=0-');
  const record = readdirSync(server.folder).find((name) => name.endsWith('.json'));
  for (const text of ['{"address', '{}', 'null', '[]']) {
    writeFileSync(join(server.folder, record), text);
    assert.deepEqual(await storedFiles({ folder: server.folder }), []);
    await opened(server.source);
    assert.equal(server.requests.at(-1), 'GET bytes=0-');
  }
});

test('storedFiles lists what is stored, and deletes it', async (t) => {
  const server = await changeable(t);
  const { folder, url } = server;
  assert.deepEqual(await storedFiles({ folder }), []);
  assert.ok(!existsSync(folder));
  const start = Date.now();
  await opened(server.source);
  const other = cached(url.replace('/m?', '/other?'), { folder });
  await opened(other);
  const files = await storedFiles({ folder });
  const [file] = files.filter(({ address }) => address === url);
  assert.equal(files.length, 2);
  assert.ok(file.lastUsed >= start && file.lastUsed <= Date.now());
  const { lastUsed, delete: remove, ...rest } = file;
  assert.deepEqual(rest, { address: url, bytes: bytes.length, complete: true, validator: '"a"' });
  const open = await openSafetensors(rw, server.source);
  await remove();
  await remove(); // does nothing
  assert.deepEqual(
    (await storedFiles({ folder })).map(({ address }) => address),
    [other.address],
  );
  await assert.rejects(open.tensor('first'), SafetensorsError);
  open.dispose();
  await opened(server.source);
  for (const each of await storedFiles({ folder })) await each.delete();
  assert.deepEqual(readdirSync(folder), []);
});

test('a file of unknown length is kept, with the length that it had', async (t) => {
  const { url } = await serve(t, (_, response) => {
    response.writeHead(200, { ETag: '"a"' });
    response.end(bytes);
  });
  const folder = noFiles(t);
  const source = cached(`${url}/m`, { folder });
  const progress = await opened(source);
  assert.ok(progress.every(({ loaded, total }) => total >= loaded));
  const [stored] = await storedFiles({ folder });
  assert.deepEqual([stored.bytes, stored.complete], [bytes.length, true]);
  await opened(source);
});

test('a download of unknown length that broke off is resumed, and its length is learnt', async (t) => {
  let isFirst = true;
  const { url, requests } = await serve(t, (request, response) => {
    response.setHeader('ETag', '"a"');
    if (!isFirst) return sendRange(request, response, bytes);
    isFirst = false;
    response.writeHead(200);
    response.write(bytes.subarray(0, cutAt), () => setImmediate(() => response.destroy()));
  });
  const folder = noFiles(t);
  const source = cached(`${url}/m`, { folder });
  await assert.rejects(openSafetensors(rw, source), broken);
  const [{ bytes: stored }] = await storedFiles({ folder });
  const [{ total }] = await opened(source);
  assert.equal(total, bytes.length);
  assert.equal(requests.at(-1), `/m bytes=${stored}-`);
});

test('files that an index names are kept, and a model is loaded from them, with the progress of the download', async (t) => {
  const model = tinyLlama();
  const index = JSON.stringify({
    metadata: {},
    weight_map: Object.fromEntries(Object.keys(model.tensors).map((name) => [name, 'part.safetensors'])),
  });
  const files = { '/index.json': Buffer.from(index), '/part.safetensors': Buffer.from(fileOfModel(model)) };
  const { url, requests } = await serve(t, (request, response) => {
    response.setHeader('ETag', '"a"');
    sendRange(request, response, files[request.url]);
  });
  const folder = noFiles(t);
  const weights = cached(`${url}/index.json`, { folder });
  const names = new Set();
  const onProgress = ({ name }) => names.add(name);
  (await loadModel(rw, { config: model.config, weights, onProgress })).dispose();
  assert.deepEqual([...names].slice(0, 2), [`${url}/index.json`, `${url}/part.safetensors`]);
  assert.deepEqual((await storedFiles({ folder })).map(({ address }) => address).sort(), [
    `${url}/index.json`,
    `${url}/part.safetensors`,
  ]);
  const before = requests.length;
  (await loadModel(rw, { config: model.config, weights })).dispose();
  assert.equal(requests.length, before + 2); // one HEAD each
});

test('the fetch of the opening is used', async (t) => {
  const calls = [];
  const fetch = async (url, { method, headers }) => {
    calls.push([url, method, headers.Range]);
    return new Response(bytes, { headers: { 'Content-Length': bytes.length, ETag: '"a"' } });
  };
  const source = cached('https://example.org/m', { folder: noFiles(t) });
  await opened(source, one, { fetch });
  await opened(source, one, { fetch });
  assert.deepEqual(calls, [
    ['https://example.org/m', 'GET', 'bytes=0-'],
    ['https://example.org/m', 'HEAD', 'bytes=0-'],
  ]);
});

test('a fetch that gives no Response is refused, also where the file is complete', async (t) => {
  const source = cached('https://example.org/m', { folder: noFiles(t) });
  const refused = { name: 'ArgumentTypeError', message: 'openSafetensors: fetch() is null; expected a Response' };
  const nothing = async () => null;
  await assert.rejects(openSafetensors(rw, source, { fetch: nothing }), refused);
  await opened(source, one, { fetch: async () => new Response(bytes) });
  await assert.rejects(openSafetensors(rw, source, { fetch: nothing }), refused);
});
