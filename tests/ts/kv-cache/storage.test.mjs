// Caches that store float16 and q8_0 blocks: rounding, memory, attention, moves, saving; alike on each build.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertClose, assertSameBits, randomArray } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';

const [B, H, G, T, D] = [2, 4, 2, 37, 64];
const [q, k, v] = [randomArray([B, H, T, D], 1), randomArray([B, G, T, D], 2), randomArray([B, G, T, D], 3)];
const sizes = { batch: B, kvHeads: G, headDim: D };
const stored = ['float16', 'q8_0'];
const largest = (data) => data.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
// Of a number beside the largest of its block: half a step of 1/127, and the rounding of the scale.
const error = { float16: 2 ** -11, q8_0: 0.5 / 127 + 2 ** -11 };

// Each number within the error that its format states: of its own magnitude, and in q8_0 of the largest of its 32.
function assertRounded(got, want, storage) {
  assert.equal(got.length, want.length);
  for (let start = 0; start < want.length; start += 32) {
    const block = storage === 'q8_0' ? largest(want.subarray(start, start + 32)) / 254 : 0;
    for (let i = start; i < start + 32; ++i) {
      const most = block + Math.max(Math.abs(want[i]) * 2 ** -11, storage === 'q8_0' ? 0 : 2 ** -25);
      assert.ok(Math.abs(got[i] - want[i]) <= most * (1 + 2 ** -20), `${i}: ${got[i]}, given ${want[i]}`);
    }
  }
}

// What the first build stored and saved, by format.
const first = new Map();
const firstSaved = new Map();

await onEachBuild((rw) => {
  // A test that frees what it made.
  const made = [];
  const keep = (handle) => made[made.push(handle) - 1];
  const freeing = (name, work) =>
    test(name, () => {
      try {
        work();
      } finally {
        for (const handle of made.splice(0).reverse()) handle.dispose();
      }
    });
  const filled = (options) => rw.kvCache({ ...sizes, ...options }).append(k, v);

  freeing('a cache says its format, and float32 is the default', () => {
    const plain = keep(rw.kvCache(sizes));
    assert.equal(plain.storage, 'float32');
    for (const storage of ['float32', ...stored]) {
      const cache = keep(rw.kvCache({ ...sizes, storage }));
      assert.equal(cache.storage, storage);
      const copy = keep(cache.copyPrefix(0));
      assert.equal(copy.storage, storage);
    }
  });

  freeing('keys and values are rounded within the stated error, to the same bits on each build', () => {
    for (const storage of stored) {
      const cache = keep(filled({ storage }));
      const [keys, values] = [cache.keys().data, cache.values().data];
      assertRounded(keys, k.data, storage);
      assertRounded(values, v.data, storage);
      const before = first.get(storage) ?? { keys, values };
      first.set(storage, before);
      assertSameBits(keys, before.keys);
      assertSameBits(values, before.values);
    }
  });

  freeing('bytes follow the format', () => {
    const bytes = (storage) => {
      const cache = keep(rw.kvCache({ kvHeads: 3, headDim: 64, capacity: 2048, storage }));
      return cache.bytes;
    };
    const numbers = 3 * 2 * 64 * 2048;
    const rest = bytes('float32') - 4 * numbers;
    assert.equal(bytes('float16'), rest + 2 * numbers);
    assert.equal(bytes('q8_0'), rest + (numbers / 32) * 34);
    assert.ok(rest <= 24 * 2048 + 64);
  });

  freeing('attention gives what it gives over the rounded numbers', () => {
    for (const storage of stored) {
      const cache = keep(filled({ storage }));
      const wide = keep(rw.kvCache(sizes).append(cache.keys(), cache.values()));
      for (const position of [undefined, { encoding: 'alibi' }]) {
        const options = { returnScores: ['raw', 'probabilities'], ...(position && { position }) };
        const got = cache.attend(q, options);
        const expected = wide.attend(q, options);
        assertSameBits(got.out.data, expected.out.data);
        for (const stage of ['raw', 'probabilities'])
          assertSameBits(got.scores[stage].data, expected.scores[stage].data);
      }
    }
  });

  freeing('shifts round moved keys once more, and no further', () => {
    const plan = keep(rw.rope({ headDim: D }));
    for (const storage of stored) {
      for (const keys of ['rotated', 'unrotated']) {
        const cache = keep(filled({ storage, rope: { plan, keys } }));
        const often = keep(cache.copyPrefix());
        const exact = keep(filled({ rope: { plan, keys } }));
        for (let i = 0; i < 30; ++i) assert.equal(often.shift(10).keys().data.length, k.data.length);
        assertSameBits(often.keys().data, cache.shift(300).keys().data);
        const most = Math.SQRT2 * largest(k.data);
        assertClose(cache.keys().data, exact.shift(300).keys().data, (1 + Math.SQRT2) * error[storage] * most);
      }
    }
  });

  freeing('a cache is saved in its format and restored with it', () => {
    const plan = keep(rw.rope({ headDim: D }));
    const saved = ['float32', ...stored].map((storage) => {
      const cache = keep(filled({ storage, rope: { plan } }).drop(3, 2).shift(4, { first: 9 }));
      const bytes = cache.save();
      const copy = keep(rw.restoreKvCache(bytes, { plan }));
      assert.equal(copy.storage, storage);
      assertSameBits(copy.keys().data, cache.keys().data);
      assertSameBits(copy.values().data, cache.values().data);
      assert.deepEqual(copy.save(), bytes);
      // What another build saved.
      const others = firstSaved.get(storage) ?? bytes;
      firstSaved.set(storage, others);
      assert.deepEqual(keep(rw.restoreKvCache(others, { plan })).save(), others);
      return bytes.byteLength;
    });
    const numbers = B * G * (T - 2) * 2 * D;
    const rest = saved[0] - 4 * numbers;
    assert.deepEqual(
      saved,
      [4 * numbers, 2 * numbers, (numbers / 32) * 34].map((bytes) => rest + bytes),
    );
  });

  freeing('only caches of one format are merged', () => {
    for (const storage of stored) {
      const cache = keep(filled({ storage }));
      const same = keep(filled({ storage }));
      const other = keep(filled({}));
      assert.equal(cache.merge(same).length, 2 * T);
      const refused = { name: 'ArgumentRangeError', argument: 'other', message: /float32/ };
      assert.throws(() => cache.merge(other), refused);
      assert.equal(cache.length, 2 * T);
    }
  });

  freeing('float16 takes heads of any size', () => {
    const x = randomArray([1, 1, 9, 5], 4);
    const cache = keep(rw.kvCache({ kvHeads: 1, headDim: 5, storage: 'float16' }).append(x, x));
    const wide = keep(rw.kvCache({ kvHeads: 1, headDim: 5 }).append(cache.keys(), cache.values()));
    assertSameBits(cache.attend(x).out.data, wide.attend(x).out.data);
  });
});
