// Regressions in the checks of a KV cache: forged bytes, arguments that change the cache while they are read, keys that
// left another cache's window, disposed plans.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomArray } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { inUse } from '../support/peak.mjs';

const sizes = { kvHeads: 2, headDim: 8 };
const tokens = (count, heads = 2) => randomArray([1, heads, count, 8], count + heads);

// Words of a saved cache, by name; the body follows.
const [axes, keys, windowSize, someLeft, storage, checksum, body] = [7, 10, 11, 17, 19, 20, 21];
const mask = (1n << 64n) - 1n;

// The bytes with some words replaced and the checksum that goes with them.
function forged(bytes, edits) {
  const words = new BigUint64Array(bytes.slice(0));
  for (const [at, word] of edits) words[at] = word;
  let sum = 0x6a09e667f3bcc908n;
  words.forEach((word, i) => {
    if (i === checksum) return;
    const mixed = sum ^ word;
    sum = (((mixed << 29n) | (mixed >> 35n)) * 0x9e3779b97f4a7c15n) & mask;
  });
  words[checksum] = sum;
  return words.buffer;
}

// Saved bytes of `length` tokens with room for places on `count` axes behind the origins.
function withPlaces(bytes, length, count) {
  const words = [...new BigUint64Array(bytes)];
  words.splice(body + 3 * length, 0, ...Array.from({ length: count * length }, () => 7n));
  words[2] = BigInt(words.length * 8);
  return forged(BigUint64Array.from(words).buffer, [[axes, BigInt(count)]]);
}

