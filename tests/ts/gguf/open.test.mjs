// What openGguf() refuses, and files in several parts, from a folder and from servers.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { load } from 'ropewalk';
import { GgufError, openGguf } from 'ropewalk/models';
import { assertSameBits, random } from '../support/arrays.mjs';
import { folderWith } from '../support/folder.mjs';
import { writeGguf } from '../support/gguf.mjs';
import { inUse } from '../support/peak.mjs';
import { sendRange, sendWhole, serve } from '../support/server.mjs';

const rw = await load({ simd: 'deterministic' });
const f32 = (values) => ({ dtype: 'F32', shape: [values.length], data: Float32Array.from(values) });

// Changes of a file's bytes.
const at = (bytes, offset, ...values) => {
  const changed = bytes.slice();
  changed.set(values, offset);
  return changed;
};
const find = (bytes, text) => Buffer.from(bytes).indexOf(text);
const plain = writeGguf({ k: ['u32', 1] }, { w: f32([1, 2, 3, 4, 5, 6, 7, 8]) });
const afterName = find(plain, 'w') + 1; // rank, sizes, type, offset
const afterKey = find(plain, 'k') + 1;
const two = writeGguf({}, { a: f32([1]), b: f32([2]) });
const withText = writeGguf({ k: ['str', 'ab'] }, {});
const withArray = writeGguf({ k: [['u32'], [1, 2]] }, {});
const aligned = (type, value) => writeGguf({ 'general.alignment': [type, value] }, {});
const q8 = writeGguf({}, { w: { dtype: 'Q8_0', shape: [1, 32], data: new Uint8Array(34) } });
const huge = [0, 0, 0, 0, 0, 0, 255, 0];

const refused = {
  'a page': [new TextEncoder().encode('<!DOCTYPE html>'), {}, /does not begin with "GGUF"/],
  nothing: [new Uint8Array(0), {}, /is cut: its header needs 4 more bytes where there are 0/],
  'version 1': [at(plain, 4, 1), {}, /has version 1; expected 2 or 3/],
  'version 4': [at(plain, 4, 4), {}, /has version 4; expected 2 or 3/],
  'a big-endian file': [at(plain, 4, 0, 0, 0, 3), {}, /big-endian/],
  'too many tensors': [at(plain, 8, ...huge), {}, /has about \d+ tensors; it has room for \d+/],
  'too many entries': [at(plain, 16, ...huge), {}, /has about \d+ entries of metadata; it has room for \d+/],
  'a header that is cut': [plain.subarray(0, 40), { key: 'k' }, /is cut: its header needs \d+ more bytes/],
  'a text that goes on': [
    at(withText, find(withText, 'ab') - 8, 200),
    { key: 'k' },
    /text of 200 bytes where \d+ are left/,
  ],
  'an array that goes on': [
    at(withArray, withArray.length - 16, 200),
    { key: 'k' },
    /array of 200 values where .* for 2/,
  ],
  'text that is not UTF-8': [at(withText, find(withText, 'ab'), 0xff), { key: 'k' }, /not UTF-8/],
  'an empty key': [writeGguf({ '': ['u32', 1] }, {}), {}, /without a key/],
  'a type of value': [at(plain, afterKey, 13), { key: 'k' }, /value of type 13/],
  'an array of arrays': [at(withArray, find(withArray, 'k') + 5, 9), { key: 'k' }, /array of arrays/],
  'a bool of 2': [at(writeGguf({ k: ['bool', true] }, {}), 33 + 4, 2), { key: 'k' }, /bool of 2/],
  'an alignment that is no uint32': [aligned('u64', 32), { key: 'general.alignment' }, /is no uint32/],
  'an alignment of 24': [aligned('u32', 24), { key: 'general.alignment' }, /is 24; expected a power of 2/],
  'five dimensions': [at(plain, afterName, 5), { tensor: 'w' }, /has 5 dimensions; expected at most 4/],
  'a huge dimension': [
    at(plain, afterName + 4, ...huge),
    { tensor: 'w' },
    /dimension of about \d+, more than any file/,
  ],
  'an unknown type': [at(plain, afterName + 12, 99), { tensor: 'w' }, /has type 99, which the format does not have/],
  'a row of part of a block': [at(q8, find(q8, 'w') + 5, 31), { tensor: 'w' }, /rows of 31 weights, .* blocks of 32/],
  'an offset that is not aligned': [at(plain, afterName + 16, 1), { tensor: 'w' }, /offset 1, which is no multiple/],
  'tensors over each other': [
    at(two, find(two, 'b') + 17, 0),
    { tensor: 'b' },
    /begins at byte \d+, within another tensor/,
  ],
  'a hole': [at(two, find(two, 'b') + 17, 64), { tensor: 'b' }, /is cut|leaves a hole after/],
  'data that is cut': [
    plain.subarray(0, plain.length - 1),
    { tensor: 'w' },
    /is cut: it ends at byte \d+ of a file of \d+/,
  ],
  'a name twice': [at(two, find(two, 'b'), 0x61), { tensor: 'a' }, /is the second of its name/],
  'more weights than any file': [
    writeGguf({}, { w: { dtype: 'F64', shape: [2 ** 40, 2 ** 40], data: new Float64Array(1) } }),
    { tensor: 'w' },
    /more weights than any file/,
  ],
};

