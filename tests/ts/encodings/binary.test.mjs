// Binary position codes against the bits of BigInts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertSameBits } from '../support/arrays.mjs';
import {
  notABoolean,
  notAChoice,
  notAnInteger,
  notOptions,
  notPositions,
  outOfRange,
  required,
} from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const last = 2 ** 53 - 1;

// toString(2) has the highest bit first.
function code(position, { bits, msbFirst = false, values = 'bits' }) {
  const digits = [...position.toString(2).padStart(bits, '0')].map(Number);
  const signed = values === 'signs' ? digits.map((bit) => (bit ? 1 : -1)) : digits;
  return msbFirst ? signed : signed.reverse();
}

const positionsOf = (bits) => [0, 1, 2, 5, 77, 2 ** 31 - 1, 2 ** 31, 2 ** 32 + 3, 2 ** (bits - 1), 2 ** bits - 1];

await onEachBuild((rw) => {
  for (const msbFirst of [false, true]) {
    for (const values of ['bits', 'signs']) {
      test(`codes of 1 to 53 bits are right (${values}, the ${msbFirst ? 'highest' : 'lowest'} bit first)`, () => {
        for (let bits = 1; bits <= 53; ++bits) {
          const positions = positionsOf(bits).filter((p) => p < 2 ** bits);
          const want = positions.flatMap((p) => code(p, { bits, msbFirst, values }));
          assertSameBits(rw.binary({ bits, positions, msbFirst, values }), want);
        }
      });
    }
  }

  test('7 and 8 differ in all four bits', () => {
    assertSameBits(rw.binary({ bits: 4, positions: [7, 8] }), [1, 1, 1, 0, 0, 0, 0, 1]);
    assertSameBits(rw.binary({ bits: 4, positions: [7, 8], msbFirst: true }), [0, 1, 1, 1, 1, 0, 0, 0]);
    const codes = { data: rw.binary({ bits: 4, positions: { length: 16 } }), shape: [16, 4] };
    assert.equal(rw.analysis.pairwise(codes, 'hamming').data[7 * 16 + 8], 4);
  });

  test('300 fits in nine bits and 2^b positions in b', () => {
    assertSameBits(rw.binary({ bits: 9, positions: [300], msbFirst: true }), [1, 0, 0, 1, 0, 1, 1, 0, 0]);
    const codes = { data: rw.binary({ bits: 8, positions: { length: 256 } }), shape: [256, 8] };
    assert.equal(rw.analysis.firstDuplicate(codes), undefined);
  });

  test('the defaults are the lowest bit first, as 0 and 1', () => {
    const got = rw.binary({ bits: 6, positions: [11] });
    assertSameBits(got, rw.binary({ bits: 6, positions: [11], msbFirst: false, values: 'bits' }));
  });

  test('a range of positions is the list of them, and any list of integers will do', () => {
    const positions = [1000, 1001, 1002, 1003];
    const want = rw.binary({ bits: 12, positions });
    assertSameBits(rw.binary({ bits: 12, positions: { length: 4, offset: 1000 } }), want);
    for (const Kind of [Int32Array, Uint32Array, Float64Array]) {
      const list = Kind.from(positions);
      assertSameBits(rw.binary({ bits: 12, positions: list }), want);
      assert.deepEqual([...list], positions);
    }
    assertSameBits(rw.binary({ bits: 12, positions: BigInt64Array.from(positions, BigInt) }), want);
  });

  test('no positions give no codes, and one a code of its own', () => {
    assert.equal(rw.binary({ bits: 3, positions: [] }).length, 0);
    assert.equal(rw.binary({ bits: 3, positions: { length: 0 } }).length, 0);
    const got = rw.binary({ bits: 1, positions: [1] });
    assertSameBits(got, [1]);
    assert.deepEqual([got.constructor, got.buffer.byteLength], [Float32Array, 4]);
  });

  test('two codes differ by the bits of their positions, whatever the values are called', () => {
    const size = { bits: 10, positions: [513, 6, 1023, 0] };
    const signs = rw.binary({ ...size, values: 'signs' });
    assertSameBits(
      rw.binary(size),
      signs.map((s) => (s + 1) / 2),
    );
  });
});

const rw = await load({ simd: 'deterministic' });
const binary = (more) => rw.binary({ bits: 4, positions: [1, 2, 3], ...more });
const rangeLength = required(notAnInteger({ min: 0, max: 2 ** 28 }));
testAllRefusals(rw, 'binary', {
  options: [required(notOptions), (options) => rw.binary(options)],
  bits: [required(notAnInteger({ min: 1, max: 53 })), (bits) => binary({ bits })],
  positions: [
    [...required(notPositions(3)), ...[-1, 16, last, -last].map((p) => outOfRange([0, p], String(p)))],
    (positions) => binary({ positions }),
  ],
  length: [rangeLength, (length) => binary({ positions: { length } })],
  offset: [
    [...notAnInteger({ min: -last, max: last }), outOfRange(last)],
    (offset) => binary({ bits: 53, positions: { length: 2, offset } }),
  ],
  msbFirst: [notABoolean, (msbFirst) => binary({ msbFirst })],
  values: [notAChoice, (values) => binary({ values })],
});
testUnknownOptions(rw, 'binary', ['nonsense', 'num_bits', 'offset', 'constructor'], binary);
testUnknownOptions(rw, 'binary at a range', ['start'], (more) => binary({ positions: { length: 1, ...more } }));
testMisfits(rw, 'binary', {
  '300 in eight bits': [RangeError, ['positions[2]', '300', '255'], () => binary({ bits: 8, positions: [1, 2, 300] })],
  'a position below 0': [RangeError, ['positions[0]', '-1', '0'], () => binary({ positions: [-1] })],
  'a range that ends beyond the last code': [RangeError, ['16', '15'], () => binary({ positions: { length: 17 } })],
  'a range that starts below 0': [RangeError, '-2', () => binary({ positions: { length: 3, offset: -2 } })],
});
