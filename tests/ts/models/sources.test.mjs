// Where loadModel() reads from: tensors that follow one another are one read, and reads end with the load.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'ropewalk';
import { loadModel, openSafetensors, SafetensorsError } from 'ropewalk/models';
import { assertSameBits } from '../support/arrays.mjs';
import { writeSafetensors } from '../support/safetensors.mjs';
import { sendRange, serve } from '../support/server.mjs';
import { fileOfModel, tinyLlama } from '../support/tiny-models.mjs';

const rw = await load({ simd: 'deterministic' });
const ids = [3, 1, 4, 1, 5, 9, 2, 6];
const model = tinyLlama({ vocab_size: 20_000, hidden_size: 64 });
const bytes = fileOfModel(model);
const inUse = () => {
  const { usedBytes, liveObjects } = rw.memory();
  return { usedBytes, liveObjects };
};
const before = inUse();

/** The logits of a model that is loaded from these weights, and disposed of. */
async function logitsOf(weights, options = {}) {
  const made = await loadModel(rw, { config: model.config, weights, ...options });
  const { data } = made.forward(ids, { logits: 'all' }).logits;
  made.dispose();
  return data;
}
const expected = await logitsOf(bytes);

const ranges = (requests) =>
  requests.slice(1).map((request) => /bytes=(\d+)-(\d+)$/.exec(request).slice(1).map(Number));

test('a file on a server is one request after that of its beginning', async (t) => {
  const { url, requests } = await serve(t, (request, response) => sendRange(request, response, bytes));
  assertSameBits(await logitsOf(`${url}/m.safetensors`), expected);
  assert.deepEqual(ranges(requests), [[2 ** 16, bytes.length - 1]]);
});

test('a large tensor that a model does not need is not fetched', async (t) => {
  const spare = 'model.layers.0.self_attn.rotary_emb.inv_freq';
  const [tokens, ...others] = Object.entries(model.tensors);
  const added = [spare, { dtype: 'F32', shape: [2 ** 20], data: new Float32Array(2 ** 20) }];
  const large = fileOfModel({ ...model, tensors: Object.fromEntries([tokens, added, ...others]) });
  const { url, requests } = await serve(t, (request, response) => sendRange(request, response, large));
  const file = await openSafetensors(rw, `${url}/m.safetensors`);
  assert.notEqual(file.names.at(-1), spare);
  assertSameBits(await logitsOf(file), expected);
  const [first, second] = ranges(requests);
  assert.equal(ranges(requests).length, 2);
  assert.ok(second[0] - first[0] > 4 * 2 ** 20);
  assert.equal(second[1], large.length - 1);
  file.dispose();
});

test("a file's other reads go on while a model is loaded from it", async (t) => {
  for (const source of [bytes, new Blob([bytes])]) {
    const file = await openSafetensors(rw, source);
    const reads = [];
    const onProgress = ({ name }) => reads.push([name, file.tensor(name)]);
    assertSameBits(await logitsOf(file, { onProgress }), expected);
    for (const [name, read] of reads) assertSameBits(await read, model.tensors[name].data);
    assert.ok(reads.length >= file.names.length);
    file.dispose();
  }
  await t.test('on a server', async (t) => {
    const { url } = await serve(t, (request, response) => sendRange(request, response, bytes));
    const file = await openSafetensors(rw, `${url}/m.safetensors`);
    const last = file.names.at(-1);
    let read;
    const onProgress = () => {
      read ??= file.tensor(last);
    };
    assertSameBits(await logitsOf(file, { onProgress }), expected);
    assertSameBits(await read, model.tensors[last].data);
    file.dispose();
  });
});

