// load(): builds, instances and environments. Nothing is fetched, evaluated or leaked.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ArgumentRangeError, ArgumentTypeError, load, OutOfMemoryError } from 'ropewalk';
import { enableRelaxed } from '../vectors/builds.mjs';
import { assertSameBits, random } from './support/arrays.mjs';
import { notAChoice, notOptions, wrongType } from './support/bad-values.mjs';
import { run } from './support/node.mjs';

const relaxed = enableRelaxed();
const noRelaxed = !relaxed && 'this runtime has no relaxed SIMD';
const wasmOf = (name) => readFileSync(fileURLToPath(import.meta.resolve(`ropewalk/${name}`)));

// A call or two, as bits.
function bits(rw) {
  const plan = rw.rope({ headDim: 8 });
  const x = { data: random(64), shape: [8, 8] };
  return [...plan.rotate(x).data, ...rw.attention(x, x, x, { causal: true }).out.data];
}

test('load() takes relaxed SIMD where there is some', async () => {
  const rw = await load();
  assert.equal(rw.info().simd, relaxed ? 'relaxed' : 'simd128');
  assert.equal((await load({ simd: 'auto' })).info().simd, rw.info().simd);
});

test("load({ simd: 'deterministic' }) takes the other, with the same bits for every instance", async () => {
  const [one, two] = await Promise.all([load({ simd: 'deterministic' }), load({ simd: 'deterministic' })]);
  assert.equal(one.info().simd, 'simd128');
  assertSameBits(bits(one), bits(two));
});

test('many instances may be loaded at once', async () => {
  const all = await Promise.all(Array.from({ length: 20 }, () => load()));
  assert.equal(new Set(all).size, 20);
  for (const rw of all) assertSameBits(bits(rw), bits(all[0]));
});

test("load({ module }) runs a compiled 'ropewalk/core.wasm'", async () => {
  const module = await WebAssembly.compile(wasmOf('core.wasm'));
  const rw = await load({ module });
  assert.equal(rw.info().simd, 'simd128');
  assertSameBits(bits(rw), bits(await load({ simd: 'deterministic' })));
  assert.notEqual(await load({ module }), rw);
});

test("load({ module }) runs a compiled 'ropewalk/core-relaxed.wasm'", { skip: noRelaxed }, async () => {
  const rw = await load({ module: new WebAssembly.Module(wasmOf('core-relaxed.wasm')) });
  assert.equal(rw.info().simd, 'relaxed');
  assertSameBits(bits(rw), bits(await load()));
});

const refused = [
  ...notOptions.map((bad) => ({ ...bad, argument: 'options', call: () => load(bad.value) })),
  ...notAChoice.map((bad) => ({ ...bad, argument: 'simd', call: () => load({ simd: bad.value }) })),
  ...[wrongType(null, 'null'), wrongType('core.wasm', '"core.wasm"'), wrongType({}, 'an object')].map((bad) => ({
    ...bad,
    argument: 'module',
    call: () => load({ module: bad.value }),
  })),
];
for (const { call, error, argument, shows } of refused) {
  test(`load refuses ${shows} as ${argument}`, async () => {
    await assert.rejects(call, (thrown) => {
      assert.ok(thrown instanceof error, `${thrown.name}: ${thrown.message}`);
      assert.ok(thrown.message.includes(argument) && thrown.message.includes(shows), thrown.message);
      return true;
    });
  });
}

test('load refuses an option that it does not have', async () => {
  await assert.rejects(load({ threads: 4 }), (error) => {
    assert.ok(error instanceof ArgumentRangeError);
    assert.match(error.message, /^load: threads is not an option; known are simd, module$/);
    return true;
  });
});

