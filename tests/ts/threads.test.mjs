// ropewalk/threads in Node: what load() takes and gives, and what info() tells.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import * as main from 'ropewalk';
import * as threads from 'ropewalk/threads';
import { enableRelaxed } from '../vectors/builds.mjs';
import { run } from './support/node.mjs';

const { load } = threads;
const { ArgumentRangeError, ArgumentTypeError, StateError } = main;
const hasRelaxed = enableRelaxed();
const options = { skip: !hasRelaxed && 'this Node has no relaxed SIMD' };

test('the entry has the functions and classes of the main one', () => {
  assert.deepEqual({ ...threads, load: undefined }, { ...main, load: undefined });
});

test('info() tells the threads, and why there is one', options, async () => {
  const several = await load({ threads: 3 });
  assert.deepEqual(several.info(), { version: several.info().version, simd: 'relaxed', threads: 3, why: undefined });
  several.dispose();
  const one = await load({ threads: 1 });
  assert.equal(one.info().threads, 1);
  assert.equal(one.info().why, 'one thread was asked for');
});

// Runs a program in a Node that has relaxed SIMD, after some code.
const programWith = (before, options) => `
  import { enableRelaxed } from './tests/vectors/builds.mjs';
  if (${hasRelaxed}) enableRelaxed();
  ${before};
  const { load } = await import('ropewalk/threads');
  const rw = await load(${options});
  const { threads, why, simd } = rw.info();
  console.log(threads, why, rw.softmax({ data: new Float32Array(2), shape: [2] }).data[0]);`;
const printed = async (before, options = '{ threads: 2 }') =>
  (await run(['--input-type=module', '--eval', programWith(before, options)])).stdout.trim();

const processors = (n) => `Object.defineProperty(globalThis, 'navigator', { value: { hardwareConcurrency: ${n} } })`;

test("'auto' leaves a processor to others, takes no more than eight, and is the default", options, async () => {
  for (const [n, expected] of Object.entries({ 1: 1, 2: 1, 3: 2, 9: 8, 64: 8 })) {
    const why = expected === 1 ? /^1 one processor, or two, leave none for another thread/ : /^\d undefined 0\.5$/;
    const got = await printed(processors(n), "{ threads: 'auto' }");
    assert.match(got, why);
    assert.ok(got.startsWith(`${expected} `), got);
  }
  assert.match(await printed(processors(3), ''), /^2 undefined/);
});

test('where threads cannot be there is one, and info() says why', async () => {
  assert.match(await printed('delete globalThis.SharedArrayBuffer'), /^1 this runtime has no SharedArrayBuffer 0\.5$/);
  const page = 'delete globalThis.SharedArrayBuffer; globalThis.crossOriginIsolated = false';
  const headers = 'Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp';
  assert.match(
    await printed(page),
    new RegExp(`^1 the page is not cross-origin isolated; its server has to send ${headers} 0\\.5$`),
  );
  // The module with relaxed instructions is the longer of those that are asked about.
  const none =
    'const { validate } = WebAssembly; WebAssembly.validate = (bytes) => bytes.length < 60 && validate(bytes)';
  assert.match(await printed(none), /^1 this engine has no relaxed SIMD, which the build with threads needs 0\.5$/);
});

test('without WebAssembly load() says what the main entry says', async () => {
  for (const entry of ['threads', 'training']) {
    const loading = `import('ropewalk/${entry}').then(({ load }) => load({ threads: 2 }))`;
    const script = `${loading}.catch(({ name, message }) => console.log(name, message));`;
    const { stdout } = await run(['--jitless', '-e', script]);
    assert.equal(stdout.trim(), 'UnsupportedError load: this runtime has no WebAssembly', entry);
  }
});

