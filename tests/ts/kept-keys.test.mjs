// Keys that move any number of times without wear: positions accumulate, roundings do not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, StateError } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray, swapHeadsAndTokens } from './support/arrays.mjs';
import { onEachBuild } from './support/builds.mjs';
import { testMisfits } from './support/refusals.mjs';

const last = 2 ** 53 - 1;
const stranger = await load({ simd: 'deterministic' });

// Three turns of 4 roundings each, at pairs no longer than sqrt 2.
const bound = 12 * 2 ** -24 * Math.SQRT2;

// The half pairing's coordinates in the order of the other one.
const interleaved = ({ data, shape }) => {
  const dim = shape.at(-1);
  const from = (c) => (c % 2) * (dim / 2) + (c >> 1);
  return { data: data.map((_, i) => data[i - (i % dim) + from(i % dim)]), shape };
};

// What keys hold now, as an array; nothing stays behind.
function numbers(keys) {
  const tensor = keys.read();
  const data = tensor.data();
  tensor.dispose();
  return data;
}

await onEachBuild((rw) => {
  // Calls `use` with kept keys of a plan, and frees both.
  const withKeys = (options, x, { at, layout }, use) => {
    const plan = rw.rope(options);
    const where = typeof at === 'number' ? { offset: at } : { positions: at };
    const keys = plan.keep(plan.rotate(x, { ...where, layout }), { at, layout });
    try {
      use(keys, plan);
    } finally {
      keys.dispose();
      plan.dispose();
    }
  };

  for (const pairing of ['half', 'interleaved']) {
    test(`a thousand shifts by one are one shift by a thousand, bit for bit (${pairing})`, () => {
      const x = randomArray([2, 40, 64], 1);
      withKeys({ headDim: 64, pairing }, x, { at: 1000 }, (keys, plan) => {
        const once = plan.keep(plan.rotate(x, { offset: 1000 }), { at: 1000 }).shift(-1000);
        for (let i = 0; i < 1000; ++i) keys.shift(-1);
        assertSameBits(numbers(keys), numbers(once));
        assertClose(numbers(keys), plan.rotate(x, { offset: 0 }).data, 1e-6);
        once.dispose();
      });
    });
  }

  test('shifts there and back end where they began, to the first bits', () => {
    const x = randomArray([1, 2, 5, 8], 2);
    withKeys({ headDim: 8 }, x, { at: 3 }, (keys, plan) => {
      for (let i = 0; i < 100; ++i) keys.shift(12_345_678_901).shift(-12_345_678_901);
      assertSameBits(numbers(keys), plan.rotate(x, { offset: 3 }).data);
    });
  });

  test('read is one rerotate, however often it is called', () => {
    const x = randomArray([3, 8], 3);
    withKeys({ headDim: 8 }, x, { at: 9 }, (keys, plan) => {
      const rotated = plan.rotate(x, { offset: 9 });
      for (const distance of [1, 1, -5, 100]) {
        keys.shift(distance);
        numbers(keys);
      }
      assertSameBits(numbers(keys), plan.rerotate(rotated, { from: 9, to: 106 }).data);
    });
  });

  test('keys at listed positions move by the same distance', () => {
    const x = randomArray([2, 1, 3, 8], 4);
    for (const at of [
      [0, 7, 2 ** 40],
      [0, 7, 2 ** 40, -5, 1, 1],
    ]) {
      withKeys({ headDim: 8 }, x, { at }, (keys, plan) => {
        keys.shift(50).shift(-8);
        assertClose(numbers(keys), plan.rotate(x, { positions: at.map((p) => p + 42) }).data, bound);
      });
    }
  });

  for (const axes of [
    { layout: 'sections', sections: [2, 1, 1] },
    { layout: 'axial', dims: [4, 2, 2] },
  ]) {
    test(`keys with several axes move along each of them (${axes.layout})`, () => {
      const x = randomArray([2, 3, 8], 5);
      const at = [
        [0, 1, 1],
        [0, 1, 2],
        [0, 4, 900],
      ];
      withKeys({ headDim: 8, axes }, x, { at }, (keys, plan) => {
        keys.shift(-3);
        const positions = at.map((list) => list.map((p) => p - 3));
        assertClose(numbers(keys), plan.rotate(x, { positions }).data, bound);
      });
      withKeys({ headDim: 8, axes }, x, { at: 6 }, (keys, plan) => {
        assertClose(numbers(keys.shift(4)), plan.rotate(x, { offset: 10 }).data, bound);
      });
    });
  }

  test('positions are copied: changing the list changes nothing', () => {
    const x = randomArray([2, 8], 6);
    const at = Float64Array.of(4, 9);
    withKeys({ headDim: 8 }, x, { at }, (keys, plan) => {
      const before = plan.rotate(x, { positions: [4, 9] }).data;
      at.fill(1);
      assertSameBits(numbers(keys), before);
    });
  });

  test('switchTo reads keys as another plan would have turned them', () => {
    const x = randomArray([2, 5, 8], 7);
    const yarn = { type: 'yarn', factor: 4, originalLength: 64 };
    const others = [{ scaling: yarn }, { pairing: 'interleaved', base: 100 }, {}].map((more) =>
      rw.rope({ headDim: 8, ...more }),
    );
    withKeys({ headDim: 8 }, x, { at: 20 }, (keys, plan) => {
      const first = numbers(keys);
      for (const other of others) {
        assert.equal(keys.switchTo(other), keys);
        const factor = other.attentionFactor;
        const placed = other.pairing === 'half' ? x : interleaved(x);
        assertClose(numbers(keys), other.rotate(placed, { offset: 20 }).data, bound * factor);
        assertClose(numbers(keys.shift(30)), other.rotate(placed, { offset: 50 }).data, bound * factor);
        keys.shift(-30);
      }
      assertSameBits(numbers(keys.switchTo(plan)), first);
    });
    for (const other of others) other.dispose();
  });

  test('the order BTHD gives the same numbers in its own order', () => {
    const shape = [2, 3, 4, 8];
    const x = randomArray(shape, 8);
    const swapped = { data: swapHeadsAndTokens(x.data, shape), shape: [2, 4, 3, 8] };
    withKeys({ headDim: 8 }, x, { at: 2 }, (keys) => {
      const want = swapHeadsAndTokens(numbers(keys.shift(5)), shape);
      withKeys({ headDim: 8 }, swapped, { at: 2, layout: 'BTHD' }, (others) => {
        assertSameBits(numbers(others.shift(5)), want);
      });
    });
  });

  test('every read is a new tensor, and none of them is the kept one', () => {
    withKeys({ headDim: 8 }, randomArray([2, 8], 9), { at: 0 }, (keys) => {
      const [a, b] = [keys.read(), keys.read()];
      assert.notEqual(a, b);
      assert.deepEqual([...a.shape], [2, 8]);
      const before = b.data();
      a.set(new Float32Array(16));
      assertSameBits(b.data(), before);
      assertSameBits(numbers(keys), before);
      a.dispose();
      b.dispose();
    });
  });

  test('the source stays as it was and may be disposed', () => {
    const plan = rw.rope({ headDim: 8 });
    const data = random(24, 10);
    const source = rw.tensor([3, 8], data);
    const keys = plan.keep(source, { at: 5 });
    const before = numbers(keys);
    keys.shift(9);
    numbers(keys);
    assertSameBits(source.data(), data);
    source.set(new Float32Array(24));
    source.dispose();
    assertSameBits(numbers(keys.shift(-9)), before);
    keys.dispose();
    plan.dispose();
  });

  test('kept keys are one object, and nothing of them remains', () => {
    const plan = rw.rope({ headDim: 8 });
    const before = rw.memory();
    const keys = plan.keep(randomArray([4, 8], 1), { at: 0 });
    assert.equal(rw.memory().liveObjects, before.liveObjects + 1);
    assert.ok(rw.memory().usedBytes >= before.usedBytes + 4 * 32);
    const tensor = keys.read();
    assert.equal(rw.memory().liveObjects, before.liveObjects + 2);
    keys.dispose();
    assert.equal(keys.disposed, true);
    assert.equal(tensor.data().length, 32);
    tensor.dispose();
    keys.dispose();
    assert.equal(rw.memory().liveObjects, before.liveObjects);
    assert.equal(rw.memory().usedBytes, before.usedBytes);
    for (const call of [() => keys.read(), () => keys.shift(1), () => keys.switchTo(plan)]) {
      assert.throws(call, StateError);
    }
    plan.dispose();
    assert.throws(() => plan.keep(randomArray([4, 8], 1), { at: 0 }), StateError);
  });

  test('a plan that was disposed before the read is refused, and no memory is lost', () => {
    const [plan, other] = [rw.rope({ headDim: 8 }), rw.rope({ headDim: 8, base: 10 })];
    const keys = plan.keep(randomArray([4, 8], 1), { at: 0 }).switchTo(other);
    other.dispose();
    const before = rw.memory();
    assert.throws(() => keys.read(), StateError);
    keys.switchTo(plan);
    numbers(keys);
    plan.dispose();
    assert.throws(() => keys.read(), StateError);
    assert.equal(rw.memory().liveObjects, before.liveObjects - 1);
    keys.dispose();
  });

  const beyond = { name: 'ArgumentRangeError', message: /distance/ };

  test('a shift of listed keys beyond ±(2^53 - 1) is refused and moves nothing', () => {
    withKeys({ headDim: 8 }, randomArray([2, 8], 3), { at: [-9, 4] }, (keys, plan) => {
      const before = numbers(keys);
      assert.throws(() => keys.shift(last - 3), beyond);
      assert.throws(() => keys.shift(-last + 8), beyond);
      assertSameBits(numbers(keys), before);
      assertClose(
        numbers(keys.shift(last - 4)),
        plan.rotate(randomArray([2, 8], 3), { positions: [last - 13, last] }).data,
        bound,
      );
    });
  });

  test('a shift of consecutive keys whose last one passes 2^53 - 1 is refused and moves nothing', () => {
    for (const [at, tokens] of [
      [1, 1],
      [0, 2],
      [last - 1, 2],
      [last - 4, 5],
    ]) {
      withKeys({ headDim: 8 }, randomArray([tokens, 8], 3), { at }, (keys) => {
        const before = numbers(keys);
        const room = last - (at + (tokens - 1));
        assert.throws(() => keys.shift(room + 1), beyond, `${tokens} tokens at ${at}`);
        assertSameBits(numbers(keys), before);
      });
    }
  });

  const plan = rw.rope({ headDim: 8 });
  const narrow = rw.rope({ headDim: 4 });
  const foreign = stranger.rope({ headDim: 8 });
  const x = randomArray([2, 8], 1);
  const keys = plan.keep(x, { at: 0 });
  const keep = (options, of = x) => [() => plan.keep(of, options)];
  testMisfits(rw, 'rope.keep', {
    'keys without a place': [TypeError, 'at', ...keep({})],
    'places that do not fit the tokens': [RangeError, ['at', '3', '2'], ...keep({ at: [0, 1, 2] })],
    'a place beyond 2^53 - 1': [RangeError, ['at', String(last)], ...keep({ at: last })],
    'heads of another size': [RangeError, ['keys', '8'], ...keep({ at: 0 }, randomArray([2, 6], 1))],
    'a plain Float32Array, which has no shape': [TypeError, 'keys', ...keep({ at: 0 }, new Float32Array(16))],
    'a layout that nobody knows': [RangeError, ['layout', '"DTHB"'], ...keep({ at: 0, layout: 'DTHB' })],
    'an option that it does not have': [RangeError, 'offset', ...keep({ at: 0, offset: 1 })],
  });
  testMisfits(rw, 'keptKeys', {
    'a distance that is no integer': [RangeError, ['distance', '0.5'], () => keys.shift(0.5)],
    'a distance that is no number': [TypeError, ['distance', '"1"'], () => keys.shift('1')],
    'a switch to no plan': [TypeError, 'plan', () => keys.switchTo({})],
    'a switch to another head size': [RangeError, ['plan', '4', '8'], () => keys.switchTo(narrow)],
    'a switch to another instance': [StateError, 'another instance', () => keys.switchTo(foreign)],
  });
});
