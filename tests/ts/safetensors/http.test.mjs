// Safetensors files over HTTP: servers with and without ranges, and faulty servers.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ArgumentTypeError, load, StateError } from 'ropewalk';
import { openSafetensors, SafetensorsError } from 'ropewalk/models';
import { assertSameBits, random } from '../support/arrays.mjs';
import { inUse } from '../support/peak.mjs';
import { writeSafetensors } from '../support/safetensors.mjs';
import { sendRange, sendWhole, serve } from '../support/server.mjs';

const rw = await load({ simd: 'deterministic' });
const [first, large, last] = [random(10, 1), random(500_000, 2), random(7, 3)];
const f32 = (data) => ({ dtype: 'F32', shape: [data.length], data });
const bytes = writeSafetensors({ first: f32(first), large: f32(large), last: f32(last) });
const small = writeSafetensors({ first: f32(first) });
const want = { first, large, last };

async function refusedAs(promise, { file, tensor }, message) {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof SafetensorsError, error.stack);
    assert.deepEqual([error.file, error.tensor], [file, tensor], error.message);
    assert.match(error.message, message);
    return true;
  });
}

async function checkAll(file, names = file.names) {
  for (const name of names) {
    assertSameBits(await file.tensor(name), want[name]);
    const target = rw.tensor([want[name].length]);
    await file.readInto(name, target);
    assertSameBits(target.data(), want[name]);
    target.dispose();
  }
}

test('a server of ranges is asked for the beginning, and then for what is needed', async (t) => {
  const { url, requests } = await serve(t, (request, response) => sendRange(request, response, bytes));
  const file = await openSafetensors(rw, `${url}/dir/m.safetensors?token=secret`);
  assert.equal(file.info('large').file, `${url}/dir/m.safetensors`);
  assertSameBits(await file.tensor('first'), first);
  assert.deepEqual(requests, ['/dir/m.safetensors?token=secret bytes=0-65535']);
  const at = bytes.length - last.byteLength;
  assertSameBits(await file.tensor('last'), last);
  assert.equal(requests.at(-1), `/dir/m.safetensors?token=secret bytes=${at}-${bytes.length - 1}`);
  await checkAll(file);
  const target = rw.tensor([2]);
  await file.readInto('large', target, { start: 400_000, end: 400_008 });
  assertSameBits(target.data(), large.subarray(100_000, 100_002));
  target.dispose();
  assert.equal(requests.length, 7); // the first, last three times, large twice and a part of it
  await Promise.all(['last', 'large', 'first'].map((name) => checkAll(file, [name])));
});

const kinds = {
  'a URL object, of a server of ranges': (request, response) => sendRange(request, response, bytes),
  'a server that knows no ranges': (_, response) => sendWhole(response, bytes),
  'a server that does not say how long the file is': (_, response) => {
    response.writeHead(200);
    response.end(bytes);
  },
  'a server that compresses': (_, response) => {
    const packed = gzipSync(bytes);
    response.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': packed.length });
    response.end(packed);
  },
  'a server whose Content-Range another origin may not see': (request, response) =>
    sendRange(request, response, bytes, { 'Content-Range': undefined }),
  'a server that does not say the total': (request, response) => {
    const [, from, to] = /(\d+)-(\d+)/.exec(request.headers.range);
    const range = `bytes ${from}-${Math.min(to, bytes.length - 1)}/*`;
    sendRange(request, response, bytes, { 'Content-Range': range });
  },
};
for (const [what, answer] of Object.entries(kinds)) {
  test(`${what} is read, in any order and all at once`, async (t) => {
    const { url } = await serve(t, answer);
    const before = inUse(rw);
    const file = await openSafetensors(rw, new URL(`${url}/m`));
    assert.deepEqual(file.names, ['first', 'large', 'last']);
    await checkAll(file);
    await checkAll(file, ['last', 'first', 'large']);
    await Promise.all([...file.names, ...file.names].map((name) => checkAll(file, [name])));
    file.dispose();
    const { usedBytes, liveObjects } = rw.memory();
    assert.deepEqual([usedBytes, liveObjects], [before.usedBytes, before.liveObjects]);
  });
}