for (const [what, [bytes, { tensor, key }, message]] of Object.entries(refused)) {
  test(`${what} is refused, and nothing is left`, async () => {
    for (const source of [bytes, new Blob([bytes])]) {
      const before = inUse(rw);
      await assert.rejects(openGguf(rw, source), (error) => {
        assert.ok(error instanceof GgufError, error.stack);
        assert.equal(error.name, 'GgufError');
        assert.match(error.message, message);
        assert.match(error.message, /\(byte \d+ of the file\)$/);
        assert.deepEqual([error.tensor, error.key], [tensor, key], error.message);
        assert.equal(error.file, source === bytes ? 'buffer' : 'blob');
        return true;
      });
      assert.deepEqual(inUse(rw), before);
    }
    assertSameBits(await (await openGguf(rw, plain)).tensor('w'), [1, 2, 3, 4, 5, 6, 7, 8]);
  });
}

const split = (number, count, rest = {}) => ({
  'split.no': ['u16', number - 1],
  'split.count': ['u16', count],
  'split.tensors.count': ['i32', 3],
  ...rest,
});
const large = random(300_000, 3);
const parts = {
  'm-00001-of-00003.gguf': writeGguf(split(1, 3, { 'general.architecture': ['str', 'llama'] }), { a: f32([1, 2]) }),
  'm-00002-of-00003.gguf': writeGguf(split(2, 3), { large: f32(large) }),
  'm-00003-of-00003.gguf': writeGguf(split(3, 3), { c: f32([3]) }),
};
const names = Object.keys(parts);
const [first] = Object.values(parts);

async function checkParts(file) {
  assert.deepEqual(file.names, ['a', 'large', 'c']);
  assert.equal(file.metadata.get('general.architecture'), 'llama');
  assertSameBits(await file.tensor('large'), large);
  assertSameBits(await file.tensor('a'), [1, 2]);
  assertSameBits(await file.tensor('c'), [3]);
  file.dispose();
}

async function serverOf(t, send, content = parts) {
  const served = await serve(t, (request, response) => {
    const bytes = content[request.url.split('/').at(-1).split('?')[0]];
    if (bytes === undefined) return response.writeHead(404).end();
    send(request, response, bytes);
  });
  return { ...served, url: `${served.url}/repo/${names[0]}?download=true` };
}

test('the parts of a split file are found beside the first, in a folder and on servers', async (t) => {
  const before = inUse(rw);
  await checkParts(await openGguf(rw, join(folderWith(t, parts), names[0])));
  for (const send of [sendRange, (_, response, bytes) => sendWhole(response, bytes)]) {
    const { url, requests } = await serverOf(t, send);
    await checkParts(await openGguf(rw, url));
    const asked = new Set(requests.map((each) => each.split(' ')[0]));
    assert.deepEqual(
      [...asked].sort(),
      names.map((name) => `/repo/${name}?download=true`),
    );
  }
  assert.deepEqual(inUse(rw), before);
});

test('names with spaces and signs, by a path, a file: URL and an address', async (t) => {
  const renamed = Object.fromEntries(
    Object.entries(parts).map(([name, bytes]) => [name.replace('m-', 'my %41 #m-'), bytes]),
  );
  const [name] = Object.keys(renamed);
  const path = join(folderWith(t, renamed), name);
  await checkParts(await openGguf(rw, path));
  await checkParts(await openGguf(rw, pathToFileURL(path)));
  const { url } = await serve(t, (request, response) => {
    sendRange(request, response, renamed[decodeURIComponent(request.url.slice(1))]);
  });
  await checkParts(await openGguf(rw, `${url}/${encodeURIComponent(name)}`));
  // A percent sign by itself is no escape, and no reason to fail otherwise than by a file that is not there.
  const bare = await serve(t, (request, response) => {
    if (request.url.includes('00001')) sendRange(request, response, first);
    else response.writeHead(404).end();
  });
  await assert.rejects(openGguf(rw, `${bare.url}/5%-00001-of-00003.gguf`), { name: 'GgufError', message: /HTTP 404/ });
});

test('a file as long as the first range, of a server that hides Content-Range', async (t) => {
  const header = writeGguf({}, { w: f32(Array(8).fill(0)) }).length - 32;
  const values = random((2 ** 16 - header) / 4, 4);
  const bytes = writeGguf({}, { w: f32(values) });
  assert.equal(bytes.length, 2 ** 16);
  const hidden = { 'Content-Range': undefined };
  const { url, requests } = await serve(t, (request, response) => {
    if (request.headers.range === 'bytes=0-65535') sendRange(request, response, bytes, hidden);
    else response.writeHead(416).end();
  });
  const file = await openGguf(rw, `${url}/m.gguf`);
  assertSameBits(await file.tensor('w'), values);
  assert.deepEqual(requests, ['/m.gguf bytes=0-65535', '/m.gguf bytes=65536-262143']);
  const cut = await serve(t, (request, response) => {
    if (request.headers.range === 'bytes=0-65535') sendRange(request, response, longer.subarray(0, 2 ** 16), hidden);
    else response.writeHead(416).end();
  });
  const longer = writeGguf({}, { w: f32([...values, 1, 2]) });
  await assert.rejects(openGguf(rw, `${cut.url}/m.gguf`), { name: 'GgufError', message: /is cut|ends/ });
});

