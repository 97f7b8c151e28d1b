// xPos: queries shrink and keys grow by zeta^(position from a fixed centre), so that scores decay with distance.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testMisfits } from '../support/refusals.mjs';
import { frequencies, tables } from '../support/rope-reference.mjs';

const eps = 2 ** -24;
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const unit = (length, i) => Float32Array.from({ length }, (_, at) => Number(at === i));

// Sun et al. (arXiv:2212.10554): zeta_j = (2j / d + gamma) / (1 + gamma) with gamma = 0.4.
const zetas = (dim) => Array.from({ length: dim / 2 }, (_, j) => ((2 * j) / dim + 0.4) / 1.4);

/** Rows [T, D] of the half pairing as { data, bound } in float64. */
function reference({ data, shape: [tokens, dim] }, { positions, role, scaleBase = 512, center = 0, back = false }) {
  const pairs = dim / 2;
  const { cos, sin } = tables(frequencies(dim), positions);
  const zeta = zetas(dim);
  const result = new Float64Array(data.length);
  const bound = new Float64Array(data.length);
  for (let i = 0; i < tokens * pairs; ++i) {
    const j = i % pairs;
    const t = (i - j) / pairs;
    const steps = ((role === 'query' ? 1 : -1) * (positions[t] - center)) / scaleBase;
    const scale = zeta[j] ** (back ? -steps : steps);
    const [first, second] = [t * dim + j, t * dim + j + pairs];
    const [x, y, c, s] = [data[first], data[second], cos[i], back ? -sin[i] : sin[i]];
    result[first] = scale * (x * c - y * s);
    result[second] = scale * (x * s + y * c);
    bound[first] = 4 * eps * scale * (Math.abs(x) + Math.abs(y));
    bound[second] = bound[first];
  }
  return { data: result, bound };
}