await onEachBuild((rw) => {
  test('forged bytes with a right checksum are refused as altered', () => {
    const plan = rw.rope({ headDim: 8 });
    const windowed = rw.kvCache({ ...sizes, window: { size: 3 } }).append(tokens(6), tokens(6));
    const plain = rw.kvCache(sizes).append(tokens(5), tokens(5));
    const roped = rw.kvCache({ ...sizes, rope: { plan } }).append(tokens(5), tokens(5));
    windowed.append(tokens(1), tokens(1));
    const halves = rw
      .kvCache({ ...sizes, storage: 'float16' })
      .append(tokens(5), tokens(5))
      .save();
    const [left, bytes, turned] = [windowed.save(), plain.save(), roped.save()];
    const forgeries = {
      'places of a cache without rope': [2, 3, 4].map((count) => withPlaces(bytes, 5, count)),
      'places of one axis': [withPlaces(turned, 5, 2)],
      'positions that do not ascend': [forged(bytes, [[body + 1, 0n]])],
      'positions beyond 2^53': [forged(bytes, [[body + 4, 1n << 60n]])],
      'an origin beyond 2^53': [forged(turned, [[body + 1 + 5, 1n << 60n]])],
      'an origin of no plan': [forged(turned, [[body + 1 + 6, 9n]])],
      'no batch': [forged(plain.truncate(0).save(), [[3, 0n]])],
      'keys that left no window': [forged(left, [[windowSize, 0n]]), forged(bytes, [[someLeft, 1n]])],
      'sinks of no window': [forged(bytes, [[12, 3n]])],
      'a rebased window of nothing': [forged(bytes, [[13, 1n]])],
      'rope without a plan': [forged(bytes, [[keys, 1n]])],
      'another format, or one that no cache has': [
        ...[1n, 2n, 8n, 12n, 1n << 40n].map((type) => forged(bytes, [[storage, type]])),
        forged(halves, [[storage, 2n]]), // bfloat16, of the same size
      ],
      'a window larger than its fixed capacity': [
        forged(bytes, [
          [9, 0n],
          [windowSize, 1000n],
        ]),
      ],
    };
    const before = inUse(rw);
    for (const [name, all] of Object.entries(forgeries)) {
      for (const each of all) {
        const refused = { name: 'ArgumentRangeError', argument: 'buffer', message: /was cut or altered/ };
        assert.throws(() => rw.restoreKvCache(each, { plan }), refused, name);
      }
    }
    assert.deepEqual(inUse(rw), before);
    rw.restoreKvCache(forged(bytes, [])).dispose();
    for (const each of [windowed, plain, roped, plan]) each.dispose();
  });

  test('options that are undefined are options that are not given', () => {
    const cache = rw.kvCache(sizes).append(tokens(5), tokens(5));
    const q = tokens(5, 4);
    assert.deepEqual(cache.attend(q, { causal: undefined }).out, cache.attend(q).out);
    assert.notDeepEqual(cache.attend(q, { causal: false }).out, cache.attend(q).out);
    cache.dispose();
  });

  test('an argument that changes the cache while it is read is refused, and no other memory is touched', () => {
    const others = Array.from({ length: 40 }, () => rw.tensor([64]).set(new Float32Array(64).fill(5)));
    const changes = {
      append: (cache) => cache.append(tokens(900), tokens(900)),
      drop: (cache) => cache.drop(0, 2),
      truncate: (cache) => cache.truncate(1),
      shift: (cache) => cache.shift(4),
      reset: (cache) => cache.reset(),
      merge: (cache) => cache.merge(others.cache),
    };
    others.cache = rw.kvCache(sizes).append(tokens(3), tokens(3));
    const q = tokens(1, 4);
    const asks = {
      shape: (once) => [
        {
          data: q.data,
          get shape() {
            once();
            return q.shape;
          },
        },
      ],
      mask: (once) => [
        q,
        {
          mask: {
            shape: [1, 6],
            get data() {
              once();
              return new Uint8Array(6).fill(1);
            },
          },
        },
      ],
      causal: (once) => [
        q,
        {
          get causal() {
            once();
            return true;
          },
        },
      ],
    };
    for (const [change, apply] of Object.entries(changes)) {
      for (const [ask, argumentsOf] of Object.entries(asks)) {
        const cache = rw.kvCache({ ...sizes, capacity: 1000 }).append(tokens(6), tokens(6));
        let done = false;
        const once = () => {
          if (!done) apply(cache);
          done = true;
        };
        const [given, options = {}] = argumentsOf(once);
        const refused = { name: 'StateError', message: /kvCache\.attend: .*changed/ };
        assert.throws(
          () => cache.attend(given, Object.assign(options, { returnScores: 'raw' })),
          refused,
          `${change} by ${ask}`,
        );
        cache.append(tokens(1), tokens(1)).attend(q);
        cache.dispose();
      }
    }
    for (const other of others) {
      assert.ok(other.data().every((x) => x === 5));
      other.dispose();
    }
    others.cache.dispose();
  });

  test('merged tokens know that keys left their window', () => {
    const window = { size: 3 };
    const from = rw.kvCache({ ...sizes, window });
    for (let i = 0; i < 6; ++i) from.append(tokens(1), tokens(1));
    const into = rw.kvCache({ ...sizes, window }).merge(from);
    const refused = { name: 'ArgumentRangeError', argument: 'queryOffset' };
    assert.throws(() => from.attend(tokens(2, 4)), refused);
    assert.throws(() => into.attend(tokens(2, 4)), refused);
    const q = tokens(1, 4);
    assert.deepEqual(into.attend(q).out, from.attend(q).out);
    for (const each of [from, into]) each.dispose();
  });

  test('a cache whose plan is gone takes another one if nothing needs the old one', () => {
    const use = (keys, count, reset) => {
      const [first, second] = [rw.rope({ headDim: 8 }), rw.rope({ headDim: 8, base: 10 })];
      const cache = rw.kvCache({ ...sizes, rope: { plan: first, keys } }).append(tokens(count), tokens(count));
      if (reset) cache.reset();
      first.dispose();
      assert.throws(() => cache.append(tokens(1), tokens(1)), { name: 'StateError', message: /plan/ });
      const left = cache.length;
      const expected = rw.kvCache({ ...sizes, rope: { plan: second, keys } }).append(tokens(left), tokens(left));
      for (const each of [cache.switchTo(second), expected]) each.append(tokens(2), tokens(2));
      assert.deepEqual(cache.keys(), expected.keys());
      for (const each of [cache, expected, second]) each.dispose();
    };
    use('rotated', 0, false);
    use('rotated', 4, true);
    use('unrotated', 4, false);
  });

  test('places of several axes go on behind the farthest that is left', () => {
    const plan = rw.rope({ headDim: 8, axes: { layout: 'sections', sections: [2, 1, 1] } });
    const image = [
      [3, 3, 3],
      [0, 9, 1],
      [0, 1, 2],
    ];
    const next = (change) => {
      const cache = rw.kvCache({ ...sizes, rope: { plan } }).append(tokens(3), tokens(3), { positions: image });
      change(cache);
      const at = cache.length;
      cache.append(tokens(1), tokens(1));
      const key = cache.keys();
      const found = [...Array(40).keys()].filter((place) => {
        const expected = rw.kvCache({ ...sizes, rope: { plan } });
        expected.append(tokens(1), tokens(1), { positions: [[place], [place], [place]] });
        const { data } = expected.keys();
        expected.dispose();
        return data.subarray(0, 8).every((x, i) => Math.abs(x - key.data[at * 8 + i]) < 1e-6);
      });
      cache.dispose();
      return found;
    };
    assert.deepEqual(
      next(() => {}),
      [10],
    );
    assert.deepEqual(
      next((cache) => cache.drop(1, 1)),
      [4],
    );
    assert.deepEqual(
      next((cache) => cache.shift(5)),
      [15],
    );
    assert.deepEqual(
      next((cache) => cache.append(tokens(2), tokens(2))),
      [12],
    );
    assert.deepEqual(
      next((cache) => cache.reset()),
      [0],
    );
    plan.dispose();
  });
});