test('load refuses the build of another version', async () => {
  const bytes = wasmOf('core.wasm');
  bytes.fill(48, bytes.length - 4); // of the hash at its end
  await assert.rejects(load({ module: new WebAssembly.Module(bytes) }), (error) => {
    assert.ok(error instanceof ArgumentTypeError);
    assert.match(error.message, /module.*core\.wasm' of this version/);
    return true;
  });
});

test('without what unpacks the wasm load says so', async () => {
  const index = JSON.stringify(new URL('../../dist/index.js', import.meta.url).href);
  const gone = 'process.getBuiltinModule = undefined; delete globalThis.DecompressionStream;';
  const told = 'catch(({ name, message }) => console.log(name, message))';
  const { stdout } = await run(['-e', `${gone} import(${index}).then(({ load }) => load()).${told};`]);
  assert.match(stdout, /^UnsupportedError load: this runtime cannot unpack.*'ropewalk\/external'/);
});

test('without WebAssembly load says so', async () => {
  const script = `import('ropewalk').then(({ load }) => load()).catch(({ name, message }) => console.log(name, message));`;
  const { stdout } = await run(['--jitless', '-e', script]);
  assert.equal(stdout.trim(), 'UnsupportedError load: this runtime has no WebAssembly');
});

test('load refuses the bytes of a module, and the module of something else', async () => {
  await assert.rejects(load({ module: wasmOf('core.wasm') }), ArgumentTypeError);
  const empty = new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
  await assert.rejects(load({ module: empty }), (error) => {
    assert.ok(error instanceof ArgumentTypeError, `${error.name}: ${error.message}`);
    assert.match(error.message, /module/);
    return true;
  });
});

test('a load that failed does not spoil the next', async () => {
  await assert.rejects(load({ simd: 'none' }));
  assert.equal((await load({ simd: 'deterministic' })).info().simd, 'simd128');
});

// How engines refuse, as their sources have it: WebKit throws either class, some versions only at instantiation.
const byPolicy = /^load: this page's Content-Security-Policy refuses WebAssembly; add 'wasm-unsafe-eval' to script-src/;
const inWebKit = `Refused to create a WebAssembly object because 'unsafe-eval' or 'wasm-unsafe-eval' is not an allowed \
source of script in the following Content Security Policy directive: "script-src 'self'"`;
const refusals = {
  'Chromium, by its policy': [
    new WebAssembly.CompileError(
      `WebAssembly.compile(): Compiling or instantiating WebAssembly module violates the following Content Security \
policy directive because 'unsafe-eval' is not an allowed source of script`,
    ),
    byPolicy,
  ],
  'Firefox, by its policy': [new WebAssembly.CompileError('call to WebAssembly.compile() blocked by CSP'), byPolicy],
  'WebKit, by its policy': [new WebAssembly.CompileError(inWebKit), byPolicy],
  'older WebKit, by its policy': [new EvalError(inWebKit), byPolicy],
  'an edge worker': [
    new WebAssembly.CompileError('WebAssembly.compile(): Wasm code generation disallowed by embedder'),
    /^load: this runtime compiles no WebAssembly at run time; import 'ropewalk\/core\.wasm'.*load\(\{ module \}\)/,
  ],
};
for (const step of ['compile', 'instantiate']) {
  for (const [who, [cause, message]] of Object.entries(refusals)) {
    test(`a refusal to ${step} of ${who} is told with the fix`, async (t) => {
      t.mock.method(WebAssembly, step, async () => {
        throw cause;
      });
      const { load } = await import(`../../dist/index.js?${step} ${who}`); // with nothing compiled yet
      await assert.rejects(load(), (error) => {
        assert.equal(error.name, 'UnsupportedError');
        assert.match(error.message, message);
        assert.equal(error.cause, cause);
        return true;
      });
    });
  }
}

test('an instance for which the engine has no memory is an OutOfMemoryError', async (t) => {
  const cause = new RangeError(
    'WebAssembly.instantiate(): Out of memory: Cannot allocate Wasm memory for new instance',
  );
  t.mock.method(WebAssembly, 'instantiate', async () => {
    throw cause;
  });
  await assert.rejects(load(), (error) => {
    assert.ok(error instanceof OutOfMemoryError, `${error.name}: ${error.message}`);
    assert.equal(error.cause, cause);
    return true;
  });
});

const script = (entry) => `
  const { load } = await import('${entry}');
  globalThis.fetch = globalThis.XMLHttpRequest = () => { throw new Error('fetched'); };
  const names = process.eventNames();
  const globals = Object.getOwnPropertyNames(globalThis).length;
  const rw = await load();
  const plan = rw.rope({ headDim: 64 });
  const x = plan.rotate(new Float32Array(64).fill(1), { offset: 1 });
  const added = process.eventNames().filter((name) => !names.includes(name));
  console.log(JSON.stringify([added, Object.getOwnPropertyNames(globalThis).length - globals, x[0]]));`;
const rotated = Math.fround(Math.cos(1) - Math.sin(1));

const surroundings = {
  plainly: [],
  'without eval and new Function': ['--disallow-code-generation-from-strings'],
  'with frozen intrinsics': ['--frozen-intrinsics'],
  'with warnings as errors': ['--throw-deprecation', '--trace-warnings'],
};
// As Node has it, and as it is elsewhere.
const entries = ['ropewalk', new URL('../../dist/index.js', import.meta.url).href];
for (const [how, flags] of Object.entries(surroundings)) {
  test(`a process that loads ${how} computes, fetches nothing, adds no listener and no global, and ends by itself`, async () => {
    for (const entry of entries) {
      const { stdout } = await run([...flags, '--input-type=module', '-e', script(entry)]);
      const [added, globals, value] = JSON.parse(stdout);
      assert.deepEqual([added, globals], [[], 0]);
      assert.ok(Math.abs(value - rotated) < 1e-6, `${value}`);
    }
  });
}

const [major, minor] = process.versions.node.split('.').map(Number);
const noRequire = !(major >= 23 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19));
test('require() gives the package', { skip: noRequire && 'this Node cannot require modules' }, async () => {
  const code = `const { load } = require('ropewalk'); load().then((rw) => console.log(rw.info().simd));`;
  const { stdout } = await run(['--input-type=commonjs', '-e', code]);
  assert.match(stdout, /^(simd128|relaxed)\n$/);
});

