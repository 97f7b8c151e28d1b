// Ten thousand random sequences of cache operations, against a model that computes everything from scratch.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { CacheModel } from '../support/cache-model.mjs';

const [H, G, D, Dv] = [2, 1, 4, 3];
const sequences = 10_000;
// Keys are turned twice at most, by angles exact to 2^-24; scores of 4 products below 1.5 each are off by 32 roundings
// at worst, weights by as much, and values below 1 are summed.
const tolerance = 64 * 2 ** -24;

/** A seeded source of integers below n and of Float32Arrays in [-1, 1). */
function source(seed) {
  const stream = random(2048, seed);
  let at = 0;
  const next = () => stream[at++ % stream.length];
  return {
    below: (n) => Math.floor(((next() + 1) / 2) * n),
    floats: (n) => Float32Array.from({ length: n }, next),
  };
}

const rows = (data, count, dim) => Array.from({ length: count }, (_, i) => data.subarray(i * dim, (i + 1) * dim));

// One sequence; every step says what it did in `log`, for the message of a failure.
class Sequence {
  constructor(rw, plans, seed) {
    this.rw = rw;
    this.plans = plans;
    this.random = source(seed);
    this.log = [];
    const { below } = this.random;
    const keys = ['none', 'rotated', 'unrotated'][below(3)];
    const at = keys === 'none' ? undefined : below(plans.length);
    const window = [
      undefined,
      { size: 3, sinkTokens: 1 },
      { size: 2, positions: 'rebased' },
      { size: 4, sinkTokens: 2, positions: 'rebased' },
    ][below(4)];
    const capacity = below(2) === 0 ? undefined : 6 + below(6);
    this.options = { kvHeads: G, headDim: D, valueDim: Dv, window, capacity };
    if (at !== undefined) this.options.rope = { plan: plans[at].plan, keys };
    this.log.push(JSON.stringify({ keys, at, window, capacity }));
    this.cache = rw.kvCache(this.options);
    this.model = new CacheModel({ plan: plans[at]?.model, window, capacity });
  }

  // Either both do it, or the cache refuses it and stays as it was.
  both(expected, call) {
    if (expected) return call();
    const before = this.cache.positions();
    assert.throws(call, { name: 'ArgumentRangeError' });
    assert.deepEqual(this.cache.positions(), before);
  }

  tokens(count, first) {
    const [k, v] = [this.random.floats(count * G * D), this.random.floats(count * G * Dv)];
    const keyRows = rows(k, count, D);
    const valueRows = rows(v, count, Dv);
    return {
      k: { data: k, shape: [1, G, count, D] },
      v: { data: v, shape: [1, G, count, Dv] },
      list: keyRows.map((key, i) => ({ k: [key], v: [valueRows[i]], position: first + i })),
    };
  }

  append() {
    const { below } = this.random;
    const count = below(5);
    const rebased = this.options.window?.positions === 'rebased';
    const offset = below(4) === 0 && !rebased ? this.model.next + below(3) : undefined;
    this.log.push(`append ${count} at ${offset}`);
    const { k, v, list } = this.tokens(count, offset ?? this.model.next);
    const fits = this.model.add(list);
    this.both(fits, () => this.cache.append(k, v, offset === undefined ? {} : { offset }));
  }

  attend() {
    const count = 1 + this.random.below(3);
    const first = this.model.next - count;
    const data = this.random.floats(H * count * D);
    const heads = Array.from({ length: H }, (_, h) => rows(data.subarray(h * count * D), count, D));
    const last = this.model.tokens.slice(-count).map(({ position }) => position);
    const inARow = last.every((position, i) => i === 0 || position === last[i - 1] + 1);
    const sees = !this.model.misses(first);
    this.log.push(`attend ${count}`);
    this.both(inARow && sees, () => {
      const { out } = this.cache.attend({ data, shape: [1, H, count, D] });
      const want = this.model.attend(heads, first).flat(2);
      if (this.model.tokens.length === 0) return assert.ok(out.data.every((x) => x === 0));
      assert.equal(out.data.length, want.length);
      want.forEach((x, i) => {
        const expected = Number.isNaN(x) ? 0 : x; // nothing to see gives zeros
        assert.ok(Math.abs(out.data[i] - expected) <= tolerance, `out[${i}] is ${out.data[i]}, want ${expected}`);
      });
    });
  }

  truncate() {
    const length = this.random.below(this.model.tokens.length + 1);
    this.log.push(`truncate ${length}`);
    const next = (this.model.tokens[length - 1]?.position ?? -1) + 1;
    const all = length === this.model.tokens.length;
    this.both(all || length === 0 || !this.model.misses(next), () => {
      this.cache.truncate(length);
      this.model.tokens.length = length;
      if (length === 0) this.model.gone = Number.NEGATIVE_INFINITY;
    });
  }

