// ropewalk/training with several threads: the same bits, what info() tells, what becomes of it when a worker ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { ArgumentRangeError, ArgumentTypeError, InstanceLostError, StateError } from 'ropewalk';
import { load, TrainingError } from 'ropewalk/training';
import { run } from '../support/node.mjs';
import { exitOf, loadWith, threadFile } from '../support/thread-workers.mjs';

const sizes = { layers: 1, modelDim: 48, heads: 3, hiddenDim: 128, vocab: 40, context: 48 };
const rope = { encoding: 'rope' };

const batchOf = (seed, batch = 8, tokens = 48) => {
  const data = Int32Array.from({ length: batch * tokens }, (_, i) => (i * (seed % 7) + (i >> 3) * 5 + seed) % 40);
  return { ids: { data, shape: [batch, tokens] } };
};

function trained(rw, options, steps = 50) {
  const trainer = rw.trainer({ ...sizes, ...options });
  for (let s = 1; s <= steps; ++s) trainer.step(batchOf(s));
  return trainer;
}

const models = {
  'no positions, layer norms, SiLU, SGD': {
    norm: 'layer',
    activation: 'silu',
    optimizer: { type: 'sgd', learningRate: 0.05 },
  },
  RoPE: { position: rope, layers: 2 },
  T5: { position: { encoding: 't5' } },
  'learned vectors': { position: { encoding: 'learned', mode: 'multiply' } },
  Shaw: { position: { encoding: 'shaw', maxDistance: 8 } },
  PoPE: { position: { encoding: 'pope' } },
  FoX: { position: { encoding: 'forget' } },
  FIRE: { position: { encoding: 'fire', width: 8 } },
  'linear attention': { position: rope, attention: { linear: 'elu1', ropeForm: 'numerator' } },
};

for (const [name, options] of Object.entries(models)) {
  test(`50 steps have the same bits with any number of threads: ${name}`, async () => {
    const results = [];
    for (const threads of [1, 2, 3, 4, 8]) {
      const rw = await load({ threads });
      assert.equal(rw.info().threads, threads, rw.info().why);
      const trainer = trained(rw, options);
      const { loss, losses, predictions, logits } = trainer.evaluate(batchOf(99), { logits: true });
      const { data } = trainer.capture(batchOf(3, 2, 20).ids);
      results.push({ state: trainer.save(), gradients: trainer.gradients(), loss, losses, predictions, logits, data });
      rw.dispose();
    }
    for (const result of results.slice(1)) assert.deepEqual(result, results[0]);
  });
}

test('a state goes from one number of threads to another', async () => {
  const [one, two] = [await load(), await load({ threads: 2 })];
  const first = trained(two, { position: rope }, 10);
  const other = one.trainer({ ...sizes, position: rope, seed: 5 });
  other.restore(first.save());
  for (const trainer of [first, other]) for (let s = 11; s <= 15; ++s) trainer.step(batchOf(s));
  assert.deepEqual(other.save(), first.save());
  two.dispose();
});

test('info() tells the threads, and why there is one', async () => {
  const { version } = (await load()).info();
  const expected = { version, simd: 'simd128', threads: 1, why: 'one thread was asked for' };
  for (const options of [undefined, {}, { threads: 1 }, { threads: 1, worker: () => assert.fail() }]) {
    assert.deepEqual((await load(options)).info(), expected);
  }
  const several = await load({ threads: 3 });
  assert.deepEqual(several.info(), { version, simd: 'simd128', threads: 3, why: undefined });
  several[Symbol.dispose]();
});

// Runs a program in a process of its own, after some code.
const printed = async (before, options = '{ threads: 2 }') => {
  const code = `${before};
    const { load } = await import('ropewalk/training');
    const rw = await load(${options});
    const trainer = rw.trainer({ layers: 1, modelDim: 64, heads: 4, vocab: 9, context: 64 });
    const ids = { data: new Int32Array(1024), shape: [16, 64] };
    console.log(rw.info().threads, rw.info().why, trainer.step({ ids }).step);`;
  return (await run(['--input-type=module', '--eval', code])).stdout.trim();
};

