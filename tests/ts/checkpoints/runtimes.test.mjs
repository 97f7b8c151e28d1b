// RoPE options from the parameters of ggml and MLX, against the results of those programs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, ropeFromGgml, ropeFromMlx } from 'ropewalk';
import { assertClose } from '../support/arrays.mjs';
import { notABoolean, notOptions, notPositive, required } from '../support/bad-values.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const rw = await load({ simd: 'deterministic' });

function frequenciesOf(options) {
  const plan = rw.rope(options);
  try {
    return { w: plan.inverseFrequencies, factor: plan.attentionFactor };
  } finally {
    plan.dispose();
  }
}

// ggml's rope_yarn and rope_cache_init in float64: angle and magnitude of each pair at position 1.
function ggml({
  n_rot,
  freq_base,
  freq_scale,
  ext_factor,
  attn_factor,
  beta_fast,
  beta_slow,
  n_ctx_orig,
  freq_factors,
}) {
  const corrDim = (rot) => (n_rot * Math.log(n_ctx_orig / (rot * 2 * Math.PI))) / (2 * Math.log(freq_base));
  const start = Math.max(0, Math.floor(corrDim(beta_fast)));
  const end = Math.min(n_rot - 1, Math.ceil(corrDim(beta_slow)));
  const w = Array.from({ length: n_rot / 2 }, (_, pair) => {
    const extrap = freq_base ** ((-2 * pair) / n_rot) / (freq_factors?.[pair] ?? 1);
    const interp = freq_scale * extrap;
    if (ext_factor === 0) return interp;
    const y = (pair - start) / Math.max(0.001, end - start);
    const mix = (1 - Math.min(1, Math.max(0, y))) * ext_factor;
    return interp * (1 - mix) + extrap * mix;
  });
  return { w, factor: ext_factor === 0 ? attn_factor : attn_factor * (1 + 0.1 * Math.log(1 / freq_scale)) };
}

const llama = {
  ...{ n_rot: 16, mode: 2, freq_base: 10000, freq_scale: 0.25, ext_factor: 1, attn_factor: 1 },
  ...{ beta_fast: 32, beta_slow: 1, n_ctx_orig: 4096 },
};
const dividers = [1, 1, 1, 1.5, 2, 4, 8, 8];
const ggmlCases = {
  'no scaling': [{ ext_factor: 0, freq_scale: 1 }, undefined],
  'a scale of positions': [{ ext_factor: 0 }, 'linear'],
  'an attention factor alone': [{ ext_factor: 0, attn_factor: 1.25 }, 'custom'],
  'frequency factors, which divide': [{ ext_factor: 0, freq_scale: 1, freq_factors: dividers }, 'custom'],
  YaRN: [{}, 'yarn'],
  'YaRN whose attention factor is given': [{ attn_factor: 0.8 }, 'yarn'],
  'half of YaRN': [{ ext_factor: 0.5 }, 'custom'],
  'YaRN with frequency factors': [{ freq_factors: Float32Array.from(dividers) }, 'custom'],
  'YaRN on a context so short that its band turns around': [{ n_ctx_orig: 1 }, 'custom'],
  'YaRN that shortens': [{ freq_scale: 2 }, 'yarn'],
};

for (const [what, [change, type]] of Object.entries(ggmlCases)) {
  test(`ropeFromGgml does as ggml does with ${what}`, () => {
    const parameters = { ...llama, ...change };
    const options = ropeFromGgml(parameters);
    assert.equal(options.scaling?.type, type);
    const want = ggml(parameters);
    const got = frequenciesOf(options);
    const bounds = want.w.map((w) => 1e-14 * w);
    assertClose(got.w, want.w, bounds);
    const factor = options.scaling?.attentionFactor ?? got.factor;
    assert.ok(Math.abs(factor - want.factor) <= 1e-15);
  });
}

test('a list of frequencies from ggml keeps its attention factor in the plan', () => {
  const { factor } = frequenciesOf(ropeFromGgml({ ...llama, ext_factor: 0, attn_factor: 1.25 }));
  assert.equal(factor, 1.25);
});

test('ropeFromGgml names pairings, partial heads and defaults as ggml means them', () => {
  assert.deepEqual(ropeFromGgml({ n_rot: 4, mode: 0 }), { headDim: 4, base: 10000, pairing: 'interleaved' });
  const partial = ropeFromGgml({ n_rot: 4, head_dim: 8, mode: 2, freq_base: 500 });
  assert.deepEqual(partial, { headDim: 8, rotaryDim: 4, base: 500, pairing: 'half' });
  assert.deepEqual(ropeFromGgml({ n_rot: 4, head_dim: 7, mode: 2, freq_base: 500 }), { ...partial, headDim: 7 });
});

