// Files kept in a folder: faulty servers and folders, wrong arguments.
import assert from 'node:assert/strict';
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { cached, openGguf, openSafetensors, SafetensorsError, StorageError, storedFiles } from 'ropewalk/models';
import { folderWith } from '../support/folder.mjs';
import { breakOff, bytes, changeable, noFiles, opened, rw } from '../support/kept.mjs';
import { root } from '../support/node.mjs';
import { sendRange, serve } from '../support/server.mjs';

const faulty = {
  'more bytes than it says': [
    (request, response) =>
      sendRange(request, response, bytes, { 'Content-Range': 'bytes 0-99/100', 'Content-Length': undefined }),
    /more bytes than the file has/,
  ],
  'fewer bytes than it says': [
    (request, response) =>
      sendRange(request, response, bytes, { 'Content-Range': 'bytes 0-9999999/10000000', 'Content-Length': undefined }),
    /ended after \d+ of 10000000 bytes/,
  ],
  'another range': [
    (request, response) => sendRange(request, response, bytes, { 'Content-Range': `bytes 8-99/${bytes.length}` }),
    /Content-Range "bytes 8-99\/\d+" when asked for bytes 0 to the end/,
  ],
  'more bytes than its range': [
    (request, response) => sendRange(request, response, bytes, { 'Content-Range': `bytes 0-99/${bytes.length}` }),
    /more bytes than it was asked for/,
  ],
  'a compressed range': [
    (request, response) => sendRange(request, response, bytes, { 'Content-Encoding': 'gzip' }),
    /sent a compressed range/,
  ],
  'a range in parts': [
    (request, response) => sendRange(request, response, bytes, { 'Content-Type': 'multipart/byteranges; boundary=x' }),
    /more bytes than it was asked for/,
  ],
  'no file': [(_, response) => response.writeHead(404).end(), /HTTP 404/],
};
for (const [what, [answer, message]] of Object.entries(faulty)) {
  test(`a server that sends ${what} is refused`, async (t) => {
    const { url } = await serve(t, answer);
    const opening = openSafetensors(rw, cached(`${url}/m?key=secret`, { folder: noFiles(t) }));
    await assert.rejects(opening, (error) => {
      assert.ok(error instanceof SafetensorsError, error.stack);
      assert.equal(error.file, `${url}/m`);
      assert.match(error.message, message);
      return true;
    });
  });
}

test('a download goes on with no range whose place is unknown', async (t) => {
  for (const length of [{}, { 'Content-Length': bytes.length }]) {
    const server = await changeable(t);
    const stored = await breakOff(server);
    server.state.send = (_, response) => {
      response.writeHead(206, length);
      response.write(bytes.subarray(0, 1000));
      response.end(bytes.subarray(1000));
    };
    await opened(server.source);
    assert.deepEqual(server.requests, ['GET bytes=0-', `GET bytes=${stored}-`, 'GET bytes=0-']);
  }
});

test('a download whose size was unknown goes on with no range whose place is unknown', async (t) => {
  const server = await changeable(t);
  server.state.send = (_, response) => {
    response.writeHead(206);
    response.write(bytes.subarray(0, 300_000), () => setImmediate(() => response.destroy()));
  };
  await assert.rejects(openSafetensors(rw, server.source), /connection was cut/);
  server.state.send = (_, response) => {
    response.writeHead(206, { 'Content-Length': bytes.length });
    response.end(bytes);
  };
  await opened(server.source);
  assert.equal(server.requests.at(-1), 'GET bytes=0-');
});

test('a range whose Content-Range is hidden goes on with a download where its length fits', async (t) => {
  const server = await changeable(t);
  const stored = await breakOff(server);
  server.state.send = (request, response, body) => sendRange(request, response, body, { 'Content-Range': undefined });
  await opened(server.source);
  assert.deepEqual(server.requests, ['GET bytes=0-', `GET bytes=${stored}-`]);
});

test('of an answer with more bytes than the file has nothing is kept', async (t) => {
  const server = await changeable(t);
  const stored = await breakOff(server);
  server.state.send = (_, response) => {
    response.writeHead(206, { 'Content-Range': `bytes ${stored}-${bytes.length - 1}/${bytes.length}` });
    response.write(bytes.subarray(0, 1000));
    response.end(bytes.subarray(1000));
  };
  await assert.rejects(openSafetensors(rw, server.source), /more bytes than the file has/);
  assert.deepEqual(readdirSync(server.folder), []);
  server.state.send = undefined;
  await opened(server.source);
  assert.equal(server.requests.at(-1), 'GET bytes=0-');
});

