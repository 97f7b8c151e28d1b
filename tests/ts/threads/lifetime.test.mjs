// When the workers of an instance end: with dispose(), with the collected instance, with the process. THREADS_ROUNDS
// says how many instances come and go in the last test, which is 1000 in `npm run test:all`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { loadModel } from 'ropewalk/models';
import { load } from 'ropewalk/threads';
import { safetensorsOf } from '../../models/tiny/files.mjs';
import { tinyModel } from '../../models/tiny/models.mjs';
import { enableRelaxed } from '../../vectors/builds.mjs';
import { run } from '../support/node.mjs';

const options = { skip: !enableRelaxed() && 'this Node has no relaxed SIMD' };
const rounds = Number(process.env.THREADS_ROUNDS ?? 30);

const threadFile = new URL('../../../dist/thread.js', import.meta.url);

// Makes workers, and gives the promises that they end.
function countedWorkers() {
  const exits = [];
  const worker = () => {
    const made = new Worker(threadFile);
    exits.push(new Promise((resolve) => made.once('exit', resolve)));
    return made;
  };
  return { worker, exits };
}

const program = (code) => `
  import { enableRelaxed } from './tests/vectors/builds.mjs';
  enableRelaxed();
  const { load } = await import('ropewalk/threads');
  ${code}`;

test('dispose() ends the workers', options, async () => {
  const { worker, exits } = countedWorkers();
  const rw = await load({ threads: 4, worker });
  assert.equal(exits.length, 3);
  const tensor = rw.tensor([2]);
  rw.dispose();
  await Promise.all(exits);
  // What was made by the instance, and reads and writes without a call into the core.
  for (const use of [() => tensor.data(), () => tensor.view(), () => tensor.set(new Float32Array(2))]) {
    assert.throws(use, { name: 'StateError', message: /^this instance was disposed of; / });
  }
  tensor.dispose();
});

test('a loop over generated tokens is left after dispose() as before it', options, async () => {
  const made = tinyModel('llama3');
  const rw = await load({ threads: 2 });
  const model = await loadModel(rw, { config: made.config, weights: new Uint8Array(safetensorsOf(made)) });
  const cache = model.kvCache({ capacity: 8 });
  let count = 0;
  for await (const { position } of model.generate([1, 2], { cache, seed: 1 })) {
    count = position;
    rw.dispose();
    break;
  }
  assert.equal(count, 2);
  assert.throws(() => model.generate([1], { cache }), {
    name: 'StateError',
    message: /^this instance was disposed of; /,
  });
});

test('Node exits by itself while threads sleep, and while they look for work', options, async () => {
  for (const last of ['', 'rw.softmax({ data: new Float32Array(2 ** 18), shape: [256, 1024] });']) {
    const code = program(`const rw = await load({ threads: 2 }); ${last} console.log(rw.info().threads);`);
    const { stdout } = await run(['--input-type=module', '--eval', code]);
    assert.equal(stdout, '2\n');
  }
});

test('threads that wait for work take no processor time', options, async () => {
  // In windows of 100 ms, of which the first begins 10 ms after a call. A thread that spins takes much of each, also where
  // others need the processors; one window may hold what the process does on its own.
  const code = program(`
    const rw = await load({ threads: 4 });
    const x = { data: new Float32Array(2 ** 18), shape: [256, 1024] };
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const taken = [];
    for (let window = 0; window < 20; ++window) {
      rw.softmax(x);
      await pause(10);
      const before = process.cpuUsage();
      await pause(100);
      const { user, system } = process.cpuUsage(before);
      taken.push((user + system) / 1000);
    }
    console.log(JSON.stringify([rw.info().threads, taken]));`);
  const { stdout } = await run(['--input-type=module', '--eval', code]);
  const [threads, taken] = JSON.parse(stdout);
  assert.equal(threads, 4);
  const median = taken.toSorted((a, b) => a - b)[taken.length / 2];
  assert.ok(median < 2, `${taken} ms of processor time in 100 ms each`);
});

test('the workers of an instance that is collected end', options, async () => {
  const code = program(`
    import { Worker } from 'node:worker_threads';
    const exits = [];
    const worker = () => {
      const made = new Worker(new URL('${threadFile}'), { execArgv: [] });
      exits.push(new Promise((resolve) => made.once('exit', resolve)));
      return made;
    };
    async function use() {
      const rw = await load({ threads: 3, worker });
      rw.rope({ headDim: 64 }).rotate(new Float32Array(64));
      return rw.info().threads;
    }
    const threads = await use();
    let left = exits.length;
    for (const exit of exits) exit.then(() => { left -= 1; });
    while (left > 0) {
      gc();
      await new Promise((resolve) => setImmediate(resolve));
    }
    console.log(threads, exits.length);`);
  const { stdout } = await run(['--expose-gc', '--input-type=module', '--eval', code]);
  assert.equal(stdout, '3 2\n');
});

test(`${rounds} instances come and go, and leave no thread and no memory`, options, async () => {
  const code = program(`
    import { readFileSync } from 'node:fs';
    import { Worker } from 'node:worker_threads';
    const count = () => Number(/^Threads:\\s*(\\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
    const bytes = () => process.memoryUsage().rss;
    const x = { data: new Float32Array(2 ** 18), shape: [256, 1024] };
    async function round() {
      const exits = [];
      const worker = () => {
        const made = new Worker(new URL('${threadFile}'), { execArgv: [] });
        exits.push(new Promise((resolve) => made.once('exit', resolve)));
        return made;
      };
      const rw = await load({ threads: 2, worker });
      if (rw.info().threads !== 2) throw new Error(rw.info().why);
      rw.softmax(x);
      rw.dispose();
      await Promise.all(exits);
      gc();
    }
    for (let i = 0; i < 10; ++i) await round();
    const before = [count(), bytes()];
    for (let i = 0; i < ${rounds}; ++i) await round();
    console.log(JSON.stringify([before, [count(), bytes()]]));`);
  const { stdout } = await run(['--expose-gc', '--input-type=module', '--eval', code], { timeout: 0 });
  const [before, after] = JSON.parse(stdout);
  assert.deepEqual(after[0], before[0]);
  // An instance that stays is 16 MiB of memory, of which it has written a tenth, and the thread's own.
  assert.ok(after[1] - before[1] < 2 ** 26, `${before[1]} bytes before, ${after[1]} after`);
});
