// KERPLE: its bias, attention with it, and refused arguments.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';

const rw = await load();
const r1 = Float32Array.of(0.5, 2);
const r2 = Float32Array.of(1, 0.25);
const fall = {
  logarithmic: (h, d) => -r1[h] * Math.log1p(r2[h] * d),
  power: (h, d) => -r1[h] * d ** r2[h],
};

test('the bias falls with the distance as the formula of its kind says', () => {
  for (const [kind, value] of Object.entries(fall)) {
    const { data, shape } = rw.kerpleBias({ r1, r2, kind, queries: 3, keys: 5, queryOffset: 7 });
    assert.deepEqual(shape, [2, 3, 5]);
    data.forEach((got, at) => {
      const [h, i, j] = [Math.floor(at / 15), Math.floor(at / 5) % 3, at % 5];
      const want = value(h, Math.abs(i + 7 - j));
      assert.ok(Math.abs(got - want) <= 2 ** -23 * Math.abs(want), `${kind} ${at}: ${got}, want ${want}`);
    });
  }
});

test('attention with it is attention with its bias', () => {
  const x = { data: Float32Array.from({ length: 24 }, (_, i) => Math.sin(3 * i)), shape: [1, 2, 3, 4] };
  const position = { encoding: 'kerple', r1, r2 };
  const bias = rw.kerpleBias({ r1, r2, queries: 3, keys: 3 });
  const [got, want] = [{ position }, { bias }].map((options) => rw.attention(x, x, x, { causal: true, ...options }));
  assert.deepEqual(got.out.data, want.out.data);
});

test('numbers that make no kernel, and another number of heads, are refused by name', () => {
  const shape = { queries: 2, keys: 2 };
  const refused = [
    [{ r1: Float32Array.of(0, 1), r2 }, /r1\[0\] is 0/],
    [{ r1, r2: Float32Array.of(1, Number.NaN) }, /r2\[1\] is NaN/],
    [{ r1, r2: Float32Array.of(1, 3), kind: 'power' }, /r2\[1\] is 3; expected a number above 0 and at most 2/],
    [{ r1, r2: Float32Array.of(1) }, /r2 has 1 numbers; expected 2/],
    [{ r1, r2, kind: 'linear' }, /kind is "linear"/],
  ];
  for (const [options, message] of refused) {
    assert.throws(() => rw.kerpleBias({ ...options, ...shape }), { name: 'ArgumentRangeError', message });
  }
  assert.throws(() => rw.kerpleBias({ r1: [1, 2], r2, ...shape }), { name: 'ArgumentTypeError', message: /r1/ });
  const x = { data: new Float32Array(12), shape: [1, 3, 2, 2] };
  const position = { encoding: 'kerple', r1, r2 };
  assert.throws(() => rw.attention(x, x, x, { position }), { message: /position\.r1 has 2 heads, q has 3/ });
});