test('workers that do not start leave one thread, and info() says why', options, async () => {
  const cases = [
    [() => new Worker('throw new Error("broken here")', { eval: true }), /a worker does not start \(broken here\)/],
    [() => new Worker('process.exit(3)', { eval: true }), /a worker does not start \(it exited with code 3\)/],
    [() => new Worker(new URL('missing.js', import.meta.url)), /a worker does not start \(Cannot find module/],
    [
      () => {
        throw new Error('no worker today');
      },
      /a worker does not start \(no worker today\)/,
    ],
  ];
  for (const [worker, why] of cases) {
    const rw = await load({ threads: 3, worker });
    assert.equal(rw.info().threads, 1);
    assert.match(rw.info().why, why);
    rw.softmax({ data: new Float32Array(2), shape: [2] });
  }
});

test('what `worker` gives has to be a new worker, and nothing is left of those before', options, async () => {
  const workers = [];
  const made = () => {
    workers.push(new Worker(new URL('../../dist/thread.js', import.meta.url)));
    return workers.at(-1);
  };
  const wrong = [undefined, {}, Promise.resolve(), { postMessage() {} }];
  for (const load of [threads.load, (await import('ropewalk/training')).load]) {
    for (const value of wrong) {
      const first = made();
      const given = [first, value];
      const exit = once(first, 'exit');
      await assert.rejects(load({ threads: 3, worker: () => given.shift() }), (error) => {
        assert.ok(error instanceof ArgumentTypeError, String(error));
        assert.match(error.message, /^load: worker\(\) is .*; expected a new Worker each time$/);
        assert.equal(error.value, value);
        return true;
      });
      await exit;
    }
    const one = made();
    const exit = once(one, 'exit');
    await assert.rejects(load({ threads: 3, worker: () => one }), ArgumentTypeError);
    await exit;
  }
});

test('a memory that cannot be had leaves one thread, and info() says why', options, async () => {
  const before = `WebAssembly.Memory = new Proxy(WebAssembly.Memory, {
    construct(Memory, [options]) {
      if (options.shared) throw new RangeError('could not allocate memory');
      return new Memory(options);
    },
  })`;
  assert.match(await printed(before), /^1 could not allocate memory 0\.5$/);
});

test('after dispose() an instance, and what it made, refuses calls', options, async () => {
  for (const threads of [1, 2]) {
    const rw = await load({ threads });
    const plan = rw.rope({ headDim: 64 });
    const layer = rw.linear({ weight: { data: new Float32Array(4), shape: [2, 2] } });
    rw.dispose();
    rw.dispose();
    assert.throws(() => rw.tensor([1]), new StateError('this instance was disposed of; load() gives a new one'));
    assert.throws(() => rw.memory(), StateError);
    assert.throws(() => plan.rotate(new Float32Array(64)), StateError);
    assert.throws(() => layer.apply({ data: new Float32Array(2), shape: [2] }), StateError);
    plan.dispose();
    layer.dispose();
    assert.equal(rw.info().threads, threads);
  }
});

test('`using` disposes of an instance', options, async () => {
  const rw = await load({ threads: 2 });
  rw[Symbol.dispose]();
  assert.throws(() => rw.tensor([1]), StateError);
});

test('load() refuses what is no number of threads and no function', async () => {
  for (const value of [0, 65, 1.5, Number.NaN]) {
    await assert.rejects(load({ threads: value }), (error) => {
      assert.ok(error instanceof ArgumentRangeError);
      assert.match(error.message, /^load: threads is .*; expected an integer from 1 to 64$/);
      return true;
    });
  }
  for (const value of ['two', true, {}]) {
    await assert.rejects(load({ threads: value }), (error) => {
      assert.ok(error instanceof ArgumentTypeError);
      assert.match(error.message, /^load: threads .* an integer from 1 to 64, or 'auto'/);
      return true;
    });
  }
  await assert.rejects(load({ worker: 3 }), ArgumentTypeError);
  await assert.rejects(load({ url: 'core.wasm' }), /load: url is not an option/);
  await assert.rejects(load(null), ArgumentTypeError);
});
