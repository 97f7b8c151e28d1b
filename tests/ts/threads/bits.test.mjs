// Results have the same bits with any number of threads, more than there are processors among them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { load as loadAlone } from 'ropewalk';
import { load } from 'ropewalk/threads';
import { enableRelaxed } from '../../vectors/builds.mjs';
import { longCalls } from '../support/long-calls.mjs';

const options = { skip: !enableRelaxed() && 'this Node has no relaxed SIMD' };

for (const threads of [1, 2, 3, 4, 8]) {
  test(`${threads} threads give the bits of the entry without threads`, options, async () => {
    const rw = await load({ threads });
    assert.equal(rw.info().threads, threads, rw.info().why);
    assert.deepEqual(longCalls(rw), longCalls(await loadAlone()));
    rw.dispose();
  });
}

test('a worker of Node has threads of its own, and the same bits', options, async () => {
  const code = `import { parentPort } from 'node:worker_threads';
    import { load } from ${JSON.stringify(import.meta.resolve('ropewalk/threads'))};
    import { longCalls } from ${JSON.stringify(new URL('../support/long-calls.mjs', import.meta.url))};
    const rw = await load({ threads: 3 });
    parentPort.postMessage({ info: rw.info(), hashes: longCalls(rw) });
    rw.dispose();`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
  const [[{ info, hashes }]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
  assert.equal(info.threads, 3, info.why);
  assert.deepEqual(hashes, longCalls(await loadAlone()));
});

test('instances with threads do not disturb each other', options, async () => {
  const [one, other] = await Promise.all([load({ threads: 2 }), load({ threads: 2 })]);
  const x = { data: Float32Array.from({ length: 2 ** 18 }, (_, i) => Math.sin(i)), shape: [256, 1024] };
  const expected = one.softmax(x);
  assert.deepEqual(other.softmax(x), expected);
  one.dispose();
  assert.deepEqual(other.softmax(x), expected);
  other.dispose();
});

test('memory grows under the threads, and no view of it is old', options, async () => {
  const rw = await load({ threads: 2 });
  const x = rw.tensor([256, 1024]);
  const old = x.view();
  const before = rw.memory().heapBytes;
  const large = rw.tensor([64, 2 ** 20]); // 256 MiB
  const { heapBytes } = rw.memory();
  assert.ok(heapBytes > before);
  assert.equal(old.buffer.byteLength, before);
  assert.equal(x.view().buffer.byteLength, heapBytes);
  const y = rw.softmax(large).data();
  assert.equal(new Set(y).size, 1);
  assert.equal(y[0], 2 ** -20);
  rw.dispose();
});
