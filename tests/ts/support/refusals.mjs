// Checks of every refused argument: the error, and no change of memory or later results.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from './arrays.mjs';

/** The bits of some valid calls, which must be the same before and after a refusal. */
function healthyBits(rw) {
  const x = { data: random(48, 5), shape: [2, 3, 8] };
  const plan = rw.rope({ headDim: 8, scaling: { type: 'yarn', factor: 4, originalLength: 64 } });
  const rotated = plan.rotate(x, { offset: 7 });
  const { out } = rw.attention(rotated, rotated, x, { causal: true });
  plan.dispose();
  const table = rw.sinusoidal({ dim: 6, positions: [0, 9, 99] });
  return String(new Uint32Array(Float32Array.of(...out.data, ...table).buffer));
}

const bitsOf = new WeakMap();

/**
 * The problem with the refusal of `call`, or undefined: it must throw an error of the class in `bad`, with the argument
 * and the value in its message, not change memory, and not change the bits of the next valid call.
 */
function problemOf(rw, argument, bad, call) {
  if (!bitsOf.has(rw)) bitsOf.set(rw, healthyBits(rw));
  const before = rw.memory();
  try {
    call();
  } catch (error) {
    if (!(error instanceof bad.error)) return `threw ${error?.name}, want ${bad.error.name}: ${error?.message}`;
    for (const part of [argument, bad.shows ?? '']) {
      if (!error.message.includes(part)) return `has a message without ${part}: ${error.message}`;
    }
    const { usedBytes, liveObjects } = rw.memory();
    if (usedBytes !== before.usedBytes || liveObjects !== before.liveObjects) {
      return `left ${usedBytes - before.usedBytes} bytes and ${liveObjects - before.liveObjects} objects behind`;
    }
    return healthyBits(rw) === bitsOf.get(rw) ? undefined : 'changed the bits of the next good call';
  }
  return 'was accepted';
}

/** A test that `call(value)` refuses every bad value and names `argument`. */
export function testRefusals(rw, where, argument, values, call) {
  test(`${where} refuses a bad ${argument}`, () => {
    const problems = values.map((bad) => {
      const problem = problemOf(rw, argument, bad, () => call(bad.value));
      return problem && `${bad.label} ${problem}`;
    });
    assert.deepEqual(problems.filter(Boolean), []);
  });
}

/** The same for a table { argument: [bad values, call] }. */
export function testAllRefusals(rw, where, rows) {
  for (const [argument, [values, call]] of Object.entries(rows)) testRefusals(rw, where, argument, values, call);
}

/** A test that each of these options, which the function lacks, is refused by its name. */
export function testUnknownOptions(rw, where, names, call) {
  test(`${where} refuses an option that it does not have`, () => {
    const problems = names.map((name) => {
      const problem = problemOf(rw, name, { error: RangeError }, () => call({ [name]: 1 }));
      return problem && `${name} ${problem}`;
    });
    assert.deepEqual(problems.filter(Boolean), []);
  });
}

/** A test of the refusal for each entry of { what: [error class, words of the message, call] }. */
export function testMisfits(rw, where, rows) {
  for (const [what, [error, words, call]] of Object.entries(rows)) {
    test(`${where} refuses ${what}`, () => {
      const problems = [words].flat().map((word) => problemOf(rw, word, { error }, call));
      assert.deepEqual(problems.filter(Boolean), []);
    });
  }
}
