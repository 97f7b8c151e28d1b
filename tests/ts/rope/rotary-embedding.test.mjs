// rotaryEmbedding(): the published cases of ONNX and onnxruntime, and refusals.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assertClose, assertSameBits, random, randomArray, swapHeadsAndTokens } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testMisfits } from '../support/refusals.mjs';

const read = (name) => JSON.parse(readFileSync(new URL(`../data/${name}.json`, import.meta.url), 'utf8'));
const onnx = read('onnx-rotary');
const ort = read('published').ort_contrib;

// An input or output of a case of ONNX, whose numbers are stored once for all cases.
const array = ({ dims, data }) => ({ data: Float32Array.from(onnx.arrays[data]), shape: dims });

// ONNX has three axes as [B, T, H * D] and four as [B, H, T, D].
function heads({ data, shape }, count) {
  if (shape.length === 4) return { x: { data, shape }, layout: 'BHTD' };
  const [batch, tokens, width] = shape;
  return { x: { data, shape: [batch, tokens, count, width / count] }, layout: 'BTHD' };
}

await onEachBuild((rw) => {
  for (const [name, { attrs, input, cos, sin, positions, output }] of Object.entries(onnx.cases)) {
    test(`ONNX: ${name}`, () => {
      const { x, layout } = heads(array(input), attrs.num_heads);
      const got = rw.rotaryEmbedding(x, {
        cos: array(cos),
        sin: array(sin),
        positions: positions && onnx.arrays[positions.data],
        pairing: attrs.interleaved ? 'interleaved' : 'half',
        layout,
      });
      assert.deepEqual(got.shape, x.shape);
      assertClose(got.data, array(output).data, 2e-7);
    });
  }

  test('every backend case of ONNX v1.22.0 is there', () => {
    assert.equal(Object.keys(onnx.cases).length, 8);
    assert.match(onnx.source, /onnx/);
    assert.equal(onnx.licence, 'Apache-2.0');
  });

  for (const [name, given] of Object.entries(ort.cases)) {
    test(`onnxruntime: ${name}`, () => {
      const { batch, seq, heads, head_size, interleaved, position_ids, input, output } = given;
      const pairs = (given.rotary_embedding_dim ?? head_size) / 2;
      const table = (numbers) => ({ data: Float32Array.from(numbers), shape: [numbers.length / pairs, pairs] });
      // One id is where the sequence starts.
      const positions =
        position_ids.length === 1 ? Array.from({ length: seq }, (_, i) => position_ids[0] + i) : position_ids;
      const got = rw.rotaryEmbedding(Float32Array.from(input), {
        cos: table(given.cos_cache),
        sin: table(given.sin_cache),
        positions,
        pairing: interleaved ? 'interleaved' : 'half',
        shape: [batch, seq, heads, head_size],
        layout: 'BTHD',
      });
      // Inputs and outputs are published in four digits; onnxruntime itself allows 0.002.
      assertClose(got, Float32Array.from(output), 2e-4);
    });
  }

  for (const pairing of ['half', 'interleaved']) {
    test(`tables of a plan turn as the plan does, bit for bit (${pairing})`, () => {
      const plan = rw.rope({
        headDim: 12,
        rotaryDim: 8,
        pairing,
        scaling: { type: 'yarn', factor: 4, originalLength: 9 },
      });
      const { cos, sin } = plan.tables({ length: 30 });
      const tables = { cos: { data: cos, shape: [30, 4] }, sin: { data: sin, shape: [30, 4] }, pairing };
      const x = randomArray([2, 3, 4, 12], 1);
      for (const positions of [
        [0, 29, 3, 3],
        [9, 8, 7, 6, 0, 1, 2, 3],
        BigInt64Array.of(0n, 1n, 2n, 3n),
        Int32Array.of(5, 6, 7, 8),
      ]) {
        const got = rw.rotaryEmbedding(x, { ...tables, positions });
        assertSameBits(got.data, plan.rotate(x, { positions }).data);
      }
      plan.dispose();
    });
  }

  // Tables that are no circle: what stands there is what is used.
  const rows = 6;
  const tables = {
    cos: { data: random(rows * 2, 21), shape: [rows, 2] },
    sin: { data: random(rows * 2, 22), shape: [rows, 2] },
  };

  test('a row for every token is the same as positions that name it', () => {
    const x = randomArray([2, 3, 3, 8], 2);
    const without = {
      cos: { data: tables.cos.data, shape: [2, 3, 2] },
      sin: { data: tables.sin.data, shape: [2, 3, 2] },
    };
    const want = rw.rotaryEmbedding(x, { ...tables, positions: [0, 1, 2, 3, 4, 5] });
    assertSameBits(rw.rotaryEmbedding(x, without).data, want.data);
  });

  test('tensors are turned in place, tables may be tensors, and layouts and out agree', () => {
    const shape = [1, 2, 3, 4];
    const data = random(24, 3);
    const positions = [5, 0, 2];
    const want = rw.rotaryEmbedding({ data, shape }, { ...tables, positions });
    const [x, cos, sin] = [rw.tensor(shape, data), ...['cos', 'sin'].map((n) => rw.tensor([rows, 2], tables[n].data))];
    assert.equal(rw.rotaryEmbedding(x, { cos, sin, positions }), x);
    assertSameBits(x.data(), want.data);
    assertSameBits(cos.data(), tables.cos.data);
    const swapped = { data: swapHeadsAndTokens(data, shape), shape: [1, 3, 2, 4] };
    const got = rw.rotaryEmbedding(swapped, { ...tables, positions, layout: 'BTHD' });
    assertSameBits(got.data, swapHeadsAndTokens(want.data, shape));
    const out = new Float32Array(24);
    assert.equal(rw.rotaryEmbedding(data, { ...tables, positions, shape, out }), out);
    assertSameBits(out, want.data);
    for (const tensor of [x, cos, sin]) tensor.dispose();
  });

  const x = { data: new Float32Array(24), shape: [1, 2, 3, 4] };
  const call = (options) => () => rw.rotaryEmbedding(x, { ...tables, positions: [0, 1, 2], ...options });
  const table = (...shape) => ({ data: new Float32Array(shape.reduce((a, b) => a * b)), shape });
  const gone = rw.tensor([rows, 2]);
  gone.dispose();
  testMisfits(rw, 'rotaryEmbedding', {
    'a row after the last': [RangeError, ['positions[1]', '6', '5'], call({ positions: [0, 6, 1] })],
    'a row before the first': [RangeError, ['positions[2]', '-1'], call({ positions: [0, 5, -1] })],
    'a table as wide as the head': [RangeError, ['cos', '4', '2'], call({ cos: table(6, 4), sin: table(6, 4) })],
    'cos and sin of different shapes': [RangeError, ['sin', '[5, 2]', '[6, 2]'], call({ sin: table(5, 2) })],
    'cos and sin of different widths': [RangeError, ['sin', '[6, 1]'], call({ sin: table(6, 1) })],
    'missing positions where rows do not match tokens': [
      RangeError,
      ['cos', '[6, 2]', '[B, T, pairs]'],
      call({ positions: undefined }),
    ],
    'positions that do not fit the tokens': [RangeError, ['positions', '2', '3'], call({ positions: [0, 1] })],
    'a position that is no integer': [RangeError, ['positions[0]', '0.5'], call({ positions: [0.5, 1, 2] })],
    'an offset, which is for plans': [RangeError, 'offset', call({ offset: 1 })],
    'a missing cos': [TypeError, 'cos', call({ cos: undefined })],
    'a missing sin': [TypeError, 'sin', call({ sin: undefined })],
    'a table without a shape': [TypeError, 'cos', call({ cos: new Float32Array(12) })],
    'a table that was disposed': [Error, ['cos', 'disposed'], call({ cos: gone })],
    'a pairing that nobody knows': [RangeError, ['pairing', '"pairs"'], call({ pairing: 'pairs' })],
    'a Float32Array without a shape': [
      RangeError,
      'shape',
      () => rw.rotaryEmbedding(new Float32Array(24), { ...tables, positions: [0, 1, 2] }),
    ],
  });
});
