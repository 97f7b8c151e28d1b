// Files kept in a folder: faulty servers and folders, wrong arguments.
import assert from 'node:assert/strict';
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { cached, openGguf, openSafetensors, SafetensorsError, StorageError, storedFiles } from 'ropewalk/models';
import { folderWith } from '../support/folder.mjs';
import { bytes, changeable, noFiles, opened, rw } from '../support/kept.mjs';
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
