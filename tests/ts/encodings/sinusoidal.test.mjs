// The sinusoidal table against float64 on exact angles, in its three layouts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertClose, assertSameBits } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { angle, geometric } from '../support/fixed.mjs';
import { testMisfits } from '../support/refusals.mjs';

const last = 2 ** 53 - 1;
const positions = [0, 1, 2, 3, 100, 99_999, 2 ** 24 + 1, 2 ** 31, 2 ** 40 + 1, last, -1, -77, -last];
// Half a unit in the last place of 1, and what the polynomial adds.
const bound = 0.501 * 2 ** -24;

// Row by row, as each layout is defined.
const layouts = {
  interleaved: (angles, dim) =>
    Array.from({ length: dim }, (_, i) => (i % 2 === 0 ? Math.sin(angles[i / 2]) : Math.cos(angles[(i - 1) / 2]))),
  concatenated: (angles, dim) => [...angles.map(Math.sin), ...angles.slice(0, Math.floor(dim / 2)).map(Math.cos)],
  tensor2tensor: (angles, dim) => [...angles.map(Math.sin), ...angles.map(Math.cos), ...(dim % 2 ? [0] : [])],
};

function table(layout, dim, base, at) {
  const half = Math.floor(dim / 2);
  const frequencies =
    layout === 'tensor2tensor' ? geometric(base, 2 * half - 2, half) : geometric(base, dim, Math.ceil(dim / 2));
  return at.flatMap((p) =>
    layouts[layout](
      frequencies.map((w) => angle(p, w)),
      dim,
    ),
  );
}

await onEachBuild((rw) => {
  for (const layout of Object.keys(layouts)) {
    for (const dim of [1, 2, 4, 5, 7, 16, 33, 64, 512]) {
      if (layout === 'tensor2tensor' && dim < 4) continue;
      test(`the ${layout} table of ${dim} columns is right at every position`, () => {
        for (const base of [10000, 100]) {
          assertClose(rw.sinusoidal({ dim, base, layout, positions }), table(layout, dim, base, positions), bound);
        }
      });
    }
  }

  test('the defaults are the paper: interleaved, base 10000, not scaled', () => {
    const got = rw.sinusoidal({ dim: 6, positions });
    assertSameBits(got, rw.sinusoidal({ dim: 6, positions, base: 10000, layout: 'interleaved', scale: 1 }));
    assertSameBits(rw.sinusoidal({ dim: 4, positions: [0] }), [0, 1, 0, 1]);
  });

  test('scale multiplies before the one rounding', () => {
    for (const scale of [0, -1, 0.5, 22.627416997969522]) {
      const got = rw.sinusoidal({ dim: 8, positions, scale });
      const want = table('interleaved', 8, 10000, positions).map((v) => v * scale);
      assertClose(
        got,
        want,
        want.map((v) => 0.502 * 2 ** -23 * Math.abs(v) + 2 ** -50),
      );
    }
  });

  test('two tables of Hugging Face are reproduced to their four digits', () => {
    // RoFormer's test: 6 columns, and 512 of which it prints five.
    const six = rw.sinusoidal({ dim: 6, positions: [0, 1], layout: 'concatenated' });
    assertClose(six, [0, 0, 0, 1, 1, 1, 0.8415, 0.0464, 0.0022, 0.5403, 0.9989, 1], 5e-5);
    const wide = rw.sinusoidal({ dim: 512, positions: [1, 2], layout: 'concatenated' });
    assertClose(wide.subarray(0, 5), [0.8415, 0.8219, 0.802, 0.7819, 0.7617], 5e-5);
    assertClose(wide.subarray(512, 517), [0.9093, 0.9364, 0.9581, 0.9749, 0.987], 5e-5);
  });

  test('a row depends on its own position only', () => {
    const rows = rw.sinusoidal({ dim: 10, positions: { length: 40, offset: 1000 } });
    for (const i of [0, 17, 39]) {
      assertSameBits(rows.subarray(10 * i, 10 * i + 10), rw.sinusoidal({ dim: 10, positions: [1000 + i] }));
    }
  });

  test('a shift of positions is a rotation of sines and cosines', () => {
    const [here, there] = [rw.sinusoidal({ dim: 32, positions: [123] }), rw.sinusoidal({ dim: 32, positions: [130] })];
    const angles = geometric(10000, 32, 16).map((w) => angle(7, w));
    const want = angles.flatMap((a, i) => {
      const [sin, cos] = [here[2 * i], here[2 * i + 1]];
      return [sin * Math.cos(a) + cos * Math.sin(a), cos * Math.cos(a) - sin * Math.sin(a)];
    });
    assertClose(there, want, 3 * 2 ** -24);
  });

  testMisfits(rw, 'sinusoidal', {
    'too few columns for tensor2tensor': [
      RangeError,
      ['dim', '3', 'tensor2tensor'],
      () => rw.sinusoidal({ dim: 3, positions: [1], layout: 'tensor2tensor' }),
    ],
  });

  test('the result is a plain Float32Array of its own', () => {
    const got = rw.sinusoidal({ dim: 4, positions: { length: 3 } });
    assert.equal(got.constructor, Float32Array);
    assert.deepEqual([got.length, got.byteOffset, got.buffer.byteLength], [12, 0, 48]);
  });
});
