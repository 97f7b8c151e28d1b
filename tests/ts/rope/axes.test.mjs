// Positions with several axes against float64 on exact angles: the axis and the frequency of each pair.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertClose, assertSameBits, random, randomArray } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { angle, geometric } from '../support/fixed.mjs';
import { testMisfits } from '../support/refusals.mjs';

const consecutive = (from, length) => Array.from({ length }, (_, i) => from + i);
const last = 2 ** 53 - 1;

// Coordinates of pair j out of `pairs` in a block that begins at `start`.
const coordinates = {
  half: (start, j, pairs) => [start + j, start + pairs + j],
  interleaved: (start, j) => [start + 2 * j, start + 2 * j + 1],
};

/** Every pair as { axis, frequency, at: its two coordinates }; each layout follows the code of its model. */
function pairsOf(axes, { rotaryDim, base = 10000, pairing = 'half' }) {
  const count = rotaryDim / 2;
  const place = (j) => coordinates[pairing](0, j, count);
  const over = (dim) => geometric(base, dim, dim / 2);
  const whole = over(rotaryDim);
  const byAxis = (axisOf) => whole.map((frequency, j) => ({ axis: axisOf(j), frequency, at: place(j) }));
  switch (axes.layout) {
    case 'axial': {
      let start = 0;
      return axes.dims.flatMap((dim, axis) => {
        const from = start;
        start += dim;
        return over(dim).map((frequency, j) => ({ axis, frequency, at: coordinates[pairing](from, j, dim / 2) }));
      });
    }
    case 'sections': {
      const owners = axes.sections.flatMap((size, axis) => Array(size).fill(axis));
      return byAxis((j) => owners[j]);
    }
    case 'interleaved':
      return byAxis((j) => (j % 3 !== 0 && j < 3 * axes.sections[j % 3] ? j % 3 : 0));
    case 'vision': {
      const part = over(count);
      return [...part, ...part].map((frequency, j) => ({ axis: Number(j >= count / 2), frequency, at: place(j) }));
    }
    case 'pixtral': {
      const rows = whole.filter((_, j) => j % 2 === 0);
      const columns = whole.filter((_, j) => j % 2 === 1);
      return [...rows, ...columns].map((frequency, j) => ({ axis: Number(j >= count / 2), frequency, at: place(j) }));
    }
  }
}

/** x [B, H, T, D] rotated in float64 at positions [axis][B][T]: { data, bound }. */
function turned({ data, shape: [batch, heads, tokens, dim] }, pairs, positions) {
  const result = Float64Array.from(data);
  const bound = new Float64Array(data.length);
  for (let row = 0; row < batch * heads * tokens; ++row) {
    const b = Math.floor(row / (heads * tokens));
    for (const { axis, frequency, at } of pairs) {
      const turn = angle(positions[axis][b][row % tokens], frequency);
      const [i, j] = at.map((c) => row * dim + c);
      result[i] = data[i] * Math.cos(turn) - data[j] * Math.sin(turn);
      result[j] = data[i] * Math.sin(turn) + data[j] * Math.cos(turn);
      bound[i] = 4 * 2 ** -24 * (Math.abs(data[i]) + Math.abs(data[j]));
      bound[j] = bound[i];
    }
  }
  return { data: result, bound };
}

// Positions for two batch entries of four tokens on up to four axes: near, far, and backwards.
const lists = [
  [
    [0, 5, -3, last],
    [1, 1, 2 ** 32 + 1, -last],
  ],
  [
    [7, 0, 2, 11],
    [-last, last, 4, 0],
  ],
  [
    [3, 100_003, 9, 1],
    [2 ** 40 + 1, 6, -8, 2],
  ],
  [
    [12, 4, 4, 0],
    [0, 8, 1, -(2 ** 31)],
  ],
];