test('where threads cannot be there is one, and info() says why', async () => {
  assert.match(await printed('delete globalThis.SharedArrayBuffer'), /^1 this runtime has no SharedArrayBuffer 1$/);
  const page = 'delete globalThis.SharedArrayBuffer; globalThis.crossOriginIsolated = false';
  assert.match(await printed(page), /^1 the page is not cross-origin isolated; its server has to send .* 1$/);
  const processors = (n) => `Object.defineProperty(globalThis, 'navigator', { value: { hardwareConcurrency: ${n} } })`;
  assert.match(await printed(processors(2), "{ threads: 'auto' }"), /^1 one processor, or two, leave none .* 1$/);
  assert.match(await printed(processors(3), "{ threads: 'auto' }"), /^2 undefined 1$/);
});

test('threads of training need no relaxed SIMD, and Node exits by itself while they live', async () => {
  const none =
    'const { validate } = WebAssembly; WebAssembly.validate = (bytes) => bytes.length < 60 && validate(bytes)';
  assert.equal(await printed(none), '2 undefined 1');
});

test('workers that do not start leave one thread, and info() says why', async () => {
  const rw = await load({ threads: 2, worker: () => new Worker('throw new Error("broken here")', { eval: true }) });
  assert.match(rw.info().why, /a worker does not start \(broken here\)/);
  assert.equal(trained(rw, {}, 1).steps, 1);
});

test('a worker that is ended between steps makes the instance lost', async () => {
  const { rw, workers } = await loadWith(load, threadFile, 3);
  const exits = workers.map(exitOf);
  const trainer = trained(rw, {}, 2);
  workers[0].terminate();
  await Promise.all(exits); // the others end with it
  const isLost = (error) =>
    error instanceof InstanceLostError && /: it exited with code 1; load\(\) gives a new one$/.test(error.message);
  const calls = [
    () => trainer.step(batchOf(3)),
    () => trainer.evaluate(batchOf(3)),
    () => trainer.save(),
    () => trainer.parameters(),
    () => trainer.steps,
    () => rw.trainer(sizes),
    () => rw.memory(),
  ];
  for (const call of calls) assert.throws(call, isLost, String(call));
  trainer.dispose();
  rw.dispose();
});

test('a thread that traps makes the instance lost, with the reason', async () => {
  const { rw, workers } = await loadWith(load, new URL('../support/thread-without-stack.mjs', import.meta.url), 3);
  const exits = workers.map(exitOf);
  const trainer = rw.trainer(sizes);
  // Until one of them has had a share.
  const untilLost = () => {
    for (let s = 1; ; ++s) trainer.step(batchOf(s));
  };
  assert.throws(untilLost, (error) => {
    assert.ok(error instanceof InstanceLostError, String(error));
    assert.match(error.message, /^a thread of this instance failed: RuntimeError: .*; load\(\) gives a new one$/);
    return true;
  });
  await Promise.all(exits);
});

test('a step that is not finite stops with several threads as with one, and nothing is lost', async () => {
  const rw = await load({ threads: 2 });
  const trainer = trained(rw, {}, 2);
  const { data, shape } = trainer.parameters()['layers.0.up'];
  trainer.setParameters({ 'layers.0.up': { data: data.map((x, i) => (i === 7 ? Number.NaN : x)), shape } });
  assert.throws(
    () => trainer.step(batchOf(3)),
    (error) => error instanceof TrainingError && error.step === 3 && error.tensor === 'layers.0.up',
  );
  trainer.setParameters({ 'layers.0.up': { data, shape } });
  assert.equal(trainer.step(batchOf(3)).step, 3);
  rw.dispose();
});

test('dispose() ends the workers, and the instance and its trainers refuse calls', async () => {
  const { rw, workers } = await loadWith(load, threadFile, 4);
  const exits = workers.map(exitOf);
  for (const each of [rw, await load()]) {
    const trainer = trained(each, {}, 1);
    each.dispose();
    each.dispose();
    const problem = new StateError('this instance was disposed of; load() gives a new one');
    for (const call of [() => each.trainer(sizes), () => each.memory(), () => trainer.step(batchOf(1))]) {
      assert.throws(call, problem);
    }
    assert.throws(() => trainer.steps, StateError);
    trainer.dispose();
  }
  await Promise.all(exits);
});

test('load() refuses what is no number of threads and no function', async () => {
  for (const threads of [0, 65, 1.5, Number.NaN]) await assert.rejects(load({ threads }), ArgumentRangeError);
  for (const options of [{ threads: 'two' }, { threads: true }, { worker: 3 }, { threads: 2, worker: 3 }, null]) {
    await assert.rejects(load(options), ArgumentTypeError);
  }
});
