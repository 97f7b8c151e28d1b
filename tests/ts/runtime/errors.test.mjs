// The error classes: subclasses of JavaScript's own errors, with the argument and the value as fields.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as ropewalk from 'ropewalk';
import { random } from '../support/arrays.mjs';

const { ArgumentRangeError, ArgumentTypeError, InstanceLostError, OutOfMemoryError, StateError, UnsupportedError } =
  ropewalk;
const rw = await ropewalk.load({ simd: 'deterministic' });

function errorOf(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  return assert.fail('was accepted');
}

test('every class extends the class of JavaScript that one would catch', () => {
  assert.ok(ArgumentTypeError.prototype instanceof TypeError);
  assert.ok(ArgumentRangeError.prototype instanceof RangeError);
  for (const Class of [InstanceLostError, OutOfMemoryError, StateError, UnsupportedError]) {
    assert.ok(Class.prototype instanceof Error);
  }
});

test('a value that cannot be read is told as one, and a long one shortened', () => {
  const gone = new DataView(new ArrayBuffer(8));
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  const throwing = Object.defineProperty([1], 0, {
    get() {
      throw new Error('getter');
    },
  });
  for (const value of [gone, throwing, 10n ** 5000n]) {
    const error = errorOf(() => rw.rope({ headDim: value }));
    assert.ok(error instanceof ArgumentTypeError);
    assert.equal(error.value, value);
    assert.match(error.message, /^rope: headDim is (an object that cannot be read|1000\d{36}\.\.\.n); expected/);
  }
});

test('frequencies that the core refuses are told as such, by every function that makes some', () => {
  const calls = {
    rope: () => rw.rope({ headDim: 8, base: 1e-300 }),
    sinusoidal: () => rw.sinusoidal({ dim: 8, base: 1e-300, positions: [1] }),
    'analysis.shiftMatrix': () => rw.analysis.shiftMatrix({ dim: 8, base: 1e-300, k: 1 }),
    'analysis.dotCurve': () => rw.analysis.dotCurve({ dim: 8, base: 1e-300, distances: [1] }),
  };
  for (const [where, call] of Object.entries(calls)) {
    const error = errorOf(call);
    assert.ok(error instanceof ArgumentRangeError);
    assert.ok(error.message.startsWith(`${where}: options `) && error.message.includes('2^60'), error.message);
  }
});

test('every class has its own name, on the instance too', () => {
  const classes = {
    ArgumentRangeError,
    ArgumentTypeError,
    InstanceLostError,
    OutOfMemoryError,
    StateError,
    UnsupportedError,
  };
  for (const [name, Class] of Object.entries(classes)) {
    assert.equal(Class.name, name);
    assert.equal(new Class('where', 'argument', 1, 'problem').name, name);
  }
});

test('a wrong type carries the argument and the value', () => {
  const error = errorOf(() => rw.rope({ headDim: '64' }));
  assert.ok(error instanceof ArgumentTypeError);
  assert.equal(error.argument, 'headDim');
  assert.equal(error.value, '64');
  assert.equal(error.message, 'rope: headDim is "64"; expected an integer');
});

test('a wrong value carries the argument and the value', () => {
  const error = errorOf(() => rw.rope({ headDim: 63 }));
  assert.ok(error instanceof ArgumentRangeError);
  assert.equal(error.argument, 'headDim');
  assert.equal(error.value, 63);
  assert.equal(error.message, 'rope: headDim is 63; expected an even number, coordinates turn in pairs');
});

test('a misspelt option is named, and so are those that there are', () => {
  const { message } = errorOf(() => rw.rope({ headDim: 4, theta: 1 }));
  assert.match(message, /^rope: theta is not an option; known are headDim, rotaryDim, base/);
});

test('one bad entry of a long list is named by its index', () => {
  const positions = Array.from({ length: 1000 }, (_, i) => i);
  positions[700] = 0.25;
  const { argument, message } = errorOf(() => rw.rope({ headDim: 4 }).tables(positions));
  assert.equal(argument, 'positions[700]');
  assert.match(message, /^rope\.tables: positions\[700\] is 0\.25; expected an integer/);
});

// Anything may be passed by mistake; telling it must not fail itself, nor print a book.
const strange = {
  symbol: Symbol('s'),
  'long text': 'x'.repeat(1e6),
  'long array': Array(1e6).fill(''),
  'object without prototype': Object.create(null),
  'object with a throwing toString': { toString: () => assert.fail('called') },
  'object with a throwing constructor': Object.defineProperty({}, 'constructor', { get: () => assert.fail('called') }),
  class: class Example {},
  date: new Date(0),
  map: new Map(),
  proxy: new Proxy({}, {}),
};

for (const [name, value] of Object.entries(strange)) {
  test(`a ${name} in place of a number or an array is told in a short message`, () => {
    const plan = rw.rope({ headDim: 4 });
    const calls = {
      headDim: () => rw.rope({ headDim: value }),
      offset: () => plan.rotate(random(4), { offset: value }),
      x: () => plan.rotate(value),
      data: () => rw.tensor([1], value),
      shape: () => rw.tensor(value),
    };
    for (const [argument, call] of Object.entries(calls)) {
      const error = errorOf(call);
      assert.ok(error instanceof ArgumentTypeError, `${argument}: ${error.name}: ${error.message}`);
      assert.ok(error.message.includes(argument) && error.message.length < 200, error.message);
    }
    plan.dispose();
  });
}

test('the public names are those of the documentation, and no more', () => {
  const classes = Object.keys(ropewalk).filter((name) => name.endsWith('Error'));
  assert.deepEqual(classes.sort(), [
    'ArgumentRangeError',
    'ArgumentTypeError',
    'InstanceLostError',
    'OutOfMemoryError',
    'StateError',
    'UnsupportedError',
  ]);
  assert.equal(typeof ropewalk.load, 'function');
  assert.equal('default' in ropewalk, false);
});

test('a message stays short, whatever names and values a caller has, and ends with what would be right', () => {
  const long = 'x'.repeat(200_000);
  const ones = { data: new Float32Array(1), shape: new Array(100_000).fill(1) };
  const calls = {
    'known are': () => rw.rope({ headDim: 4, [long]: 1 }),
    'expected an integer': () => rw.rope({ headDim: new { [long]: class {} }[long]() }),
    'expected an integer in': () => rw.t5Buckets([10n ** 100_000n]),
    'expected [outputs, inputs]': () => rw.linear({ weight: ones }),
    'is an object that cannot be read; expected a plain object': () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      rw.rope(proxy);
    },
  };
  for (const [words, call] of Object.entries(calls)) {
    const { message } = errorOf(call);
    assert.ok(message.length < 2000 && message.includes(words), `${message.length}: ${message.slice(-300)}`);
  }
});