test('a file without ranges is sent once for reads in its order, and from the start for one behind', async (t) => {
  const { url, requests } = await serve(t, (_, response) => sendWhole(response, bytes));
  const file = await openSafetensors(rw, `${url}/m`);
  for (const name of file.names) assertSameBits(await file.tensor(name), want[name]);
  assert.equal(requests.length, 1);
  assertSameBits(await file.tensor('first'), first);
  assert.deepEqual(requests, ['/m bytes=0-65535', '/m whole']);
  file.dispose();
});

test('a file without ranges holds one connection, whatever the order of reads, and none once it is disposed of', async (t) => {
  const open = new Set();
  const { url } = await serve(t, (_, response) => {
    open.add(response);
    response.on('close', () => open.delete(response));
    response.writeHead(200, { 'Content-Length': bytes.length });
    response.write(bytes.subarray(0, 100_000)); // the rest is still on its way
  });
  const closed = async (count) => {
    const end = Date.now() + 60_000;
    while (open.size > count && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(open.size <= count, `${open.size} connections`);
  };
  const file = await openSafetensors(rw, `${url}/m`);
  for (let i = 0; i < 8; ++i) {
    assertSameBits(await file.tensor('first'), first);
    await closed(1);
  }
  file.dispose();
  await closed(0);
});

test('a small file is fetched once', async (t) => {
  const { url, requests } = await serve(t, (request, response) => sendRange(request, response, small));
  await checkAll(await openSafetensors(rw, `${url}/m`));
  assert.equal(requests.length, 1);
});

test('a file behind a server that refuses ranges without a word is read whole', async (t) => {
  const { url, requests } = await serve(t, (request, response) =>
    request.headers.range === undefined ? sendWhole(response, small) : response.writeHead(416).end(),
  );
  await checkAll(await openSafetensors(rw, `${url}/m`), ['first']);
  assert.deepEqual(requests.slice(0, 2), ['/m bytes=0-65535', '/m whole']);
});

test('a text that looks like an address and is none is refused', async () => {
  for (const [address, file = address] of [
    ['http://['],
    ['https://user:password@?key=secret', 'https://'],
    ['file://%/m'],
  ]) {
    await refusedAs(openSafetensors(rw, address), { file }, /is no address/);
  }
});

test('a port that fetch() refuses is told', async () => {
  await refusedAs(
    openSafetensors(rw, 'http://127.0.0.1:1/m'),
    { file: 'http://127.0.0.1:1/m' },
    /failed \(bad port\)$/,
  );
});

test('the given fetch is used, with the signal', async () => {
  const calls = [];
  const fetch = async (url, init) => {
    calls.push([url, init.headers?.Range, init.signal instanceof AbortSignal]);
    return new Response(small, { headers: { 'Content-Length': small.length } });
  };
  await checkAll(await openSafetensors(rw, 'https://example.org/m', { fetch, signal: new AbortController().signal }));
  assert.deepEqual(calls[0], ['https://example.org/m', 'bytes=0-65535', true]);
  const broken = async () => {
    throw new TypeError('fetch failed', { cause: { code: 'ENOTFOUND' } });
  };
  const place = { file: 'https://example.org/m', tensor: undefined };
  await refusedAs(
    openSafetensors(rw, 'https://example.org/m?k=secret', { fetch: broken }),
    place,
    /fetch failed \(ENOTFOUND\)$/,
  );
});

test('what the given fetch gives and is no Response is refused', async () => {
  const values = [undefined, null, {}, small, 'text', { status: 200, headers: new Headers(), body: null }];
  for (const address of ['https://example.org/m', 'blob:https://example.org/m', 'data:,']) {
    for (const value of values) {
      for (const fetch of [async () => value, () => value]) {
        await assert.rejects(openSafetensors(rw, address, { fetch }), (error) => {
          assert.ok(error instanceof ArgumentTypeError, error.stack);
          assert.match(error.message, /^openSafetensors: fetch\(\) is .+; expected a Response$/);
          assert.deepEqual([error.argument, error.value], ['fetch()', value]);
          return true;
        });
      }
    }
  }
});

test('a fetch that gives nothing later, or the same Response again, ends the read that asked for it', async () => {
  const headers = { 'Content-Range': `bytes 0-65535/${bytes.length}` };
  const start = new Response(bytes.subarray(0, 65536), { status: 206, headers });
  const answers = [start, undefined, new Response('', { status: 206 }), start];
  const file = await openSafetensors(rw, 'https://example.org/m', { fetch: async () => answers.shift() });
  await assert.rejects(file.tensor('last'), {
    name: 'ArgumentTypeError',
    message: 'openSafetensors: fetch() is undefined; expected a Response',
  });
  const place = { file: 'https://example.org/m', tensor: 'last' };
  await refusedAs(file.tensor('last'), place, /ended/);
  await refusedAs(file.tensor('last'), place, /Content-Range/);
  const whole = new Response(bytes);
  const streamed = await openSafetensors(rw, 'https://example.org/m', { fetch: async () => whole });
  assertSameBits(await streamed.tensor('first'), first);
  await refusedAs(streamed.tensor('first'), { ...place, tensor: 'first' }, /the connection was cut/);
});

test('a body of anything but bytes is refused', async () => {
  const pieces = [String.fromCharCode(...small), [...small], small.buffer, new DataView(small.buffer), 5, null, {}];
  for (const piece of pieces) {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(piece);
        controller.close();
      },
    });
    const fetch = async () => new Response(body);
    await refusedAs(
      openSafetensors(rw, 'https://example.org/m', { fetch }),
      { file: 'https://example.org/m' },
      /: its body is no stream of bytes/,
    );
  }
});