test('it loads in a worker, and the worker ends by itself', async () => {
  const source = `
    const { parentPort } = await import('node:worker_threads');
    const { load } = await import('ropewalk');
    const rw = await load({ simd: 'deterministic' });
    parentPort.postMessage(rw.sinusoidal({ dim: 4, positions: [1] }));`;
  const worker = new Worker(new URL('./support/evaluate.mjs', import.meta.url), { workerData: source });
  const [message, code] = await Promise.all([
    new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject)),
    new Promise((resolve) => worker.once('exit', resolve)),
  ]);
  const rw = await load({ simd: 'deterministic' });
  assertSameBits(message, rw.sinusoidal({ dim: 4, positions: [1] }));
  assert.equal(code, 0);
});

test('a module that was compiled here runs in a worker', async () => {
  const source = `
    const { parentPort } = await import('node:worker_threads');
    const { load } = await import('ropewalk');
    parentPort.once('message', async (module) => {
      parentPort.postMessage((await load({ module })).info().simd);
    });`;
  const worker = new Worker(new URL('./support/evaluate.mjs', import.meta.url), { workerData: source });
  worker.postMessage(new WebAssembly.Module(wasmOf('core.wasm')));
  const simd = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  assert.equal(simd, 'simd128');
});

test('a worker without an address, as of workerd before 2025, loads it', async () => {
  const program = `globalThis.importScripts = () => undefined;
globalThis.self = globalThis;
const { load } = await import('ropewalk');
console.log((await load()).rope({ headDim: 4 }).rotate(Float32Array.of(1, 0, 0, 0), { offset: 0 })[0]);`;
  const { stdout, stderr } = await run(['--input-type=module', '--eval', program]);
  assert.equal(stdout + stderr, '1\n');
});
