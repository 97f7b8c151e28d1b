// Memory of attention besides inputs and results: linear in the number of tokens; and attention with a full heap.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, OutOfMemoryError } from 'ropewalk';
import { randomArray } from '../support/arrays.mjs';
import { extraBytes } from '../support/peak.mjs';

const D = 64;

test('memory() tells the most bytes in use at once, from resetPeak() on', async () => {
  const rw = await load({ simd: 'deterministic' });
  rw.resetPeak();
  const { usedBytes, peak } = rw.memory();
  assert.equal(peak, usedBytes);
  const one = rw.tensor([1000]);
  const two = rw.tensor([2000]);
  one.dispose();
  two.dispose();
  assert.equal(rw.memory().usedBytes, usedBytes);
  const most = rw.memory().peak - usedBytes;
  assert.ok(most >= 12000 && most < 12000 + 4096 + 256, `${most}`); // and room for an object at most
  rw.resetPeak();
  assert.equal(rw.memory().peak, usedBytes);
});

for (const heads of [1, 8]) {
  test(`attention of ${heads} heads takes memory in proportion to the tokens, and far less than the scores`, async () => {
    const rw = await load({ simd: 'deterministic' });
    const [small, large] = [1024, 4096].map((tokens) => extraBytes(rw, tokens, heads, D));
    assert.ok(large / small <= 4.5, `${small} bytes, then ${large}`);
    assert.ok(large < (4096 * 4096 * 4) / 8, `${large}`);
  });
}

test('attention of 16384 tokens takes at most 4.5 times what 4096 take', async () => {
  const rw = await load({ simd: 'deterministic' });
  const [small, large] = [4096, 16384].map((tokens) => extraBytes(rw, tokens, 1, D, { window: { left: 64 } }));
  assert.ok(large / small <= 4.5, `${small} bytes, then ${large}`);
  assert.ok(large < (16384 * 16384 * 4) / 50, `${large}`);
});

test('scores that do not fit are refused, and what fits works again', async () => {
  const rw = await load({ simd: 'deterministic' });
  const [q, k] = [randomArray([1, 64, 4096, 1]), randomArray([1, 64, 4096, 1])];
  const before = rw.memory();
  // 64 * 4096 * 4096 scores of 4 bytes are all that 2^32 bytes can hold.
  assert.throws(() => rw.attention(q, k, k, { returnScores: 'raw' }), OutOfMemoryError);
  assert.equal(rw.memory().usedBytes, before.usedBytes);
  assert.equal(rw.attention(q, k, k, { window: { left: 1, right: 1 } }).out.data.length, 64 * 4096);
});
