// The main entry in Node: reads the build from its file, or unpacks it from the JavaScript if there is no file.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { rolldown } from 'rolldown';
import * as inside from '../../dist/index.js';
import { enableRelaxed } from '../vectors/builds.mjs';
import { assertSameBits, random } from './support/arrays.mjs';
import { notAChoice, notOptions } from './support/bad-values.mjs';
import { folderWith } from './support/folder.mjs';
import { root, run } from './support/node.mjs';

const node = await import('ropewalk');
const relaxed = enableRelaxed();
const dist = join(root, 'dist');
const builds = ['core.wasm', 'core-relaxed.wasm'];

test('import and require() take one entry in Node, bundlers and Deno the one with the builds inside', () => {
  assert.equal(import.meta.resolve('ropewalk'), `file://${join(dist, 'node.js')}`);
  assert.equal(createRequire(import.meta.url).resolve('ropewalk'), join(dist, 'node.js'));
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  assert.deepEqual(Object.keys(exports['.']), ['types', 'module', 'deno', 'node', 'default']); // the first that fits is taken
  for (const condition of ['module', 'deno', 'default']) assert.equal(exports['.'][condition], './dist/index.js');
});

test('require() gives the module that import gives', {
  skip: !process.features.require_module && 'this Node cannot require() an ES module',
}, () => {
  assert.equal(createRequire(import.meta.url)('ropewalk').load, node.load);
});

test('it gives what the entry elsewhere gives', () => {
  const { load: _, ...others } = node;
  const { load, ...expected } = inside;
  assert.deepEqual(others, expected);
  assert.notEqual(node.load, load);
});

for (const simd of ['auto', 'deterministic']) {
  test(`load({ simd: '${simd}' }) runs the same build from a file and from inside`, async () => {
    const all = await Promise.all([node.load({ simd }), inside.load({ simd }), node.load({ simd })]);
    const x = random(64);
    const [first, ...others] = all.map((rw) => rw.rope({ headDim: 64 }).rotate(x, { offset: 12345 }));
    for (const each of others) assertSameBits(each, first);
    for (const rw of all) assert.equal(rw.info().simd, simd === 'auto' && relaxed ? 'relaxed' : 'simd128');
  });
}

test('the builds inside are the files, byte for byte', async (t) => {
  const compiled = [];
  const { getBuiltinModule } = process;
  t.after(() => Object.assign(process, { getBuiltinModule }));
  t.mock.method(WebAssembly, 'compile', async (bytes) => {
    compiled.push(bytes);
    return new WebAssembly.Module(bytes);
  });
  for (const unpack of ['at once', 'as a stream']) {
    const elsewhere = await import(`../../dist/index.js?${unpack.replaceAll(' ', '-')}`);
    if (unpack === 'as a stream') process.getBuiltinModule = undefined;
    await elsewhere.load({ simd: 'deterministic' });
    assert.ok(Buffer.from(compiled.pop()).equals(readFileSync(join(dist, builds[0]))), `${builds[0]} ${unpack}`);
    if (!relaxed) continue;
    await elsewhere.load();
    assert.ok(Buffer.from(compiled.pop()).equals(readFileSync(join(dist, builds[1]))), `${builds[1]} ${unpack}`);
  }
});

test('both refuse the same', async () => {
  for (const { load } of [node, inside]) {
    for (const { value } of notOptions) await assert.rejects(load(value), inside.ArgumentTypeError);
    for (const { value, error } of notAChoice) await assert.rejects(load({ simd: value }), error);
  }
});

// Loads twice, and tells whether the builds were unpacked.
const script = (path) => `
  const { getBuiltinModule } = process;
  const asked = new Set();
  process.getBuiltinModule = (name) => { asked.add(name); return getBuiltinModule(name); };
  const { load } = await import(${JSON.stringify(path)});
  const info = (await load({ simd: 'deterministic' })).info();
  const again = (await load()).rope({ headDim: 64 }).rotate(new Float32Array(64).fill(1), { offset: 1 });
  console.log(JSON.stringify([info.simd, again[0], asked.has('node:zlib')]));`;