test('of an empty file the same is told as without storage', async (t) => {
  const { url } = await serve(t, (_, response) =>
    response.writeHead(416, { 'Content-Range': 'bytes */0' }).end('none'),
  );
  const [plain, kept] = await Promise.all(
    [`${url}/m`, cached(`${url}/m`, { folder: noFiles(t) })].map((source) =>
      openSafetensors(rw, source).catch(({ message }) => message),
    ),
  );
  assert.match(plain, /has 0 bytes/);
  assert.equal(kept, plain);
});

test('a folder that cannot hold the file is told by a StorageError', async (t) => {
  const { url, requests } = await serve(t, (request, response) => sendRange(request, response, bytes));
  const folder = join(folderWith(t, { file: '' }), 'file');
  await assert.rejects(openSafetensors(rw, cached(`${url}/m?key=secret`, { folder })), (error) => {
    assert.ok(error instanceof StorageError, error.stack);
    assert.equal(error.file, `${url}/m`);
    assert.match(error.message, /cannot be kept: .*(ENOTDIR|EEXIST)/);
    return true;
  });
  assert.equal(requests.length, 1);
  await assert.rejects(storedFiles({ folder }), (error) => {
    return error instanceof StorageError && error.file === folder && /ENOTDIR/.test(error.message);
  });
});

test('a file that is larger than the disk is refused before it is downloaded', async (t) => {
  const size = 999_999_999_999_999;
  const { url } = await serve(t, (request, response) => {
    sendRange(request, response, bytes, {
      'Content-Range': `bytes 0-${size - 1}/${size}`,
      'Content-Length': undefined,
    });
  });
  const folder = folderWith(t, {});
  await assert.rejects(openSafetensors(rw, cached(`${url}/m`, { folder })), (error) => {
    assert.ok(error instanceof StorageError, error.stack);
    assert.deepEqual([error.file, error.needed], [`${url}/m`, size]);
    assert.ok(error.available > 0);
    assert.match(error.message, new RegExp(`needs ${size} bytes more; storage has ${error.available} left`));
    return true;
  });
  assert.deepEqual(readdirSync(folder), []);
});

test('a complete file is opened in a folder that cannot be written', async (t) => {
  const server = await changeable(t);
  await opened(server.source);
  chmodSync(server.folder, 0o555);
  await opened(server.source); // root may write nevertheless
  chmodSync(server.folder, 0o755);
});

test('wrong arguments are refused at once', () => {
  const folder = 'files';
  for (const [call, name, words] of [
    [() => cached(), 'ArgumentTypeError', /cached: address is undefined; expected an address/],
    [() => cached(new Blob([]), { folder }), 'ArgumentTypeError', /address is a Blob/],
    [
      () => cached('model.safetensors', { folder }),
      'ArgumentRangeError',
      /address is "model.safetensors"; expected an http/,
    ],
    [() => cached(pathToFileURL(root), { folder }), 'ArgumentRangeError', /address is "file:/],
    [() => cached('data:,a', { folder }), 'ArgumentRangeError', /expected an http or https address/],
    [() => cached('https://example.org/m'), 'ArgumentTypeError', /folder is undefined; expected the path of a folder/],
    [() => cached('https://example.org/m', { folder: '' }), 'ArgumentTypeError', /folder is ""/],
    [() => cached('https://example.org/m', { folder: 5 }), 'ArgumentTypeError', /folder is 5/],
    [() => cached('https://example.org/m', { folder, size: 5 }), 'ArgumentRangeError', /size/],
    [() => cached('https://example.org/m', 'files'), 'ArgumentTypeError', /options/],
  ]) {
    assert.throws(call, (error) => error.name === name && words.test(error.message), String(call));
  }
});

test('storedFiles passes over what other programs keep in the folder', async (t) => {
  const files = { 'package.json': '{}', 'speech.json': '{ "text": "", "segments": [] }', 'broken.json': '{' };
  assert.deepEqual(await storedFiles({ folder: folderWith(t, files) }), []);
});

test('storedFiles refuses wrong options', async () => {
  await assert.rejects(storedFiles(), { name: 'ArgumentTypeError', argument: 'folder' });
  await assert.rejects(storedFiles({ folder: 'x', file: 1 }), RangeError);
});

test('openGguf takes it as well', async (t) => {
  const { url } = await serve(t, (request, response) => sendRange(request, response, bytes));
  await assert.rejects(openGguf(rw, cached(`${url}/m`, { folder: noFiles(t) })), { name: 'GgufError' });
});