const layouts = {
  'axial, two equal blocks': [{ layout: 'axial', dims: [8, 8] }, { headDim: 16 }],
  'axial, three blocks of different sizes': [
    { layout: 'axial', dims: [4, 10, 6] },
    { headDim: 24, rotaryDim: 20 },
  ],
  'axial, one block': [{ layout: 'axial', dims: [12] }, { headDim: 12 }],
  'axial, four blocks': [{ layout: 'axial', dims: [4, 2, 4, 2] }, { headDim: 12 }],
  'sections of Qwen2-VL': [
    { layout: 'sections', sections: [16, 24, 24] },
    { headDim: 128, base: 1e6 },
  ],
  'sections, some empty': [{ layout: 'sections', sections: [0, 3, 0, 1] }, { headDim: 8 }],
  'sections of a part of the head': [
    { layout: 'sections', sections: [2, 1] },
    { headDim: 11, rotaryDim: 6 },
  ],
  'interleaved of Qwen3-VL': [
    { layout: 'interleaved', sections: [24, 20, 20] },
    { headDim: 128, base: 5e6 },
  ],
  'interleaved, many pairs left for axis 0': [{ layout: 'interleaved', sections: [8, 2, 1] }, { headDim: 22 }],
  'the vision tower of Qwen2-VL': [{ layout: 'vision' }, { headDim: 80 }],
  'the vision tower of Pixtral': [{ layout: 'pixtral' }, { headDim: 64 }],
};

// Lists of the first n axes, flat: what a caller gives for one axis, or for more.
const input = (count, batches) => {
  const flat = lists.slice(0, count).map((list) => list.slice(0, batches).flat());
  return count === 1 ? flat[0] : flat;
};