await onEachBuild((rw) => {
  for (const role of ['query', 'key']) {
    for (const xpos of [{}, { scaleBase: 64 }, { center: 1000 }, { scaleBase: 32.5, center: -3.5 }]) {
      test(`a ${role} grows or shrinks by zeta to its distance from the centre: ${JSON.stringify(xpos)}`, () => {
        const plan = rw.rope({ headDim: 16, xpos });
        const positions = [0, 1, 7, 100, 999, 1000, 1001, -20, 513];
        const x = randomArray([positions.length, 16], 3);
        const want = reference(x, { positions, role, ...xpos });
        assertClose(plan.rotate(x, { positions, role }).data, want.data, want.bound);
        const undone = reference(x, { positions, role, ...xpos, back: true });
        assertClose(plan.unrotate(x, { positions, role }).data, undone.data, undone.bound);
        plan.dispose();
      });
    }
  }

  test('at the centre nothing is scaled', () => {
    const plan = rw.rope({ headDim: 8, xpos: { center: 40 } });
    const plain = rw.rope({ headDim: 8 });
    const x = random(8);
    for (const role of ['query', 'key']) {
      assertSameBits(plan.rotate(x, { offset: 40, role }), plain.rotate(x, { offset: 40 }));
    }
    plan.dispose();
    plain.dispose();
  });

  test('a score depends on the distance only', () => {
    const plan = rw.rope({ headDim: 32, xpos: {} });
    const [q, k] = [random(32, 1), random(32, 2)];
    const score = (m, n) =>
      dot(plan.rotate(q, { offset: m, role: 'query' }), plan.rotate(k, { offset: n, role: 'key' }));
    for (const distance of [0, 1, 30, 500]) {
      const want = score(distance, 0);
      for (const shift of [1, 64, 300, -200]) {
        // Queries shrink as much as keys grow, so the roundings stay as small as the product.
        const got = score(distance + shift, shift);
        assert.ok(
          Math.abs(got - want) <= 16 * eps * dot(q.map(Math.abs), k.map(Math.abs)) + 16 * eps,
          `${got}, ${want}`,
        );
      }
    }
    plan.dispose();
  });

  test('the score of one pair decays by zeta^distance', () => {
    const scaleBase = 100;
    const plan = rw.rope({ headDim: 8, xpos: { scaleBase } });
    const plain = rw.rope({ headDim: 8 });
    zetas(8).forEach((zeta, j) => {
      const x = unit(8, j);
      let before = Infinity;
      for (const distance of [0, 1, 10, 100, 250]) {
        const query = plan.rotate(x, { offset: 700 + distance, role: 'query' });
        const key = plan.rotate(x, { offset: 700, role: 'key' });
        const decay = zeta ** (distance / scaleBase);
        const cosine = dot(plain.rotate(x, { offset: distance }), x);
        assertClose([dot(query, key)], [decay * cosine], 8 * eps);
        assert.ok(decay < before);
        before = decay;
      }
    });
    plan.dispose();
    plain.dispose();
  });

  test('a key cached while the sequence was short fits a query that comes later', () => {
    const plan = rw.rope({ headDim: 16, xpos: {} });
    const keys = randomArray([4, 16], 8);
    const cached = plan.rotate(keys, { offset: 0, role: 'key' }).data;
    const more = randomArray([900, 16], 9);
    more.data.set(keys.data);
    const together = plan.rotate(more, { offset: 0, role: 'key' }).data;
    assertSameBits(together.subarray(0, cached.length), cached);
    plan.dispose();
  });

  test('attention with an xPos plan turns queries and keys by their roles', () => {
    const plan = rw.rope({ headDim: 8, xpos: { scaleBase: 10 } });
    const shape = [1, 1, 6, 8];
    const [q, k, v] = [1, 2, 3].map((seed) => randomArray(shape, seed));
    const got = rw.attention(q, k, v, { causal: true, position: { encoding: 'rope', plan } });
    const want = rw.attention(plan.rotate(q, { role: 'query' }), plan.rotate(k, { role: 'key' }), v, { causal: true });
    assertClose(got.out.data, want.out.data, 1e-6);
    plan.dispose();
  });

  test('keys are moved to another place, and to another centre', () => {
    const plan = rw.rope({ headDim: 8, xpos: { scaleBase: 64 } });
    const other = rw.rope({ headDim: 8, xpos: { scaleBase: 64, center: 30 }, base: 500 });
    const keys = random(24, 4);
    const cached = plan.rotate(keys, { offset: 10, role: 'key' });
    const bound = 24 * eps;
    assertClose(plan.rerotate(cached, { from: 10, to: 3 }), plan.rotate(keys, { offset: 3, role: 'key' }), bound);
    assertClose(
      plan.rerotate(cached, { from: 10, to: 25, plan: other }),
      other.rotate(keys, { offset: 25, role: 'key' }),
      bound,
    );
    plan.dispose();
    other.dispose();
  });

  const plan = rw.rope({ headDim: 4, xpos: {} });
  const plain = rw.rope({ headDim: 4 });
  const x = new Float32Array(4);
  testMisfits(rw, 'rope.rotate', {
    'an xPos call without a role': [TypeError, ['role', 'query', 'key'], () => plan.rotate(x)],
    'a role that nobody knows': [RangeError, ['role', '"value"'], () => plan.rotate(x, { role: 'value' })],
    'a bad role where none is needed': [RangeError, ['role', '"value"'], () => plain.rotate(x, { role: 'value' })],
    'a role that only the core knows': [
      RangeError,
      'expected one of "query", "key"',
      () => plain.rotate(x, { role: 'any' }),
    ],
    'no role by that name': [RangeError, 'expected one of "query", "key"', () => plan.rotate(x, { role: 'any' })],
  });
  testMisfits(rw, 'rope.unrotate', {
    'an xPos call without a role': [TypeError, 'role', () => plan.unrotate(x)],
  });
  const made = (xpos) => () => rw.rope({ headDim: 4, xpos });
  testMisfits(rw, 'rope', {
    'a scaleBase of 0': [RangeError, ['xpos.scaleBase', '0'], made({ scaleBase: 0 })],
    'a negative scaleBase': [RangeError, ['xpos.scaleBase', '-1'], made({ scaleBase: -1 })],
    'a centre that is not finite': [RangeError, ['xpos.center', 'NaN'], made({ center: Number.NaN })],
    'a centre that is no number': [TypeError, ['xpos.center', '"0"'], made({ center: '0' })],
    'an option that xpos does not have': [RangeError, 'gamma', made({ gamma: 0.4 })],
  });
  const error = { from: 0, to: 1, plan };
  testMisfits(rw, 'rope.rerotate', {
    'an xPos plan for keys of a plain one': [RangeError, ['plan', 'xPos'], () => plain.rerotate(x, error)],
    'a plain plan for xPos keys': [RangeError, ['plan', 'xPos'], () => plan.rerotate(x, { ...error, plan: plain })],
  });
});

test('positions beyond the reach of xPos are refused, and those within keep their numbers finite', async () => {
  const rw = await load();
  const plan = rw.rope({ headDim: 64, xpos: { center: 10 } });
  const x = new Float32Array(64).fill(1);
  for (const role of ['query', 'key']) {
    for (const offset of [10 + 66 * 512, 10 - 66 * 512]) {
      assert.ok(plan.rotate(x, { offset, role }).every(Number.isFinite));
      const beyond = offset + Math.sign(offset);
      assert.throws(() => plan.rotate(x, { offset: beyond, role }), { name: 'ArgumentRangeError', message: /xPos/ });
    }
  }
  assert.throws(() => plan.tables([1]), { name: 'ArgumentRangeError', message: /xPos/ });
});
