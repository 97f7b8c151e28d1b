// Numbers in rows, and how close two programs must come.
import assert from 'node:assert/strict';

/** All numbers of an array of rows, of any depth, in order. */
export function flat(rows) {
  if (rows[0] === undefined || typeof rows[0] === 'number') return Array.from(rows);
  return Array.from(rows).flatMap(flat);
}

export const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

export const difference = (a, b) => largest(a.map((value, i) => value - b[i]));

/**
 * How far a float32 program may be from float64's numbers: 8 times as far as a plain one is, or, where that one is
 * lucky, 16 units of the last place of the largest number.
 */
export function toleranceOf(exact, single) {
  const [want, plain] = [flat(exact), flat(single)];
  return Math.max(16 * 2 ** -24 * largest(want), 8 * difference(want, plain));
}

/** Fails unless every number of `got` is within the tolerance of `exact`. NaN is within none. */
export function assertAgrees(name, got, exact, tolerance) {
  const [values, want] = [flat(got), flat(exact)];
  assert.equal(values.length, want.length, `${name}: as many numbers`);
  for (let i = 0; i < want.length; ++i) {
    const error = Math.abs(values[i] - want[i]);
    assert.ok(
      error <= tolerance,
      `${name}[${i}] is ${values[i]}, want ${want[i]} within ${tolerance}, off by ${error}`,
    );
  }
}
