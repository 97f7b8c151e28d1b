// The tiny models as files: the package reads the numbers that the reference uses.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { openSafetensors } from 'ropewalk/models';
import { folderWith } from '../ts/support/folder.mjs';
import { run } from '../ts/support/node.mjs';
import { safetensorsOf } from './tiny/files.mjs';
import { tinyModel, variants } from './tiny/models.mjs';
import { decode, encode, normals } from './tiny/numbers.mjs';
import { smollm2Pieces } from './tiny/smollm2.mjs';

const rw = await load({ simd: 'deterministic' });

const make = (...args) => run(['tests/models/make.mjs', ...args]);

async function assertHolds(file, { tensors }) {
  assert.deepEqual([...file.names].sort(), Object.keys(tensors).sort());
  assert.deepEqual([...file.metadata], [['format', 'pt']]);
  for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
    const { dtype: type, shape: size } = file.info(name);
    assert.deepEqual([name, type, size], [name, dtype, shape]);
    assert.deepEqual(await file.tensor(name), data, name);
    if (!['F16', 'BF16', 'F32'].includes(dtype)) continue;
    assert.deepEqual(Float64Array.from(await file.tensor(name, { as: 'float32' })), decode(dtype, data), name);
  }
}

test('every tiny model is a file that the package reads, with the numbers that the reference takes', async () => {
  for (const name of variants) {
    const model = tinyModel(name);
    const bytes = safetensorsOf(model);
    assert.ok(bytes.length < 400_000, `${name} has ${bytes.length} bytes`);
    const file = await openSafetensors(rw, bytes);
    await assertHolds(file, model);
    file.dispose();
  }
});

test('a seed gives the same numbers each time, another seed others', () => {
  assert.deepEqual(tinyModel('gemma2'), tinyModel('gemma2'));
  const [one, two] = [1, 2].map((seed) => tinyModel('gemma2', { seed }).tensors['model.norm.weight'].data);
  assert.notDeepEqual(one, two);
});

test('numbers are rounded to the nearest that a type holds', () => {
  const values = [0, -0, 1, -2, 65504, 6e-8, 2.9e-8, 5.96e-8, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 1 - 2 ** -12, 6.1e-5];
  const half = [0, -0, 1, -2, 65504, 2 ** -24, 0, 2 ** -24, 1, 1 + 2 ** -9, 1, 1023 * 2 ** -24];
  assert.deepEqual([...decode('F16', encode('F16', values))], half);
  const wide = [0, 1 + 2 ** -8, 1 + 3 * 2 ** -8, -(1 + 2 ** -8 + 2 ** -20)];
  assert.deepEqual([...decode('BF16', encode('BF16', wide))], [0, 1, 1 + 2 ** -6, -(1 + 2 ** -7)]);
  for (const [dtype, bits] of [
    ['F16', 11],
    ['BF16', 8],
  ]) {
    const numbers = normals(4000, 3);
    const kept = decode(dtype, encode(dtype, numbers));
    numbers.forEach((x, i) => {
      assert.ok(Math.abs(kept[i] - x) <= Math.max(2 ** -bits * Math.abs(x), 2 ** -25), `${x} to ${kept[i]}`);
    });
  }
});

test('normal numbers have mean 0 and deviation 1', () => {
  const numbers = normals(40000, 9);
  const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
  const square = numbers.reduce((sum, x) => sum + x * x, 0) / numbers.length;
  // 4 deviations of each mean of 40000.
  assert.ok(Math.abs(mean) < 0.02 && Math.abs(square - 1) < 0.03, `${mean} ${square}`);
});

test('the command writes a model into a folder, in one file or several', async (t) => {
  const folder = folderWith(t);
  await make('llama3', join(folder, 'one'));
  await make('llama3', join(folder, 'three'), '3');
  const model = tinyModel('llama3');
  for (const [part, name, files] of [
    ['one', 'model.safetensors', 2],
    ['three', 'model.safetensors.index.json', 5],
  ]) {
    assert.equal(readdirSync(join(folder, part)).length, files);
    assert.deepEqual(JSON.parse(readFileSync(join(folder, part, 'config.json'), 'utf8')), model.config);
    const file = await openSafetensors(rw, join(folder, part, name));
    await assertHolds(file, model);
    file.dispose();
  }
});

test('the command tells what it takes', async (t) => {
  await assert.rejects(
    make(),
    ({ code, stderr }) => code === 2 && /use: .*NAME DIR.*smollm2-135m, .*gemma3/s.test(stderr),
  );
  await assert.rejects(make('llama9', folderWith(t)), ({ stderr }) =>
    /no model named llama9; expected one of/.test(stderr),
  );
});

test("the large model has SmolLM2-135M's tensors", async () => {
  // The header, without the 270 MB that it speaks of.
  const { value: bytes } = smollm2Pieces().next();
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8)));
  const { __metadata__: metadata, ...tensors } = header;
  assert.deepEqual(metadata, { format: 'pt' });
  assert.equal(Object.keys(tensors).length, 272);
  const sizes = Object.values(tensors).map(({ shape }) => shape.reduce((product, n) => product * n, 1));
  assert.equal(
    sizes.reduce((sum, n) => sum + n, 0),
    134_515_008,
  );
  assert.deepEqual(tensors['model.layers.29.self_attn.k_proj.weight'].shape, [192, 576]);
  assert.equal(bytes.length % 8, 0);
});