const ggmlWith = (more) => () => ropeFromGgml({ n_rot: 8, mode: 2, ...more });
testMisfits(rw, 'ropeFromGgml', {
  'a mode with several axes': [RangeError, ['mode', '8'], ggmlWith({ mode: 8 })],
  'YaRN without the original context': [TypeError, 'n_ctx_orig', ggmlWith({ ext_factor: 1 })],
  'the ext_factor that stands for the model’s own': [RangeError, ['ext_factor', '-1'], ggmlWith({ ext_factor: -1 })],
  'a head smaller than what turns': [RangeError, ['head_dim', '4', '8'], ggmlWith({ head_dim: 4 })],
  'frequency factors that are not one for each pair': [
    RangeError,
    ['freq_factors', '3 entries'],
    ggmlWith({ freq_factors: [1, 1, 1] }),
  ],
  'a frequency factor of zero': [RangeError, 'freq_factors[1]', ggmlWith({ freq_factors: [1, 0, 1, 1] })],
  'frequency factors that are no list': [TypeError, 'freq_factors', ggmlWith({ freq_factors: 8 })],
  'a scale that turns the magnitude around': [
    RangeError,
    'freq_scale',
    ggmlWith({ ext_factor: 1, n_ctx_orig: 512, freq_scale: 1e6 }),
  ],
});
testAllRefusals(rw, 'ropeFromGgml', {
  parameters: [required(notOptions), (parameters) => ropeFromGgml(parameters)],
  freq_scale: [notPositive, (value) => ggmlWith({ freq_scale: value })()],
});
testUnknownOptions(rw, 'ropeFromGgml', ['dims', 'n_offs'], (more) => ggmlWith(more)());

test('ropeFromMlx scales positions and takes freqs for reciprocals', () => {
  assert.deepEqual(ropeFromMlx({ dims: 8 }), { headDim: 8, base: 10000, pairing: 'half' });
  const scaledBy = ropeFromMlx({ dims: 4, headDim: 8, traditional: true, base: 500, scale: 0.5 });
  const half = { headDim: 8, rotaryDim: 4, base: 500, pairing: 'interleaved', scaling: { type: 'linear', factor: 2 } };
  assert.deepEqual(ropeFromMlx({ dims: 4, headDim: 7 }), { headDim: 7, rotaryDim: 4, base: 10000, pairing: 'half' });
  assert.deepEqual(scaledBy, half);
  for (const freqs of [[1, 4, Infinity], Float32Array.of(1, 4, Infinity)]) {
    const options = ropeFromMlx({ dims: 6, freqs, scale: 2 });
    assert.deepEqual([...frequenciesOf(options).w], [2, 0.5, 0]);
  }
  const geometric = Array.from({ length: 32 }, (_, i) => 10000 ** ((2 * i) / 64));
  const [own, theirs] = [{ headDim: 64 }, ropeFromMlx({ dims: 64, freqs: geometric })].map((o) => frequenciesOf(o).w);
  assertClose(
    theirs,
    own,
    own.map((w) => 1e-15 * 32 * w),
  );
});

const mlxWith = (more) => () => ropeFromMlx({ dims: 4, ...more });
testMisfits(rw, 'ropeFromMlx', {
  'both a base and freqs': [RangeError, ['base', 'freqs'], mlxWith({ base: 10000, freqs: [1, 2] })],
  'freqs that are not one for each pair': [RangeError, ['freqs', '3 entries'], mlxWith({ freqs: [1, 2, 3] })],
  'a freq of zero': [RangeError, 'freqs[0]', mlxWith({ freqs: [0, 1] })],
  'a head smaller than what turns': [RangeError, ['headDim', '2', '4'], mlxWith({ headDim: 2 })],
});
testAllRefusals(rw, 'ropeFromMlx', {
  parameters: [required(notOptions), (parameters) => ropeFromMlx(parameters)],
  traditional: [notABoolean, (traditional) => mlxWith({ traditional })()],
  scale: [notPositive, (scale) => mlxWith({ scale })()],
});
testUnknownOptions(rw, 'ropeFromMlx', ['offset', 'pairing'], (more) => mlxWith(more)());