// Answers to the second request, whose bytes are not those that were asked for, or not all that the answer has.
const wrong = {
  'the whole file in place of a range, by its length': (_, response) => {
    response.writeHead(206, { 'Content-Length': bytes.length });
    response.end(bytes);
  },
  'the whole file in place of a range, without a length': (_, response) => {
    response.writeHead(206);
    response.write(bytes.subarray(0, 1000));
    response.end(bytes.subarray(1000));
  },
  'the whole file as the range that was asked for': (request, response) => {
    const range = `${/\d+-\d+/.exec(request.headers.range)[0]}/${bytes.length}`;
    response.writeHead(206, { 'Content-Range': `bytes ${range}` });
    response.end(bytes);
  },
  'a range in parts': (request, response) => {
    const [first, last] = /(\d+)-(\d+)/.exec(request.headers.range).slice(1).map(Number);
    response.writeHead(206, { 'Content-Type': 'multipart/byteranges; boundary=x' });
    response.write(`\r\n--x\r\nContent-Range: bytes ${first}-${last}/${bytes.length}\r\n\r\n`);
    response.write(bytes.subarray(first, last + 1));
    response.end('\r\n--x--\r\n');
  },
};
for (const [what, answer] of Object.entries(wrong)) {
  test(`${what} is no model`, async (t) => {
    const { url } = await serve(t, (request, response) =>
      request.headers.range.startsWith('bytes=0-') ? sendRange(request, response, bytes) : answer(request, response),
    );
    await assert.rejects(logitsOf(`${url}/m.safetensors`), (error) => {
      assert.ok(error instanceof SafetensorsError, error.stack);
      assert.match(error.message, /gave more bytes than it was asked for/);
      return true;
    });
    assert.deepEqual(inUse(), before);
  });
}

test('a file of no known size that goes on after its last tensor is no model', async (t) => {
  const { url } = await serve(t, (_, response) => {
    response.writeHead(200);
    response.write(bytes);
    response.end('x');
  });
  await assert.rejects(logitsOf(`${url}/m.safetensors`), {
    name: 'SafetensorsError',
    message: /has more than the \d+ bytes that its header tells of/,
  });
  assert.deepEqual(inUse(), before);
});

describe('a load that fails ends its read', () => {
  const failing = async (t, answer, options, check) => {
    const open = new Set();
    const { url } = await serve(t, (request, response) => {
      open.add(response);
      response.on('close', () => open.delete(response));
      answer(request, response);
    });
    const made = loadModel(rw, { config: model.config, weights: `${url}/m.safetensors`, ...options });
    await assert.rejects(made, check);
    assert.deepEqual(inUse(), before);
    const end = Date.now() + 60_000;
    while (open.size > 0 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(open.size, 0);
  };

  test('where the connection is cut: the error names the tensor and its bytes', async (t) => {
    const file = await openSafetensors(rw, bytes);
    const cut = 'model.layers.1.mlp.up_proj.weight';
    const { byteLength } = file.info(cut);
    const after = file.names.slice(file.names.indexOf(cut));
    const end = bytes.length - after.reduce((sum, name) => sum + file.info(name).byteLength, 0) + 1000;
    const answer = (request, response) => {
      if (request.headers.range === `bytes=0-${2 ** 16 - 1}`) return sendRange(request, response, bytes);
      const from = 2 ** 16;
      response.writeHead(206, { 'Content-Range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` });
      response.end(bytes.subarray(from, end));
    };
    await failing(t, answer, {}, (error) => {
      assert.ok(error instanceof SafetensorsError);
      assert.equal(error.tensor, cut);
      assert.ok(error.message.includes(`after 1000 of ${byteLength} bytes`), error.message);
      return true;
    });
  });

  test('where the signal ends it', async (t) => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const onProgress = ({ loaded }) => loaded > 100_000 && controller.abort(reason);
    const answer = (request, response) => {
      if (request.headers.range === `bytes=0-${2 ** 16 - 1}`) return sendRange(request, response, bytes);
      response.writeHead(206, { 'Content-Range': `bytes ${2 ** 16}-${bytes.length - 1}/${bytes.length}` });
      response.write(bytes.subarray(2 ** 16, bytes.length - 1)); // the last is on its way
    };
    await failing(t, answer, { onProgress, signal: controller.signal }, (error) => error === reason);
  });
});

test('a block that is read ahead for nobody fails in silence', async () => {
  const shape = [2 ** 22];
  const blob = new Blob([writeSafetensors({ large: { dtype: 'F32', shape, data: new Float32Array(2 ** 22) } })]);
  const slice = blob.slice.bind(blob);
  let failed = 0;
  blob.slice = (from, to) => {
    if (from < 2 ** 23) return slice(from, to);
    failed += 1;
    return { arrayBuffer: () => Promise.reject(new Error('gone')) };
  };
  const file = await openSafetensors(rw, blob);
  const stop = new Error('enough');
  const reading = file.stream('large', () => {
    throw stop;
  });
  await assert.rejects(reading, (error) => error === stop);
  assert.ok(failed > 0);
  await assert.rejects(file.tensor('large'), SafetensorsError);
});