const rotated = Math.fround(Math.cos(1) - Math.sin(1));
const noBuiltins = !process.getBuiltinModule && 'this Node gives no module of its own at once';

async function assertLoads(path, unpacks, flags = []) {
  const { stdout, stderr } = await run([...flags, '--input-type=module', '-e', script(path)]);
  const [simd, value, unpacked] = JSON.parse(stdout);
  assert.equal(simd, 'simd128');
  assert.ok(Math.abs(value - rotated) < 1e-6, `${value}`);
  if (!noBuiltins) assert.equal(unpacked, unpacks);
  assert.equal(stderr, '');
}

test('it unpacks nothing', { skip: noBuiltins }, () => assertLoads(join(dist, 'node.js'), false));

// A copy of the package in which the files of the builds are `change(bytes, bytes of the other build)`, or not there.
function copyWith(t, change) {
  const folder = folderWith(t, { 'package.json': '{"type":"module"}' });
  cpSync(dist, folder, { recursive: true });
  const [one, two] = builds.map((name) => readFileSync(join(folder, name)));
  for (const [name, ...bytes] of [
    [builds[0], one, two],
    [builds[1], two, one],
  ]) {
    rmSync(join(folder, name));
    const changed = change(...bytes);
    if (changed !== undefined) writeFileSync(join(folder, name), changed);
  }
  return join(folder, 'node.js');
}

const changes = {
  'is not there': () => undefined,
  'is cut': (bytes) => bytes.subarray(0, 10_000),
  'is no WebAssembly': () => 'no',
  'is another module': () => Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0),
  'is of another version': (bytes) => Buffer.concat([bytes.subarray(0, -4), Buffer.from('0000')]),
  'is the other build': (_, other) => other,
};
for (const [what, change] of Object.entries(changes)) {
  test(`where the file ${what}, the build inside is loaded`, (t) => assertLoads(copyWith(t, change), true));
}

test('where the file is as it was, it is read', (t) =>
  assertLoads(
    copyWith(t, (bytes) => bytes),
    false,
  ));

test('where the file may not be read, the build inside is loaded', {
  skip: !process.allowedNodeEnvironmentFlags.has('--permission') && 'this Node has no permission model',
}, async (t) => {
  const path = copyWith(t, (bytes) => bytes);
  const allowed = readdirSync(dirname(path)).filter((name) => /\.js(on)?$/.test(name));
  const flags = allowed.map((name) => `--allow-fs-read=${join(dirname(path), name)}`);
  await assertLoads(path, true, ['--permission', ...flags]);
});

// A bundle in a folder of its own, where no file of the package is.
for (const [format, ending] of Object.entries({ esm: 'mjs', cjs: 'cjs' })) {
  test(`a bundle for Node in ${format} has the builds inside and asks for no file`, async (t) => {
    const folder = folderWith(t, { 'main.mjs': "export * from 'ropewalk';" });
    const bundle = await rolldown({
      input: join(folder, 'main.mjs'),
      platform: 'node',
      resolve: { alias: { ropewalk: join(dist, 'node.js') } },
    });
    const names = { entryFileNames: `main.${ending}`, chunkFileNames: `[name].${ending}` };
    const { output } = await bundle.write({ dir: join(folder, 'out'), format, ...names });
    assert.deepEqual(
      output.filter(({ type }) => type === 'asset'),
      [],
    );
    await assertLoads(join(folder, 'out', names.entryFileNames), true);
  });
}

test('a bundle for Node in one file has the builds inside', async (t) => {
  const folder = folderWith(t, { 'main.mjs': "export * from 'ropewalk';" });
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules', 'ropewalk'), 'dir');
  const bundle = await rolldown({ input: join(folder, 'main.mjs'), platform: 'node' });
  const { output } = await bundle.write({ file: join(folder, 'out', 'main.mjs') });
  assert.equal(output.length, 1);
  assert.doesNotMatch(output[0].code, /core-relaxed\.wasm/);
  await assertLoads(join(folder, 'out', 'main.mjs'), true);
});
