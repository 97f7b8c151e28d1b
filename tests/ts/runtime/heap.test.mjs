// The WebAssembly heap: growth does not change results, no call leaks, and no size overflows.
import assert from 'node:assert/strict';
import { freemem } from 'node:os';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { load, OutOfMemoryError } from 'ropewalk';
import { assertSameBits, random, randomArray } from '../support/arrays.mjs';
import { run } from '../support/node.mjs';

const fresh = () => load({ simd: 'deterministic' });
const rw = await fresh();

// A bit of everything, as bits.
function work(instance) {
  const plan = instance.rope({ headDim: 8 });
  const layer = instance.attentionLayer({ modelDim: 8, heads: 2, position: { encoding: 'rope' }, seed: 3 });
  const x = instance.tensor([4, 8], random(32));
  const parts = [
    plan.rotate(x, { offset: 5 }).data(),
    plan.rotate(random(32)),
    plan.tables({ length: 50 }).cos,
    instance.sinusoidal({ dim: 8, positions: { length: 50 } }),
    instance.attention({ data: random(32), shape: [4, 8] }, x, x).out.data,
    layer.forward({ data: random(32), shape: [4, 8] }).out.data,
  ];
  for (const made of [plan, layer, x]) made.dispose();
  return Float32Array.from(parts.flatMap((part) => [...part]));
}

test('results are the same bits before and after the heap grew', async () => {
  const instance = await fresh();
  const before = work(instance);
  const { heapBytes } = instance.memory();
  const large = instance.tensor([8e6]);
  assert.ok(instance.memory().heapBytes > heapBytes);
  assertSameBits(work(instance), before);
  large.dispose();
  assertSameBits(work(instance), before);
});

test('a call that makes the heap grow gives the bits that small calls give', async () => {
  const rows = 150_000;
  const data = random(rows * 32);
  const instance = await fresh();
  const { heapBytes } = instance.memory();
  const plan = instance.rope({ headDim: 32 });
  const whole = plan.rotate(data);
  assert.ok(instance.memory().heapBytes > heapBytes);
  const small = (await fresh()).rope({ headDim: 32 });
  for (const offset of [0, 77, 60_000, rows - 10]) {
    const part = small.rotate(data.subarray(offset * 32, (offset + 10) * 32), { offset });
    assertSameBits(whole.subarray(offset * 32, (offset + 10) * 32), part);
  }

  const table = (await fresh()).sinusoidal({ dim: 64, positions: { length: 100_000 } });
  assertSameBits(table.subarray(99_999 * 64), rw.sinusoidal({ dim: 64, positions: [99_999] }));
});

test('a layer that makes the heap grow gives the bits that small calls give', async () => {
  const options = { modelDim: 64, heads: 4, position: { encoding: 'sinusoidal' }, seed: 2 };
  const x = randomArray([300, 40, 64]);
  const instance = await fresh();
  const layer = instance.attentionLayer(options);
  const { heapBytes } = instance.memory();
  const { out } = layer.forward(x);
  assert.ok(instance.memory().heapBytes > heapBytes);
  const one = { data: x.data.subarray(299 * 40 * 64), shape: [40, 64] };
  const alone = (await fresh()).attentionLayer(options).forward(one);
  assertSameBits(out.data.subarray(299 * 40 * 64), alone.out.data);
});

test('a view dies when the heap grows, the tensor does not', async () => {
  const instance = await fresh();
  const tensor = instance.tensor([3], Float32Array.of(1, 2, 3));
  const view = tensor.view();
  assertSameBits(view, [1, 2, 3]);
  instance.tensor([8e6]);
  assert.equal(view.length, 0);
  assertSameBits(tensor.data(), [1, 2, 3]);
  assertSameBits(tensor.view(), [1, 2, 3]);
});

