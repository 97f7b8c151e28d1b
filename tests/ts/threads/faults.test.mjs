// What becomes of an instance whose threads, memory or work end before their time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { InstanceLostError, OutOfMemoryError } from 'ropewalk';
import { loadModel } from 'ropewalk/models';
import { load } from 'ropewalk/threads';
import { enableRelaxed } from '../../vectors/builds.mjs';
import { atEndOfStack, isEndOfStack } from '../support/dive.mjs';
import { exitOf, loadWith, threadFile } from '../support/thread-workers.mjs';
import { fileOfModel, tinyLlama } from '../support/tiny-models.mjs';

const options = { skip: !enableRelaxed() && 'this Node has no relaxed SIMD' };

const x = { data: Float32Array.from({ length: 2 ** 18 }, (_, i) => Math.sin(i)), shape: [256, 1024] };
test('a thread that traps makes the instance lost, with the reason, and ends the others', options, async () => {
  const { rw, workers } = await loadWith(load, new URL('../support/thread-without-stack.mjs', import.meta.url), 3);
  const exits = workers.map(exitOf);
  const isReason = (error) => {
    assert.ok(error instanceof InstanceLostError, String(error));
    assert.match(error.message, /^a thread of this instance failed: RuntimeError: .*; load\(\) gives a new one$/);
    assert.ok(error.cause instanceof WebAssembly.RuntimeError);
    return true;
  };
  const tensor = rw.tensor([1]);
  // Until one of them has had a share.
  const untilLost = () => {
    for (;;) rw.softmax(x);
  };
  assert.throws(untilLost, isReason);
  assert.throws(() => rw.tensor([1]), isReason);
  await Promise.all(exits);
  assert.throws(() => rw.memory(), isReason);
  assert.throws(() => tensor.data(), isReason);
  rw.dispose();
  const next = await load({ threads: 3 });
  next.softmax(x);
  next.dispose();
});

test('a loop of which a share is never done makes the instance lost', options, async () => {
  const { rw } = await loadWith(load, new URL('../support/impatient-thread.mjs', import.meta.url), 2);
  const problem = /^a thread of this instance failed: it does not finish its work; load\(\) gives a new one$/;
  // Until a call has to wait for the other thread.
  const untilLost = () => {
    for (;;) rw.softmax(x);
  };
  assert.throws(untilLost, (error) => error instanceof InstanceLostError && problem.test(error.message));
});

test('a worker that says nothing is given up, and there is one thread', options, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const exits = [];
  const rw = await load({
    threads: 3,
    worker() {
      const worker = new Worker(new URL('../support/silent-thread.mjs', import.meta.url));
      exits.push(exitOf(worker));
      // Both are made in the same turn.
      if (exits.length === 2) setImmediate(() => t.mock.timers.tick(30_000));
      return worker;
    },
  });
  assert.equal(rw.info().threads, 1);
  assert.match(rw.info().why, /^load: a worker does not start \(it says nothing for 30 s; .* ropewalk\/thread\.js\)$/);
  assert.deepEqual(rw.softmax(x).shape, x.shape);
  await Promise.all(exits);
});

test('each worker that starts gives the others as long again', options, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const held = []; // messages
  function startNext() {
    if (held.length === 0) return;
    t.mock.timers.tick(29_000);
    held.shift()();
  }
  const rw = await load({
    threads: 3,
    worker() {
      const worker = new Worker(threadFile);
      const post = worker.postMessage.bind(worker);
      worker.postMessage = (start) => {
        // Both are made in the same turn.
        if (held.push(() => post(start)) === 2) setImmediate(startNext);
      };
      worker.once('message', () => setImmediate(startNext));
      return worker;
    },
  });
  assert.equal(rw.info().threads, 3, rw.info().why);
  rw.dispose();
});

test('a worker that is ended between calls makes the instance lost', options, async () => {
  const { rw, workers } = await loadWith(load, threadFile, 3);
  rw.softmax(x);
  const exits = workers.map(exitOf);
  workers[0].terminate();
  await Promise.all(exits); // the others end with it
  const problem = /^a thread of this instance failed: it exited with code 1; load\(\) gives a new one$/;
  assert.throws(
    () => rw.softmax(x),
    (error) => error instanceof InstanceLostError && problem.test(error.message),
  );
});

test(
  'an instance that is lost at the end of the stack ends its workers where there is stack again',
  options,
  async () => {
    const deep = (frames) => frames > 0 && deep(frames - 1);
    const workers = [];
    const worker = () => {
      const made = new Worker(threadFile);
      const terminate = made.terminate.bind(made);
      made.terminate = () => {
        deep(1000);
        return terminate();
      };
      workers.push(made);
      return made;
    };
    let lost = 0;
    for (let first = 0; first < 4; ++first) {
      const rw = await load({ threads: 3, worker });
      const exits = workers.splice(0).map(exitOf);
      rw.softmax(x);
      for (let frames = first; frames < 1000; ++frames) {
        try {
          atEndOfStack(frames, () => rw.softmax(x));
          break; // enough was left
        } catch (error) {
          if (isEndOfStack(error)) continue;
          assert.ok(error instanceof InstanceLostError, error.stack);
          lost += 1;
          break;
        }
      }
      rw.dispose();
      await Promise.all(exits);
    }
    assert.notEqual(lost, 0);
  },
);

// Whether a worker has a share when it ends is the system's affair: calls give their results, or the instance is lost.
test('a worker that is ended while calls are made never makes them wait for ever', options, async () => {
  for (let i = 0; i < 5; ++i) {
    const { rw, workers } = await loadWith(load, threadFile, 2);
    const expected = rw.softmax(x);
    const exit = exitOf(workers[0]);
    workers[0].terminate();
    try {
      for (let call = 0; call < 50; ++call) assert.deepEqual(rw.softmax(x), expected);
    } catch (error) {
      assert.ok(error instanceof InstanceLostError, String(error));
    }
    await exit;
    assert.throws(() => rw.softmax(x), InstanceLostError);
  }
});

test('where memory cannot grow the error says so, and the threads go on', options, async () => {
  const rw = await load({ threads: 2 });
  const expected = rw.softmax(x);
  assert.throws(() => rw.tensor([2 ** 30 - 64]), OutOfMemoryError);
  assert.throws(() => rw.tensor([2 ** 30]), OutOfMemoryError);
  assert.deepEqual(rw.softmax(x), expected);
  rw.dispose();
});

test('a signal ends a pass between its layers, and the threads go on', options, async () => {
  const rw = await load({ threads: 2 });
  const made = tinyLlama();
  const model = await loadModel(rw, { config: made.config, weights: fileOfModel(made) });
  const ids = [3, 1, 4, 1, 5, 9, 2, 6];
  const expected = await model.forwardAsync(ids);
  const controller = new AbortController();
  const onProgress = () => controller.abort(new Error('enough'));
  await assert.rejects(model.forwardAsync(ids, { signal: controller.signal, onProgress }), /enough/);
  assert.deepEqual(await model.forwardAsync(ids), expected);
  rw.softmax(x);
  rw.dispose();
});
