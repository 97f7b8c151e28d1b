// The KV cache: its contents, attention over it, saving. For refusals see refusals.test.mjs, for random operations
// sequences.test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StateError } from 'ropewalk';
import { assertClose, assertSameBits, randomArray, swapHeadsAndTokens } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { fireParameters } from '../support/fire.mjs';
import { inUse } from '../support/peak.mjs';

const [B, H, G, T, D, Dv] = [2, 6, 2, 23, 8, 6];
const [q, k, v] = [randomArray([B, H, T, D], 1), randomArray([B, G, T, D], 2), randomArray([B, G, T, Dv], 3)];
const sizes = { batch: B, kvHeads: G, headDim: D, valueDim: Dv };

/** Tokens [first, first + count) of [B, H, T, D]. */
function part({ data, shape: [batch, heads, tokens, dim] }, first, count = 1) {
  const rows = Array.from({ length: batch * heads }, (_, head) => {
    const at = (head * tokens + first) * dim;
    return [...data.subarray(at, at + count * dim)];
  });
  return { data: Float32Array.from(rows.flat()), shape: [batch, heads, count, dim] };
}

const swapped = ({ data, shape }) => ({
  data: swapHeadsAndTokens(data, shape),
  shape: [shape[0], shape[2], shape[1], shape[3]],
});

// Three turns of 4 roundings each, at pairs no longer than sqrt 2.
const bound = 12 * 2 ** -24 * Math.SQRT2;
const largest = (data) => data.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

const encodings = {
  none: {},
  alibi: { position: { encoding: 'alibi' } },
  t5: { position: { encoding: 't5', table: randomArray([8, H], 4), numBuckets: 8, maxDistance: 12 } },
  kerple: {
    position: { encoding: 'kerple', r1: new Float32Array(H).fill(1), r2: new Float32Array(H).fill(0.5) },
  },
  sandwich: { position: { encoding: 'sandwich', dim: 16, base: 100 } },
  fire: { position: { encoding: 'fire', ...fireParameters(H) } },
  shaw: { position: { encoding: 'shaw', keys: randomArray([5, D], 5), values: randomArray([5, Dv], 6) } },
  relative_key: { position: { encoding: 'relative_key', table: randomArray([2 * T + 1, D], 7) } },
  relative_key_query: { position: { encoding: 'relative_key_query', table: randomArray([2 * T + 1, D], 7) } },
  m3: { position: { encoding: 'm3', table: randomArray([2 * T + 1, D], 7) } },
};