test('a view of one tensor may be the data of the next, even where that makes the heap grow', async () => {
  const instance = await fresh();
  const first = instance.tensor([3e6]);
  first.view().fill(7);
  const second = instance.tensor([3e6], first.view());
  assert.deepEqual([second.data()[0], second.data()[3e6 - 1]], [7, 7]);
  const plan = instance.rope({ headDim: 2 });
  const turned = plan.rotate(second.view(), { positions: new Float64Array(1.5e6) });
  assert.deepEqual([turned[0], turned[3e6 - 1]], [7, 7]);
  const attend = (rw, values) =>
    rw.attention(
      { data: new Float32Array(1), shape: [1, 1] },
      { data: new Float32Array(3e6), shape: [3e6, 1] },
      { data: values, shape: [3e6, 1] },
    ).out.data;
  const other = await fresh();
  assertSameBits(attend(instance, first.view()), attend(other, first.data()));
});

test('1e5 calls leave the heap as it was', () => {
  const plan = rw.rope({ headDim: 8 });
  const layer = rw.attentionLayer({ modelDim: 8, heads: 2, position: { encoding: 'rope' } });
  const x = rw.tensor([4, 8], random(32));
  const plain = { data: random(32), shape: [4, 8] };
  const calls = [
    () => plan.rotate(x),
    () => plan.unrotate(plain, { positions: [1, 2, 3, 4] }),
    () => plan.tables([1, 2]),
    () => rw.sinusoidal({ dim: 4, positions: [1] }),
    () => rw.attention(plain, x, x),
    () => rw.attention(x, x, x).out.dispose(),
    () => layer.forward(plain),
    () => rw.tensor([16]).dispose(),
    () => rw.rope({ headDim: 4 }).dispose(),
    () => assert.throws(() => plan.rotate(plain, { positions: [0.5] })),
  ];
  for (const call of calls) for (let i = 0; i < 100; ++i) call();
  const { peak: peakBefore, ...before } = rw.memory();
  for (const call of calls) for (let i = 0; i < 10_000; ++i) call();
  const { peak, ...after } = rw.memory();
  assert.deepEqual(after, before);
  assert.ok(peak - peakBefore < 4096, `${peakBefore}, then ${peak}`); // where pieces lie may change, in small steps
  for (const made of [plan, layer, x]) made.dispose();
});

const roomy = freemem() > 2 ** 32;
test('usedBytes stays true beyond 2 GB', { skip: !roomy && 'less than 4 GB of memory are free' }, async () => {
  // In a child: the memory of a large heap is given back with it.
  const script = `
    import { load } from 'ropewalk';
    const rw = await load();
    const half = rw.tensor([2 ** 28]);
    const more = rw.tensor([2 ** 28 + 2 ** 20]);
    console.log(rw.memory().usedBytes > 2 ** 31);`;
  const { stdout } = await run(['--input-type=module', '-e', script]);
  assert.equal(stdout.trim(), 'true');
});

test('on a full heap objects are refused for want of memory, and work again when there is room', {
  skip: !roomy && 'less than 4 GB of memory are free',
}, async () => {
  const script = `
    import { load } from 'ropewalk';
    const rw = await load();
    const held = [];
    for (let size = 2 ** 28; size >= 1; size /= 2) {
      try {
        for (;;) held.push(rw.tensor([size]));
      } catch (error) {
        if (error.name !== 'OutOfMemoryError') throw error;
      }
    }
    const makes = [
      () => rw.rope({ headDim: 64 }),
      () => rw.attentionLayer({ modelDim: 64, heads: 2 }),
      () => rw.t5Buckets([1, 2, 3]),
    ];
    const attempt = (make) => {
      try {
        return make() && 'made';
      } catch (error) {
        return error.name;
      }
    };
    const full = makes.map(attempt);
    held[0].dispose();
    console.log([...full, ...makes.map(attempt)].join());`;
  const { stdout, stderr } = await run(['--input-type=module', '-e', script]);
  assert.equal(stderr, '');
  assert.equal(stdout.trim(), 'OutOfMemoryError,OutOfMemoryError,OutOfMemoryError,made,made,made');
});

