// Instances: info() and memory(), and their independence from each other.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertSameBits, randomArray } from './support/arrays.mjs';
import { inUse } from './support/peak.mjs';

const packageJson = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const rw = await load({ simd: 'deterministic' });

test('info() tells the version of the package and the build', () => {
  assert.equal(rw.info().version, packageJson.version);
  assert.equal(rw.info().simd, 'simd128');
  assert.throws(() => {
    rw.info().simd = 'relaxed';
  }, TypeError);
});

test('memory() counts bytes and objects, and nothing is used by plain calls', () => {
  const before = inUse(rw);
  assert.ok(before.heapBytes >= before.usedBytes);
  assert.equal(before.liveObjects, 0);
  const x = rw.tensor([1000]);
  assert.equal(rw.memory().liveObjects, 1);
  assert.ok(rw.memory().usedBytes >= before.usedBytes + 4000);
  x.dispose();
  const a = randomArray([4, 4]);
  rw.attention(a, a, a);
  rw.sinusoidal({ dim: 4, positions: { length: 4 } });
  assert.deepEqual(inUse(rw), before);
});

test('two instances have heaps of their own and give the same bits', async () => {
  const other = await load({ simd: 'deterministic' });
  const before = inUse(other);
  const x = rw.tensor([1e6]);
  assert.deepEqual(inUse(other), before);
  const a = randomArray([5, 8]);
  assertSameBits(rw.attention(a, a, a).out.data, other.attention(a, a, a).out.data);
  x.dispose();
});

test('what an instance makes tells how it was made', () => {
  const plan = rw.rope({ headDim: 8, rotaryDim: 4, pairing: 'interleaved', angles: 'float32' });
  const { headDim, rotaryDim, pairing, angles, attentionFactor } = plan;
  const expected = { headDim: 8, rotaryDim: 4, pairing: 'interleaved', angles: 'float32', attentionFactor: 1 };
  assert.deepEqual({ headDim, rotaryDim, pairing, angles, attentionFactor }, expected);
  const usual = rw.rope({ headDim: 8 });
  assert.deepEqual([usual.rotaryDim, usual.pairing, usual.angles], [8, 'half', 'exact']);

  const layer = rw.attentionLayer({ modelDim: 8, heads: 4, kvHeads: 2, headDim: 6, causal: true });
  const { modelDim, heads, kvHeads, causal, encoding } = layer;
  const made = { modelDim: 8, heads: 4, kvHeads: 2, causal: true, encoding: 'none' };
  assert.deepEqual({ modelDim, heads, kvHeads, causal, encoding }, made);
  assert.equal(layer.headDim, 6);
  for (const each of [plan, usual, layer]) each.dispose();
});

test('methods work on the instance that they are taken from, and say so where they do not', () => {
  const { tensor } = rw;
  assert.throws(() => tensor([1]), TypeError);
  assert.equal(Reflect.apply(tensor, rw, [[1]]).size, 1);
});
