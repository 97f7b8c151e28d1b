// Arrays of rows, and the tolerance between two programs.
import assert from 'node:assert/strict';

/** All numbers of an array of rows, of any depth, in order. */
export function flat(rows) {
  if (rows[0] === undefined || typeof rows[0] === 'number') return Array.from(rows);
  return Array.from(rows).flatMap(flat);
}

export const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

export const difference = (a, b) => largest(a.map((value, i) => value - b[i]));

/**
 * The tolerance of a float32 program against float64: 8 times the error of a plain float32 program, but at least 16
 * units in the last place of the largest number, in case that error happens to be small.
 */
export function toleranceOf(exact, single) {
  const [want, plain] = [flat(exact), flat(single)];
  return Math.max(16 * 2 ** -24 * largest(want), 8 * difference(want, plain));
}

/** Fails unless every number of `got` is within the tolerance of `exact`; NaN never is. */
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