// Sizes whose bytes pass 2^32: a wrapped size would be small, and what is written there would trap.
const plain = (shape) => ({ data: new Float32Array(shape.reduce((a, b) => a * b)), shape });
const wide = rw.rope({ headDim: 512 });
const long = plain([65536, 1]);
const tooLarge = {
  'a tensor of 2^30 numbers': () => rw.tensor([2 ** 30]),
  'a tensor of 2^30 - 1 numbers': () => rw.tensor([2 ** 30 - 1]),
  'a sinusoidal table of more than 2^30 numbers': () =>
    rw.sinusoidal({ dim: 2 ** 20, positions: { length: 2 ** 10 + 1 } }),
  'tables of more than 2^30 numbers': () => wide.tables({ length: 2 ** 22 + 1 }),
  'scores of 2^32 numbers': () => rw.attention(long, long, long, { returnScores: 'probabilities' }),
  'weights of more than 2^30 numbers': () => rw.attentionLayer({ modelDim: 2 ** 16, heads: 1, headDim: 2 ** 14 + 1 }),
};
for (const [what, call] of Object.entries(tooLarge)) {
  test(`${what} is refused, and the instance goes on`, () => {
    const expected = work(rw);
    const { usedBytes, liveObjects } = rw.memory();
    assert.throws(call, (error) => error instanceof OutOfMemoryError || error instanceof RangeError);
    assert.deepEqual([rw.memory().usedBytes, rw.memory().liveObjects], [usedBytes, liveObjects]);
    assertSameBits(work(rw), expected);
  });
}

// A getter of the caller's runs between the check of one argument and the use of another.
test('a call whose argument disposes of or resizes another is refused', async () => {
  const instance = await fresh();
  const meddler = (meddle) => ({
    shape: [2, 2],
    get data() {
      meddle();
      return new Float32Array(4);
    },
  });
  const expected = work(instance);
  const { usedBytes } = instance.memory();
  const tensor = instance.tensor([2, 2]);
  assert.throws(
    () =>
      instance.attention(
        tensor,
        meddler(() => tensor.dispose()),
        plain([2, 2]),
      ),
    /\bq\b/,
  );
  const buffer = new ArrayBuffer(16, { maxByteLength: 2 ** 16 });
  const resizable = { data: new Float32Array(buffer), shape: [2, 2] };
  assert.throws(
    () =>
      instance.attention(
        resizable,
        meddler(() => buffer.resize(2 ** 16)),
        plain([2, 2]),
      ),
    /\bq\b/,
  );
  assert.equal(instance.memory().usedBytes, usedBytes);
  assertSameBits(work(instance), expected);
});

// Shapes that hold nothing, but would loop for hours; in a worker, because nothing else can stop them.
const hours = [
  ['rotate', 'plan.rotate({ data: new Float32Array(0), shape: [1, 0, 2 ** 31, 2] })'],
  ['rotate of a batch', 'plan.rotate({ data: new Float32Array(0), shape: [2 ** 52, 0, 2 ** 31, 2] })'],
  ['unrotate', 'plan.unrotate({ data: new Float32Array(0), shape: [1, 0, 2 ** 31, 2] })'],
  ['rope', 'rw.rope({ headDim: 8, base: 1e300 })'],
  ['rope', 'rw.rope({ headDim: 8, base: 1e-300 })'],
  ['rope', `rw.rope({ headDim: 8, scaling: { type: 'ntk', factor: 1e300 } })`],
  ['sinusoidal', 'rw.sinusoidal({ dim: 8, base: 1e-300, positions: [1] })'],
];
for (const [what, code] of hours) {
  test(`${what} ends at once, with a result or an error: ${code}`, async () => {
    assert.match(await verdictWithin(60_000, code), /^(done|ArgumentRangeError|OutOfMemoryError)$/);
  });
}

async function verdictWithin(milliseconds, code) {
  const source = `
    const { parentPort } = await import('node:worker_threads');
    const { load } = await import('ropewalk');
    const rw = await load();
    const plan = rw.rope({ headDim: 2 });
    parentPort.postMessage('ready');
    try { ${code}; parentPort.postMessage('done'); } catch (error) { parentPort.postMessage(error.name); }`;
  const worker = new Worker(new URL('../support/evaluate.mjs', import.meta.url), { workerData: source });
  let timer;
  const verdict = await new Promise((resolve, reject) => {
    worker.on('error', reject);
    worker.on('message', (message) => {
      if (message !== 'ready') return resolve(message);
      timer = setTimeout(() => resolve(`nothing within ${milliseconds} ms`), milliseconds);
    });
  });
  clearTimeout(timer);
  await worker.terminate();
  return verdict;
}