await onEachBuild((rw) => {
  for (const [what, [axes, options]] of Object.entries(layouts)) {
    for (const pairing of ['half', 'interleaved']) {
      test(`${what} (${pairing}) turns each pair by its own axis`, () => {
        const plan = rw.rope({ ...options, axes, pairing });
        const pairs = pairsOf(axes, { rotaryDim: options.headDim, ...options, pairing });
        const x = randomArray([2, 3, 4, options.headDim], 5);
        const perBatch = turned(x, pairs, lists);
        assertClose(plan.rotate(x, { positions: input(plan.axes, 2) }).data, perBatch.data, perBatch.bound);
        const shared = turned(
          x,
          pairs,
          lists.map(([list]) => [list, list]),
        );
        assertClose(plan.rotate(x, { positions: input(plan.axes, 1) }).data, shared.data, shared.bound);
        const steps = [consecutive(9, 4), consecutive(9, 4)];
        const offset = turned(x, pairs, Array(4).fill(steps));
        assertClose(plan.rotate(x, { offset: 9 }).data, offset.data, offset.bound);
        plan.dispose();
      });
    }
  }

  for (const layout of ['sections', 'interleaved']) {
    test(`${layout} with all axes equal is plain RoPE, bit for bit`, () => {
      const scaling = { type: 'yarn', factor: 4, originalLength: 64 };
      const options = { headDim: 20, rotaryDim: 16, base: 5000, scaling };
      const plan = rw.rope({ ...options, axes: { layout, sections: [4, 2, 2] } });
      const plain = rw.rope(options);
      const x = randomArray([2, 2, 3, 20], 4);
      const positions = [4, -9, 77_777];
      const want = plain.rotate(x, { positions }).data;
      assertSameBits(plan.rotate(x, { positions: [positions, positions, positions] }).data, want);
      assertSameBits(plan.rotate(x, { offset: 40 }).data, plain.rotate(x, { offset: 40 }).data);
      assertSameBits(plan.inverseFrequencies, plain.inverseFrequencies);
      assert.equal(plan.attentionFactor, plain.attentionFactor);
      assertClose(
        plan.unrotate(plan.rotate(x, { positions: [[1, 2, 3], positions, [0, 0, 0]] }), {
          positions: [[1, 2, 3], positions, [0, 0, 0]],
        }).data,
        x.data,
        16 * 2 ** -24,
      );
      plan.dispose();
      plain.dispose();
    });
  }

  test('tables and rotate take the same lists', () => {
    const plan = rw.rope({ headDim: 8, pairing: 'interleaved', axes: { layout: 'pixtral' } });
    const positions = [
      [3, 0],
      [5, 1],
    ];
    const { cos, sin } = plan.tables(positions);
    const got = plan.rotate(Float32Array.of(1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0), { positions });
    const want = [...cos].flatMap((c, i) => [c, sin[i]]);
    assertSameBits(got, want);
    plan.dispose();
  });

  test('axes come as any kind of lists', () => {
    const plan = rw.rope({ headDim: 8, axes: { layout: 'vision' } });
    const x = random(16);
    const want = plan.rotate(x, {
      positions: [
        [1, 2],
        [3, 4],
      ],
    });
    const typed = [Int32Array.of(1, 2), BigInt64Array.of(3n, 4n)];
    assertSameBits(plan.rotate(x, { positions: typed }), want);
    plan.dispose();
  });

  const made = (axes, more) => () => rw.rope({ headDim: 16, axes, ...more });
  const yarn = { type: 'yarn', factor: 4, originalLength: 64 };
  testMisfits(rw, 'rope', {
    'axial blocks that do not fill rotaryDim': [
      RangeError,
      ['axes.dims', '14', '16'],
      made({ layout: 'axial', dims: [8, 6] }),
    ],
    'an axial block of odd size': [RangeError, ['axes.dims', '7'], made({ layout: 'axial', dims: [7, 9] })],
    'sections that do not add up': [
      RangeError,
      ['axes.sections', '9', '8'],
      made({ layout: 'sections', sections: [4, 3, 2] }),
    ],
    'five axes': [RangeError, ['axes.sections', '5'], made({ layout: 'sections', sections: [2, 2, 2, 1, 1] })],
    'interleaved sections that are not three': [
      RangeError,
      ['axes.sections', '3'],
      made({ layout: 'interleaved', sections: [4, 4] }),
    ],
    'missing sections': [TypeError, 'axes.sections', made({ layout: 'sections' })],
    'sizes that a layout does not take': [RangeError, 'dims', made({ layout: 'vision', dims: [8, 8] })],
    'a layout that nobody knows': [RangeError, ['axes.layout', 'diagonal'], made({ layout: 'diagonal' })],
    'axial blocks with yarn': [
      RangeError,
      ['scaling.type', 'yarn'],
      made({ layout: 'axial', dims: [8, 8] }, { scaling: yarn }),
    ],
    'an axial block of one pair with ntk': [
      RangeError,
      ['axes.dims[1] is 2', 'ntk', '4'],
      made({ layout: 'axial', dims: [14, 2] }, { scaling: { type: 'ntk', factor: 2 } }),
    ],
    'a vision tower of a pair for each axis with ntk': [
      RangeError,
      ['rotaryDim is 4', 'ntk', '8'],
      made({ layout: 'vision' }, { rotaryDim: 4, scaling: { type: 'ntk', factor: 2 } }),
    ],
    'a vision tower with yarn': [RangeError, ['yarn', 'vision'], made({ layout: 'vision' }, { scaling: yarn })],
    'a vision tower of 6 coordinates': [
      RangeError,
      ['rotaryDim', '6', '4'],
      made({ layout: 'vision' }, { rotaryDim: 6 }),
    ],
    'a Pixtral tower of 10 coordinates': [
      RangeError,
      ['rotaryDim', '10'],
      made({ layout: 'pixtral' }, { rotaryDim: 10 }),
    ],
  });

  const plan = rw.rope({ headDim: 8, axes: { layout: 'sections', sections: [2, 1, 1] } });
  const turn = (positions) => () => plan.rotate(new Float32Array(16), { positions });
  testMisfits(rw, 'rope.rotate', {
    'one list for three axes': [TypeError, ['positions', '3'], turn([0, 1])],
    'two lists for three axes': [RangeError, ['positions', '2', '3'], turn(Array(2).fill([0, 1]))],
    'four lists for three axes': [RangeError, ['positions', '4', '3'], turn(Array(4).fill([0, 1]))],
    'lists of different lengths': [
      RangeError,
      ['positions[2]', '3', '2'],
      turn([
        [0, 1],
        [0, 1],
        [0, 1, 2],
      ]),
    ],
    'lists that do not fit the tokens': [RangeError, ['positions', '3', '2'], turn(Array(3).fill([0, 1, 2]))],
    'a position that is none': [
      RangeError,
      ['positions[1]', '0.5'],
      turn([
        [0, 1],
        [0, 0.5],
        [0, 1],
      ]),
    ],
  });
});