await onEachBuild((rw) => {
  // Caches and plans of one test, freed behind it.
  const using = (work) => {
    const made = [];
    const keep = (handle) => made[made.push(handle) - 1];
    try {
      return work({
        cache: (options = {}) => keep(rw.kvCache({ ...sizes, ...options })),
        plan: (options = {}) => keep(rw.rope({ headDim: D, ...options })),
        keep,
      });
    } finally {
      for (const handle of made) handle.dispose();
    }
  };

  // Feeds all tokens in pieces; compares every result with the same rows of the whole one.
  const inPieces = (cache, size, whole, options = {}) => {
    for (let first = 0; first < T; first += size) {
      const count = Math.min(size, T - first);
      const { out } = cache.append(part(k, first, count), part(v, first, count)).attend(part(q, first, count), options);
      assertClose(out.data, part(whole, first, count).data, 2e-6 * largest(whole.data));
    }
  };

  for (const [name, options] of Object.entries(encodings)) {
    test(`attention in pieces is that of one call, with ${name}`, () => {
      const whole = rw.attention(q, k, v, { causal: true, ...options }).out;
      for (const size of [1, 4, T - 1, T]) using(({ cache }) => inPieces(cache(), size, whole, options));
    });

    test(`tokens after a gap are attended to at their true positions, with ${name}`, () => {
      using(({ cache }) => {
        const kept = cache()
          .append(part(k, 0, 20), part(v, 0, 20))
          .drop(3, 9);
        const list = [...kept.positions()];
        assert.deepEqual(list, [0, 1, 2, 12, 13, 14, 15, 16, 17, 18, 19]);
        const [keys, values] = [kept.keys(), kept.values()];
        const want = rw.attention(part(q, 18, 2), keys, values, { causal: true, keyPositions: list, ...options });
        assertSameBits(kept.attend(part(q, 18, 2), options).out.data, want.out.data);
      });
    });
  }

  for (const keys of ['rotated', 'unrotated']) {
    test(`attention in pieces is that of one call, with rope, ${keys} keys`, () => {
      for (const options of [{}, { pairing: 'interleaved' }, { xpos: { scaleBase: 64 } }]) {
        using(({ cache, plan: planOf }) => {
          const plan = planOf(options);
          const whole = rw.attention(q, k, v, { causal: true, position: { encoding: 'rope', plan } }).out;
          for (const size of [1, 5, T]) inPieces(cache({ rope: { plan, keys } }), size, whole);
        });
      }
    });

    test(`a thousand shifts by one are one shift by a thousand, bit for bit, ${keys} keys`, () => {
      using(({ cache, plan: planOf }) => {
        const plan = planOf({ scaling: { type: 'yarn', factor: 4, originalLength: 64 } });
        const [often, once] = [0, 1].map(() => cache({ rope: { plan, keys } }).append(k, v, { offset: 1000 }));
        for (let i = 0; i < 1000; ++i) often.shift(-1);
        assertSameBits(often.keys().data, once.shift(-1000).keys().data);
        assertClose(once.keys().data, plan.rotate(k, { offset: 0 }).data, bound * plan.attentionFactor);
        for (let i = 0; i < 100; ++i) often.shift(12_345_678_901).shift(-12_345_678_901);
        assertSameBits(often.shift(1000).keys().data, plan.rotate(k, { offset: 1000 }).data);
      });
    });

    test(`switchTo reads keys as another plan would have turned them, ${keys} keys`, () => {
      using(({ cache, plan: planOf }) => {
        const plan = planOf();
        const kept = cache({ rope: { plan, keys } }).append(k, v, { offset: 20 });
        const first = kept.keys().data;
        for (const options of [
          { scaling: { type: 'yarn', factor: 4, originalLength: 64 } },
          { scaling: { type: 'dynamic', factor: 2, maxLength: 16, sequenceLength: 40 } },
          { base: 100 },
        ]) {
          const other = planOf(options);
          const factor = other.attentionFactor;
          assertClose(kept.switchTo(other).keys().data, other.rotate(k, { offset: 20 }).data, bound * factor);
          assertClose(kept.shift(30).keys().data, other.rotate(k, { offset: 50 }).data, bound * factor);
          kept.shift(-30);
        }
        assertSameBits(kept.switchTo(plan).keys().data, first);
      });
    });
  }

  for (const axes of [
    { layout: 'sections', sections: [2, 1, 1] },
    { layout: 'axial', dims: [4, 2, 2] },
  ]) {
    test(`tokens with several axes move along each of them (${axes.layout})`, () => {
      using(({ cache, plan: planOf }) => {
        const plan = planOf({ axes });
        const at = [0, 1, 900].map((step) => Array.from({ length: T }, (_, t) => (t % 3 === 0 ? step : t)));
        const kept = cache({ rope: { plan } }).append(k, v, { positions: at });
        const want = rw.attention(part(q, T - 2, 2), plan.rotate(k, { positions: at }), v, {
          causal: true,
          position: { encoding: 'none' },
        });
        assert.equal(want.out.shape[2], 2);
        const turnedQueries = plan.rotate(q, { positions: at });
        assertClose(
          kept.attend(part(q, T - 2, 2)).out.data,
          rw.attention(part(turnedQueries, T - 2, 2), plan.rotate(k, { positions: at }), v, { causal: true }).out.data,
          2e-6,
        );
        const moved = at.map((list) => list.map((p) => p - 3));
        assertClose(kept.shift(-3).keys().data, plan.rotate(k, { positions: moved }).data, bound);
        const farthest = Math.max(...moved.flat());
        kept.append(part(k, 0), part(v, 0));
        const one = plan.rotate(part(k, 0), { offset: farthest + 1 });
        assertClose(part(kept.keys(), T).data, one.data, bound);
      });
    });
  }

  test('a gap closes by a shift of what follows it', () => {
    using(({ cache, plan: planOf }) => {
      const plan = planOf();
      const kept = cache({ rope: { plan } }).append(k, v).drop(4, 10).shift(-10, { first: 4 });
      assert.deepEqual(
        [...kept.positions()],
        Array.from({ length: T - 10 }, (_, i) => i),
      );
      const rest = plan.rotate(part(k, 14, T - 14), { offset: 4 });
      assertClose(part(kept.keys(), 4, T - 14).data, rest.data, bound);
      assertSameBits(part(kept.keys(), 0, 4).data, part(plan.rotate(k), 0, 4).data);
      assert.equal(kept.nextPosition, T - 10);
    });
  });

  test('every layout of keys, values and queries gives the same bits', () => {
    using(({ cache, plan: planOf, keep }) => {
      const plan = planOf();
      const [a, b, c, d] = Array.from({ length: 4 }, () => cache({ rope: { plan } }));
      const packed = ({ data, shape: [batch, tokens, heads, dim] }) => ({ data, shape: [batch, tokens, heads * dim] });
      const want = a.append(k, v).attend(q).out.data;
      const [qt, kt, vt] = [q, k, v].map(swapped);
      const byTokens = b.append(kt, vt, { layout: 'BTHD' }).attend(qt, { layout: 'BTHD' }).out;
      assert.deepEqual(byTokens.shape, [B, T, H, Dv]);
      assertSameBits(swapHeadsAndTokens(byTokens.data, byTokens.shape), want);
      const flat = c.append(packed(kt), packed(vt), { kvHeads: G }).attend(packed(qt), { heads: H }).out;
      assert.deepEqual(flat.shape, [B, T, H * Dv]);
      assertSameBits(flat.data, byTokens.data);
      const tensors = [q, k, v].map(({ shape, data }) => keep(rw.tensor(shape, data)));
      const { out } = d.append(tensors[1], tensors[2]).attend(tensors[0]);
      assertSameBits(keep(out).data(), want);
      assertSameBits(tensors[1].data(), k.data);
    });
  });

  test('scores come back in every stage, and their parts add up', () => {
    using(({ cache, plan: planOf }) => {
      const plan = planOf();
      const stages = ['content', 'position', 'raw', 'capped', 'biased', 'probabilities'];
      const want = rw.attention(q, k, v, {
        causal: true,
        position: { encoding: 'rope', plan },
        softcap: 3,
        returnScores: stages,
      });
      for (const keys of ['rotated', 'unrotated']) {
        const kept = cache({ rope: { plan, keys } }).append(k, v).shift(100).shift(-90);
        const got = kept.attend(q, { softcap: 3, returnScores: stages });
        for (const stage of stages) {
          assertClose(
            got.scores[stage].data.map((x) => (x === -Infinity ? -99 : x)),
            want.scores[stage].data.map((x) => (x === -Infinity ? -99 : x)),
            1e-5,
          );
        }
      }
    });
  });

  test('after a switch of the pairing all stages are of keys in the new order', () => {
    using(({ cache, plan: planOf }) => {
      const scaling = { type: 'yarn', factor: 4, originalLength: 64 };
      const [half, interleaved] = [planOf({ scaling }), planOf({ scaling, pairing: 'interleaved', base: 500 })];
      const stages = ['content', 'position', 'raw'];
      // Pairs (i, i + D / 2) of the keys that came first become (2 i, 2 i + 1); the last 5 come in that order.
      const paired = k.data.map((x, i, all) => {
        const [row, at] = [i - (i % D), i % D];
        const isOld = Math.floor(row / D) % T < T - 5;
        return isOld ? all[row + (at % 2 === 0 ? at / 2 : (at - 1 + D) / 2)] : x;
      });
      const want = rw.attention(q, { data: paired, shape: k.shape }, v, {
        causal: true,
        position: { encoding: 'rope', plan: interleaved },
        returnScores: stages,
      });
      const kept = cache({ rope: { plan: half } }).append(part(k, 0, T - 5), part(v, 0, T - 5));
      kept.switchTo(interleaved).append(part(k, T - 5, 5), part(v, T - 5, 5));
      const got = kept.attend(q, { returnScores: stages });
      for (const stage of stages) {
        const finite = (data) => data.map((x) => (x === -Infinity ? -99 : x));
        assertClose(finite(got.scores[stage].data), finite(want.scores[stage].data), 2e-5);
      }
    });
  });

  test('a window is that of attention, and sinks stay', () => {
    using(({ cache }) => {
      for (const sinks of [0, 2]) {
        const whole = rw.attention(q, k, v, { causal: true, window: { left: 4 }, sinkTokens: sinks }).out;
        for (const size of [1, 3, T]) {
          const kept = cache({
            window: { size: 5, sinkTokens: sinks },
            ...(size < T && { capacity: 4 + sinks + size + 1 }),
          });
          inPieces(kept, size, whole);
          if (size === 1) assert.equal(kept.length, 5 + sinks);
        }
      }
    });
  });

  test('a rebased window never counts beyond its length', () => {
    using(({ cache, plan: planOf }) => {
      const plan = planOf();
      const kept = cache({ rope: { plan }, window: { size: 4, sinkTokens: 2, positions: 'rebased' } });
      for (let t = 0; t < T; ++t) kept.append(part(k, t), part(v, t));
      assert.deepEqual([...kept.positions()], [0, 1, 2, 3, 4, 5]);
      const last = plan.rotate(part(k, T - 4, 4), { offset: 2 });
      assertClose(part(kept.keys(), 2, 4).data, last.data, bound);
    });
  });

  test('a copied prefix goes its own way', () => {
    using(({ cache, keep }) => {
      const kept = cache().append(part(k, 0, 10), part(v, 0, 10));
      const branch = keep(kept.copyPrefix(6)).append(part(k, 20), part(v, 20));
      assert.deepEqual([kept.length, branch.length], [10, 7]);
      assertSameBits(part(branch.keys(), 0, 6).data, part(k, 0, 6).data);
      assertSameBits(part(branch.keys(), 6).data, part(k, 20).data);
      assertSameBits(kept.keys().data, part(k, 0, 10).data);
      kept.dispose();
      assertSameBits(keep(branch.copyPrefix()).values().data, branch.values().data);
    });
  });

  test('merged fragments stand one behind the other', () => {
    using(({ cache, plan: planOf }) => {
      const [plan, other] = [planOf(), planOf({ scaling: { type: 'linear', factor: 2 } })];
      const kept = cache({ rope: { plan } }).append(part(k, 0, 5), part(v, 0, 5));
      const fragment = cache({ rope: { plan: other } }).append(part(k, 5, 10), part(v, 5, 10));
      kept.merge(fragment, { first: 2, count: 8 }).merge(fragment, { count: 1, at: 100 });
      assert.deepEqual([...kept.positions()], [...Array.from({ length: 13 }, (_, i) => i), 100]);
      const want = [plan.rotate(part(k, 0, 5)), plan.rotate(part(k, 7, 8), { offset: 5 })];
      assertClose(part(kept.keys(), 0, 5).data, want[0].data, bound);
      assertClose(part(kept.keys(), 5, 8).data, want[1].data, bound);
      assertClose(part(kept.keys(), 13).data, plan.rotate(part(k, 5), { offset: 100 }).data, bound);
      fragment.dispose();
      other.dispose();
      // The plan of the fragment is still needed.
      assert.throws(() => kept.keys(), StateError);
      assert.equal(kept.truncate(5).keys().data.length, 5 * B * G * D);
    });
  });

  test('a saved cache is restored to the same bits and goes on alike', () => {
    using(({ cache, plan: planOf, keep }) => {
      const [plan, other] = [planOf(), planOf({ base: 50 })];
      for (const rope of [undefined, { plan, keys: 'rotated' }, { plan, keys: 'unrotated' }]) {
        const kept = cache({ rope, window: { size: 9, sinkTokens: 1 } }).append(part(k, 0, 12), part(v, 0, 12));
        if (rope)
          kept
            .switchTo(other)
            .append(part(k, 12, 3), part(v, 12, 3))
            .shift(7, { first: 1 });
        const buffer = kept.save();
        assert.ok(buffer instanceof ArrayBuffer);
        const [equal, again] = [planOf(), planOf({ base: 50 })];
        const restored = keep(rw.restoreKvCache(buffer, rope && { plan: [equal, again] }));
        const bytes = keep(rw.restoreKvCache(new Uint8Array(buffer), { plan: [plan, other] }));
        for (const copy of [restored, bytes]) {
          assertSameBits(copy.keys().data, kept.keys().data);
          assertSameBits(copy.values().data, kept.values().data);
          assert.deepEqual(copy.positions(), kept.positions());
          assert.deepEqual(new Uint8Array(copy.save()), new Uint8Array(buffer));
        }
        const next = [kept, restored].map((each) => each.append(part(k, 20, 3), part(v, 20, 3)).attend(part(q, 20, 3)));
        assertSameBits(next[1].out.data, next[0].out.data);
      }
    });
  });

  test('bytes are those of the heap, and all are given back', () => {
    using(({ plan: planOf }) => {
      const plan = planOf();
      const warm = rw.kvCache({ ...sizes, rope: { plan } }).append(k, v);
      warm.dispose();
      const before = inUse(rw);
      const kept = rw.kvCache({ ...sizes, capacity: 500, rope: { plan } });
      const room = (bytes) => rw.memory().usedBytes - before.usedBytes - bytes;
      assert.equal(rw.memory().liveObjects, before.liveObjects + 1);
      for (const use of [() => {}, () => kept.append(k, v).shift(9).keys(), () => kept.shift(-9), () => kept.reset()]) {
        use();
        // The object itself, and what the allocator and the alignment add.
        assert.ok(room(kept.bytes) >= 0 && room(kept.bytes) < 2048, `${room(kept.bytes)} bytes beside ${kept.bytes}`);
      }
      const places = 504; // of keys, in panels of eight
      assert.equal(kept.bytes, B * G * (places * D + 500 * Dv) * 4 + 500 * 24 + 4);
      kept.dispose();
      assert.deepEqual(inUse(rw), before);
      for (const call of [() => kept.keys(), () => kept.append(k, v), () => kept.length, () => kept.shift(1)]) {
        assert.throws(call, StateError);
      }
    });
  });

  test('NaN in a key stays with the queries that see it', () => {
    using(({ cache }) => {
      const bad = { ...k, data: k.data.slice() };
      for (let b = 0; b < B * G; ++b) bad.data[(b * T + T - 1) * D] = Number.NaN;
      const { out } = cache().append(bad, v).attend(q);
      assertSameBits(part(out, 0, T - 1).data, part(cache().append(k, v).attend(q).out, 0, T - 1).data);
      assert.ok(part(out, T - 1).data.every(Number.isNaN));
    });
  });

  test('without tokens every query gives zeros, without queries there is nothing', () => {
    using(({ cache }) => {
      const kept = cache();
      assertSameBits(kept.attend(part(q, 0, 2)).out.data, new Float32Array(B * H * 2 * Dv));
      kept.append(part(k, 0, 0), part(v, 0, 0));
      assert.equal(kept.length, 0);
      assert.deepEqual(kept.append(k, v).attend(part(q, 0, 0)).out.shape, [B, H, 0, Dv]);
      assert.deepEqual(kept.reset().keys().shape, [B, G, 0, D]);
      assert.equal(kept.nextPosition, 0);
    });
  });
});