  drop() {
    const first = this.random.below(this.model.tokens.length + 1);
    const count = this.random.below(this.model.tokens.length - first + 1);
    this.log.push(`drop ${count} from ${first}`);
    this.cache.drop(first, count);
    this.model.tokens.splice(first, count);
    if (this.model.tokens.length === 0) this.model.gone = Number.NEGATIVE_INFINITY;
  }

  shift() {
    const { tokens, window } = this.model;
    const first = this.random.below(tokens.length + 1);
    const count = this.random.below(tokens.length - first + 1);
    const by = this.random.below(9) - 4;
    this.log.push(`shift ${count} from ${first} by ${by}`);
    const moved = tokens.map((token, i) =>
      i >= first && i < first + count ? { ...token, position: token.position + by } : token,
    );
    const ascends = moved.every(({ position }, i) => i === 0 || position > moved[i - 1].position);
    this.both(ascends, () => {
      this.cache.shift(by, { first, count });
      this.model.tokens = moved;
      const sinks = window?.sinkTokens ?? 0;
      if (first <= sinks && sinks < first + count) this.model.gone += by;
    });
  }

  switchTo() {
    if (this.model.plan === undefined) return;
    const at = this.random.below(this.plans.length);
    this.log.push(`switch to ${at}`);
    this.cache.switchTo(this.plans[at].plan);
    this.model.plan = this.plans[at].model;
    this.options.rope.plan = this.plans[at].plan;
  }

  copy() {
    const length = this.model.tokens.length;
    this.log.push('copy');
    const copy = this.cache.copyPrefix(length);
    this.cache.dispose();
    this.cache = copy;
  }

  merge() {
    const { below } = this.random;
    const { window, capacity, ...others } = this.options;
    const other = this.rw.kvCache(others);
    try {
      const { k, v, list } = this.tokens(4, 3);
      other.append(k, v, { offset: 3 }).drop(1, 1);
      const first = below(2);
      const count = below(4 - first);
      this.log.push(`merge ${count} from ${first}`);
      const kept = list.filter((_, i) => i !== 1).slice(first, first + count);
      const start = this.model.next;
      const fits = this.model.add(
        kept.map((token) => ({ ...token, position: start + token.position - kept[0].position })),
      );
      this.both(fits, () => this.cache.merge(other, { first, count }));
    } finally {
      other.dispose();
    }
  }

  save() {
    this.log.push('save and restore');
    const restored = this.rw.restoreKvCache(this.cache.save(), { plan: this.plans.map(({ plan }) => plan) });
    this.cache.dispose();
    this.cache = restored;
  }

  reset() {
    this.log.push('reset');
    this.cache.reset();
    this.model.tokens = [];
    this.model.gone = Number.NEGATIVE_INFINITY;
  }

  run() {
    const often = ['append', 'attend'];
    const steps = [
      ...often,
      ...often,
      ...often,
      'truncate',
      'drop',
      'shift',
      'shift',
      'switchTo',
      'copy',
      'merge',
      'save',
    ];
    try {
      for (let n = 4 + this.random.below(10); n > 0; --n) {
        this[this.random.below(60) === 0 ? 'reset' : steps[this.random.below(steps.length)]]();
        assert.deepEqual(
          [...this.cache.positions()],
          this.model.tokens.map(({ position }) => position),
        );
      }
      this.attend();
    } catch (error) {
      error.message = `${this.log.join('; ')}: ${error.message}`;
      throw error;
    } finally {
      this.cache.dispose();
    }
  }
}

await onEachBuild((rw) => {
  test(`${sequences} random sequences of operations give what is computed from scratch`, () => {
    const plans = [
      { model: { base: 100, rotaryDim: 4 } },
      { model: { base: 10, rotaryDim: 4, factor: 2 }, scaling: { type: 'linear', factor: 2 } },
      { model: { base: 1e4, rotaryDim: 4 } },
    ].map(({ model, scaling }) => ({
      model,
      plan: rw.rope({ headDim: D, base: model.base, ...(scaling && { scaling }) }),
    }));
    const before = rw.memory();
    for (let seed = 1; seed <= sequences; ++seed) new Sequence(rw, plans, seed).run();
    const after = rw.memory();
    assert.equal(after.liveObjects, before.liveObjects);
    // The plans keep rows of the positions that they met.
    assert.ok(after.usedBytes - before.usedBytes < 2 ** 14, `${after.usedBytes - before.usedBytes} bytes are left`);
    for (const { plan } of plans) plan.dispose();
  });
});