const status = (code, headers) => (_, response) => {
  response.writeHead(code, headers);
  response.end('<html>');
};
test('what fails is named by its address, which shows no user, password or query', async () => {
  const path = 'nowhere//user@v2/m';
  for (const [address, file, fetch] of [
    ['http://user:secret@127.0.0.1:9/m?key=secret', 'http://127.0.0.1:9/m'],
    ['http:/user:secret@127.0.0.1:9/m', 'http:/127.0.0.1:9/m'],
    ['http://127.0.0.1:9?mail=a@secret', 'http://127.0.0.1:9'],
    ['http://127.0.0.1:9/a@b#secret', 'http://127.0.0.1:9/a@b'],
    [path, path],
    ['http://user:secret@x/m?key=secret', 'http://x/m', (url) => Promise.reject(new Error(`no way to ${url}, none`))],
    ['http://user:secret@x/m', 'http://x/m', async () => new Response('no', { status: 404 })],
  ]) {
    const failure = await openSafetensors(rw, address, fetch && { fetch }).catch((error) => error);
    assert.equal(failure.file, file);
    assert.ok(failure.message.startsWith(`${file}: `) && !/secret/.test(failure.message), failure.message);
  }
});

const atOpening = {
  'a file that is not there': [status(404), /cannot be fetched: HTTP 404 Not Found/],
  'a server that fails': [status(500), /HTTP 500/],
  'an answer without content': [status(204), /HTTP 204/],
  'a range that is refused': [status(416), /HTTP 416/],
  'an empty file of a server that hides Content-Range': [
    (request, response) => (request.headers.range ? status(416)(request, response) : sendWhole(response, '')),
    /ended after 0 of 8 bytes|has 0 bytes/,
  ],
  'an empty file': [status(416, { 'Content-Range': 'bytes */0' }), /has 0 bytes/],
  'a page of HTML': [status(200), /not a safetensors file|ended/],
  'a range that begins elsewhere': [
    (request, response) => sendRange(request, response, bytes, { 'Content-Range': `bytes 8-65543/${bytes.length}` }),
    /Content-Range "bytes 8-65543\/\d+" when asked for bytes 0 to 65535/,
  ],
  'a range that is none': [
    (request, response) => sendRange(request, response, bytes, { 'Content-Range': 'bytes 0-x/y' }),
    /Content-Range "bytes 0-x\/y", which is none/,
  ],
  'a range beyond the file': [
    (request, response) => sendRange(request, response, bytes, { 'Content-Range': 'bytes 0-65535/100' }),
    /which is none/,
  ],
  'a range shorter than it says': [
    (request, response) => sendRange(request, response, small, { 'Content-Range': 'bytes 0-999/2000' }),
    /ended after \d+ of 1000 bytes/,
  ],
  'more than the range': [
    (_, response) => {
      response.writeHead(206, { 'Content-Range': `bytes 0-65535/${bytes.length}` });
      response.end(bytes);
    },
    /more bytes than it was asked for/,
  ],
  'a connection that is cut within the header': [
    (_, response) => {
      response.writeHead(200, { 'Content-Length': bytes.length });
      response.write(bytes.subarray(0, 30), () => response.destroy());
    },
    /cut|ended/,
  ],
  'a connection that is cut at once': [(_, response) => response.destroy(), /cannot be fetched/],
  'a compressed range': [
    (request, response) => sendRange(request, response, bytes, { 'Content-Encoding': 'gzip' }),
    /sent a compressed range$/,
  ],
  'a range in parts': [
    (request, response) => sendRange(request, response, bytes, { 'Content-Type': 'multipart/byteranges; boundary=x' }),
    /more bytes than it was asked for/,
  ],
  'a redirect to itself': [
    (request, response) => response.writeHead(302, { Location: request.url }).end(),
    /cannot be fetched: fetch failed \(redirect count exceeded\)$/,
  ],
  'a redirect to a path': [
    (_, response) => response.writeHead(302, { Location: 'file:///m' }).end(),
    /cannot be fetched: fetch failed \(.*scheme/,
  ],
  'a file shorter than its header says': [
    (_, response) => sendWhole(response, bytes.subarray(0, -1)),
    /is cut/,
    'last',
  ],
  'a file longer than its header says': [
    (_, response) => sendWhole(response, Buffer.concat([bytes, Buffer.alloc(1)])),
    /1 of which no tensor covers/,
  ],
};
for (const [what, [answer, message, tensor]] of Object.entries(atOpening)) {
  test(`${what} is refused, with its address`, async (t) => {
    const { url } = await serve(t, answer);
    const before = inUse(rw);
    await refusedAs(openSafetensors(rw, `${url}/m?token=secret`), { file: `${url}/m`, tensor }, message);
    assert.deepEqual(inUse(rw), before);
  });
}

// After the opening, which goes well.
const later = (answer) => (request, response) =>
  request.headers.range?.startsWith('bytes=0-') ? sendRange(request, response, bytes) : answer(request, response);
const [monday, tuesday] = ['Mon, 02 Mar 2026 10:00:00 GMT', 'Tue, 03 Mar 2026 10:00:00 GMT'];
const atReading = {
  'a range that is ignored': [later((_, response) => sendWhole(response, bytes)), /sent the whole file/],
  'a file that has gone': [later(status(404)), /HTTP 404/],
  'a range of another place': [
    later((request, response) => sendRange(request, response, bytes, { 'Content-Range': `bytes 1-2/${bytes.length}` })),
    /Content-Range "bytes 1-2/,
  ],
  'a file of another size': [
    later((request, response) => {
      const range = /\d+-\d+/.exec(request.headers.range)[0];
      sendRange(request, response, bytes, { 'Content-Range': `bytes ${range}/${bytes.length + 1}` });
    }),
    /Content-Range/,
  ],
  'a connection that is cut': [
    later((_, response) => {
      response.writeHead(206);
      response.write(bytes.subarray(0, 1000), () => response.destroy());
    }),
    /the connection was cut.* \(after \d+ of 2000000 bytes\)/,
  ],
  'a range that ends early': [
    later((_, response) => {
      response.writeHead(206);
      response.end(bytes.subarray(0, 1000));
    }),
    /ended \(after \d+ of 2000000 bytes\)/,
  ],
  'a range that goes on': [
    later((_, response) => {
      response.writeHead(206);
      response.end(Buffer.concat([bytes, bytes]));
    }),
    /more bytes than it was asked for/,
  ],
  'a range that is longer than it says': [
    later((request, response) => {
      const range = /\d+-\d+/.exec(request.headers.range)[0];
      response.writeHead(206, { 'Content-Range': `bytes ${range}/${bytes.length}`, 'Content-Length': bytes.length });
      response.end(bytes);
    }),
    /more bytes than it was asked for \(after 65\d{3} of 2000000 bytes\)/,
  ],
  'a range that is compressed': [
    later((request, response) => sendRange(request, response, bytes, { 'Content-Encoding': 'br' })),
    /sent a compressed range/,
  ],
  'a file that was changed': [
    (request, response) =>
      sendRange(request, response, bytes, { ETag: request.headers.range.includes('=0-') ? '"a"' : '"b"' }),
    /has changed.*ETag/,
  ],
  'a file without ETag that was changed': [
    (request, response) =>
      sendRange(request, response, bytes, {
        'Last-Modified': request.headers.range.includes('=0-') ? monday : tuesday,
      }),
    /has changed.*Last-Modified/,
  ],
  'a file that was changed and has an ETag no more': [
    (request, response) => {
      const isFirst = request.headers.range.includes('=0-');
      const change = isFirst ? { ETag: '"a"', 'Last-Modified': monday } : { 'Last-Modified': tuesday };
      sendRange(request, response, bytes, change);
    },
    /has changed.*Last-Modified/,
  ],
  'a whole file that is cut': [
    (_, response) => {
      response.writeHead(200, { 'Content-Length': bytes.length });
      response.write(bytes.subarray(0, 100_000), () => response.destroy());
    },
    /the connection was cut/,
  ],
  'a whole file that ends early': [
    (_, response) => {
      response.writeHead(200);
      response.end(bytes.subarray(0, 100_000));
    },
    /ended/,
  ],
};
for (const [what, [answer, message]] of Object.entries(atReading)) {
  test(`${what} ends a read, with the address and the tensor`, async (t) => {
    const { url } = await serve(t, answer);
    const file = await openSafetensors(rw, `${url}/m`);
    const target = rw.tensor([500_000]);
    const before = inUse(rw);
    const place = { file: `${url}/m`, tensor: 'large' };
    await refusedAs(file.tensor('large'), place, message);
    await refusedAs(file.readInto('large', target), place, message);
    assert.deepEqual(inUse(rw), before);
    assertSameBits(await file.tensor('first'), first);
    target.dispose();
    file.dispose();
  });
}

test('a file with the same ETag is the same, whatever its Last-Modified', async (t) => {
  const { url } = await serve(t, (request, response) => {
    sendRange(request, response, bytes, {
      ETag: '"a"',
      'Last-Modified': request.headers.range.includes('=0-') ? monday : tuesday,
    });
  });
  await checkAll(await openSafetensors(rw, `${url}/m`));
});

const changes = {
  ETag: ['"a"', '"b"'],
  'Last-Modified': [monday, tuesday],
};
for (const [name, versions] of Object.entries(changes)) {
  test(`a whole file that is sent again and has another ${name} is refused`, async (t) => {
    const { url } = await serve(t, (request, response) => {
      response.setHeader(name, versions[request.headers.range === undefined ? 1 : 0]);
      sendWhole(response, bytes);
    });
    const file = await openSafetensors(rw, `${url}/m`);
    assertSameBits(await file.tensor('large'), large);
    const place = { file: `${url}/m`, tensor: 'first' };
    await refusedAs(file.tensor('first'), place, new RegExp(`has changed since it was opened: its ${name} is another`));
  });
}

test('a whole file that is sent again and has another size is refused', async (t) => {
  const { url } = await serve(t, (request, response) =>
    sendWhole(response, request.headers.range === undefined ? Buffer.concat([bytes, Buffer.alloc(1)]) : bytes),
  );
  const file = await openSafetensors(rw, `${url}/m`);
  assertSameBits(await file.tensor('large'), large);
  const place = { file: `${url}/m`, tensor: 'first' };
  await refusedAs(file.tensor('first'), place, /has changed since it was opened: its size is another/);
});

test('a file of no known size that goes on after its last tensor is refused', async (t) => {
  const { url } = await serve(t, (_, response) => {
    response.writeHead(200);
    response.end(Buffer.concat([bytes, Buffer.alloc(1)]));
  });
  const file = await openSafetensors(rw, `${url}/m`);
  await refusedAs(file.tensor('last'), { file: `${url}/m`, tensor: 'last' }, /has more than the \d+ bytes/);
});

// Sends a part, and then nothing until the client goes.
const stalled = (response, part) => {
  response.write(part);
  return once(response, 'close');
};
const slow = {
  ranges: (request, response, closed) => {
    if (request.headers.range?.startsWith('bytes=0-')) return sendRange(request, response, bytes);
    response.writeHead(206);
    closed.push(stalled(response, bytes.subarray(0, 50_000)));
  },
  'the whole file': (_, response, closed) => {
    response.writeHead(200, { 'Content-Length': bytes.length });
    closed.push(stalled(response, bytes.subarray(0, 100_000)));
  },
};
for (const [what, answer] of Object.entries(slow)) {
  test(`a read that is aborted while a server sends ${what} ends the connection`, async (t) => {
    const closed = [];
    const { url } = await serve(t, (request, response) => answer(request, response, closed));
    const file = await openSafetensors(rw, `${url}/m`);
    const target = rw.tensor([500_000]);
    const before = inUse(rw);
    for (const read of [
      (options) => file.readInto('large', target, options),
      (options) => file.tensor('large', options),
    ]) {
      const controller = new AbortController();
      const reason = new Error('enough');
      const onProgress = () => setImmediate(() => controller.abort(reason)); // while the next piece is waited for
      await assert.rejects(read({ signal: controller.signal, onProgress }), (error) => error === reason);
      await closed.at(-1);
    }
    assert.deepEqual(inUse(rw), before);
    target.dispose();
    file.dispose();
  });
}

test('of two reads of one whole file the later is ended by its signal, and by dispose(), before its turn comes', async (t) => {
  const waiting = [];
  const { url, requests } = await serve(t, (_, response) => {
    response.writeHead(200, { 'Content-Length': bytes.length });
    response.write(bytes.subarray(0, 100_000));
    waiting.push(response);
  });
  const file = await openSafetensors(rw, `${url}/m`);
  const large = file.tensor('large');
  const controller = new AbortController();
  const later = file.tensor('last', { signal: controller.signal });
  const reason = new Error('enough');
  setImmediate(() => controller.abort(reason));
  await assert.rejects(later, (error) => error === reason);
  const last = file.tensor('last');
  waiting[0].end(bytes.subarray(100_000));
  assertSameBits(await large, want.large);
  assertSameBits(await last, want.last);
  assert.equal(requests.length, 1);

  const running = file.tensor('large'); // from the start again
  const disposed = ['large', 'last'].map((name) => assert.rejects(file.tensor(name), { name: 'StateError' }));
  setImmediate(() => file.dispose());
  await assert.rejects(running, { name: 'StateError' });
  await Promise.all(disposed);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(requests.length <= 2, `${requests.length} requests`);
});

test('opening may be aborted, and the signal of the opening is nothing to later reads', async (t) => {
  const { url } = await serve(t, () => {});
  const controller = new AbortController();
  const before = inUse(rw);
  const opening = openSafetensors(rw, `${url}/m`, { signal: controller.signal });
  setImmediate(() => controller.abort());
  await assert.rejects(opening, { name: 'AbortError' });
  assert.deepEqual(inUse(rw), before);

  for (const answer of [
    (request, response) => sendRange(request, response, bytes),
    (_, response) => sendWhole(response, bytes),
  ]) {
    const server = await serve(t, answer);
    const other = new AbortController();
    const file = await openSafetensors(rw, `${server.url}/m`, { signal: other.signal });
    other.abort();
    await checkAll(file);
    file.dispose();
  }
});

for (const [what, answer] of Object.entries(slow)) {
  test(`a read under way while a server sends ${what} ends when the file is disposed of`, async (t) => {
    const closed = [];
    const { url } = await serve(t, (request, response) => answer(request, response, closed));
    const file = await openSafetensors(rw, `${url}/m`);
    const read = file.stream('large', () => setImmediate(() => file.dispose()));
    await assert.rejects(read, StateError);
    await closed.at(-1);
  });
}