test('a server that does not say how long a file is, and one that cuts it', async (t) => {
  const bytes = writeGguf({ k: [['str'], Array.from({ length: 50_000 }, (_, i) => `word ${i}`)] }, { w: f32([1, 2]) });
  const whole = await serve(t, (_, response) => {
    response.writeHead(200);
    response.end(bytes);
  });
  const file = await openGguf(rw, `${whole.url}/m.gguf`);
  assertSameBits(await file.tensor('w'), [1, 2]);
  const cut = await serve(t, (_, response) => {
    response.writeHead(200);
    response.end(bytes.subarray(0, 500_000));
  });
  await assert.rejects(openGguf(rw, `${cut.url}/m.gguf`), { name: 'GgufError', message: /is cut/ });
  const short = await serve(t, (_, response) => {
    response.writeHead(200);
    response.end(bytes.subarray(0, bytes.length - 32));
  });
  const opened = await openGguf(rw, `${short.url}/m.gguf`).catch((error) => error);
  const error = opened instanceof Error ? opened : await opened.tensor('w').catch((thrown) => thrown);
  assert.ok(error instanceof GgufError, String(error));
  await assert.rejects(openGguf(rw, `${whole.url.replace(/\d+$/, '1')}/m.gguf`), {
    name: 'GgufError',
    message: /cannot be fetched/,
  });
});

test('part() gives the parts of a file that is beside nothing', async () => {
  const asked = [];
  const part = (number, count) => {
    asked.push([number, count]);
    const bytes = parts[names[number - 1]];
    return number === 2 ? bytes : Promise.resolve(new Blob([bytes]));
  };
  await checkParts(await openGguf(rw, first, { part }));
  assert.deepEqual(asked, [
    [2, 3],
    [3, 3],
  ]);
  for (const source of [first, new Blob([first]), new File([first], 'other.gguf')]) {
    await assert.rejects(openGguf(rw, source), { name: 'ArgumentRangeError', argument: 'part', message: /first of 3/ });
  }
  const mine = new Error('mine');
  const fail = () => {
    throw mine;
  };
  await assert.rejects(openGguf(rw, first, { part: fail }), (error) => error === mine);
  await assert.rejects(openGguf(rw, first, { part: () => 7 }), TypeError);
});

const [, second, third] = Object.values(parts);
const wrongParts = {
  'a part that is missing': [{ [names[1]]: undefined }, { file: names[1] }, /HTTP 404|ENOENT/],
  'a part in the place of another': [{ [names[1]]: third }, { file: names[1], key: 'split.no' }, /is 2; expected 1/],
  'a part of another count': [
    { [names[2]]: writeGguf(split(3, 4), { c: f32([3]) }) },
    { file: names[2], key: 'split.no' },
    /part 3 of 3/,
  ],
  'a tensor in two parts': [
    { [names[2]]: writeGguf(split(3, 3), { a: f32([3]) }) },
    { file: names[2], tensor: 'a' },
    /is in .*m-00001-of-00003\.gguf as well/,
  ],
  'parts with fewer tensors than the first tells': [
    { [names[2]]: writeGguf(split(3, 3), {}) },
    { file: names[0], key: 'split.tensors.count' },
    /is 3; the 3 parts hold 2/,
  ],
  'a count that is a text': [
    { [names[0]]: writeGguf({ 'split.count': ['str', '3'] }, {}) },
    { file: names[0], key: 'split.count' },
    /is "3"; expected a count/,
  ],
  'more parts than the format counts': [
    { [names[0]]: writeGguf({ 'split.count': ['u32', 2 ** 32 - 1] }, {}) },
    { file: names[0], key: 'split.count' },
    /is 4294967295; expected at most 65535/,
  ],
  'a second part in place of the first': [
    { [names[0]]: second },
    { file: names[0], key: 'split.no' },
    /is 1; expected 0/,
  ],
};

for (const [what, [change, { file, tensor, key }, message]] of Object.entries(wrongParts)) {
  test(`${what} is refused`, async (t) => {
    const content = { ...parts, ...change };
    const present = Object.fromEntries(Object.entries(content).filter(([, bytes]) => bytes !== undefined));
    const before = inUse(rw);
    const { url } = await serverOf(t, sendRange, content);
    for (const source of [join(folderWith(t, present), names[0]), url]) {
      await assert.rejects(openGguf(rw, source), (error) => {
        assert.ok(error instanceof GgufError, error.stack);
        assert.match(error.message, message);
        assert.ok(error.file.endsWith(file), error.file);
        assert.deepEqual([error.tensor, error.key], [tensor, key]);
        return true;
      });
    }
    assert.deepEqual(inUse(rw), before);
  });
}
