// Published numbers: Hugging Face's tests and worked examples. The data names the source of each.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { mropePositions } from 'ropewalk';
import { assertClose, assertSameBits } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';

const published = JSON.parse(readFileSync(new URL('../data/published.json', import.meta.url), 'utf8'));
const { inv_freq: inverse, longrope } = published.hugging_face;
const { nested_gemma3_headdim256: gemma, ...plain } = inverse;

/** The scaling that a Hugging Face test describes. */
function scalingOf(p, longest = p.max_position_embeddings) {
  switch (p.rope_type) {
    case 'default':
      return { type: 'default' };
    case 'dynamic':
      return { type: 'dynamic', factor: p.factor, maxLength: longest, sequenceLength: p.seq_len };
    case 'yarn': {
      const originalLength = p.original_max_position_embeddings;
      return { type: 'yarn', factor: p.factor, betaFast: p.beta_fast, betaSlow: p.beta_slow, originalLength };
    }
    case 'llama3': {
      const [lowFreqFactor, highFreqFactor] = [p.low_freq_factor, p.high_freq_factor];
      const originalLength = p.original_max_position_embeddings;
      return { type: 'llama3', factor: p.factor, originalLength, lowFreqFactor, highFreqFactor };
    }
    case 'proportional':
      return { type: 'proportional', rotaryFraction: p.partial_rotary_factor, factor: p.factor };
  }
}

// Printed in 5 digits, those of proportional for Gemma 3 in 4 decimals.
const fiveDigits = (want) => want.map((w) => 5e-5 * Math.abs(w));
// torch.testing.assert_close of float32, as Hugging Face compares them: rtol 1.3e-6, atol 1e-5.
const torch = (want) => want.map((w) => 1e-5 + 1.3e-6 * Math.abs(w));

const arrays = [
  ...Object.entries(plain).map(([name, { params, expected, attention_factor }]) => ({
    name,
    headDim: params.head_dim,
    base: params.rope_theta,
    scaling: scalingOf(params),
    expected,
    factor: attention_factor,
    bound: fiveDigits(expected),
  })),
  ...Object.entries(gemma.expected).map(([name, expected]) => ({
    name: `${name} of a layer of Gemma 3`,
    headDim: gemma.params.head_dim,
    base: gemma.params.rope_theta,
    scaling: scalingOf(gemma.params[name], gemma.params.max_position_embeddings),
    expected,
    factor: plain[name].attention_factor,
    bound: name === 'proportional' ? expected.map((w) => (w === 0 ? 0 : 5.01e-5)) : fiveDigits(expected),
  })),
];

await onEachBuild((rw) => {
  // A plan's frequencies as they are used: from the angle of each pair at one position.
  const used = (plan) => {
    const { cos, sin } = plan.tables([1]);
    return Array.from(cos, (c, i) => Math.atan2(sin[i], c));
  };

  for (const angles of ['exact', 'float32']) {
    for (const { name, scaling, headDim, base, expected, factor, bound } of arrays) {
      test(`Hugging Face inv_freq: ${name} (angles ${angles})`, () => {
        const plan = rw.rope({ headDim, base, scaling, angles });
        assertClose(plan.inverseFrequencies, expected, bound);
        if (!name.startsWith('proportional of')) assertClose(plan.inverseFrequencies, expected, torch(expected));
        assertClose([plan.attentionFactor], [factor], 1e-12);
        // Within (-pi, pi], where one position turns each pair: the rounding of cos and sin on top.
        assertClose(
          used(plan),
          expected,
          bound.map((b) => b + 2e-7),
        );
        plan.dispose();
      });
    }

    for (const [name, expected] of [
      ['2048', (w) => w / 2],
      ['2049', (w, i) => w / (i + 1)],
    ]) {
      test(`Hugging Face longrope at ${name} tokens (angles ${angles})`, () => {
        const { head_dim: headDim, original_max_position_embeddings: originalLength } = longrope.params;
        const shortFactors = Array(headDim / 2).fill(2);
        const longFactors = Array.from(shortFactors, (_, i) => i + 1);
        for (const factor of [2, 10, 20]) {
          const lists = { shortFactors, longFactors, originalLength, factor, sequenceLength: Number(name) };
          const plan = rw.rope({ headDim, angles, scaling: { type: 'longrope', ...lists } });
          const want = plain.default.expected.map(expected);
          assertClose(plan.inverseFrequencies, want, fiveDigits(want));
          assertClose([plan.attentionFactor], [Math.sqrt(1 + Math.log(factor) / Math.log(2048))], 1e-12);
          plan.dispose();
        }
      });
    }

    test(`RoFormer's rotary numbers, for queries and negated keys (angles ${angles})`, () => {
      const shape = [2, 12, 16, 64];
      const data = Float32Array.from({ length: 2 * 12 * 16 * 64 }, (_, i) => Math.fround(i) / 100);
      const plan = rw.rope({ headDim: 64, pairing: 'interleaved', angles });
      const query = plan.rotate({ data, shape }).data;
      const key = plan.rotate({ data: data.map((v) => -v), shape }).data;
      published.roformer.rotary.q_0_0_rows0_5_cols0_7.forEach((row, t) => {
        assertClose(query.subarray(t * 64, t * 64 + 8), row, 1e-4);
        assertClose(
          key.subarray(t * 64, t * 64 + 8),
          row.map((v) => -v),
          1e-4,
        );
      });
      plan.dispose();
    });

    test(`the worked example of a vector of 4 at position 2 (angles ${angles})`, () => {
      const { q, m, d, published: printed, exact_f64: exact } = published.worked_example;
      const plan = rw.rope({ headDim: d, pairing: 'interleaved', angles });
      const got = plan.rotate(Float32Array.from(q), { offset: m });
      assertClose(got, exact, 4 * 2 ** -24 * 7);
      // Printed with intermediates that were cut off.
      assertClose(got, printed, 1e-3);
      plan.dispose();
    });
  }

  test("RoFormer's sinusoidal table has its sines before its cosines", () => {
    const layout = 'concatenated';
    const small = rw.sinusoidal({ dim: 6, positions: { length: 6 }, layout });
    const [first, second] = published.roformer.sinusoidal_split_n6_d6_rows0_1;
    assertClose(small.subarray(0, 12), [...first, ...second], 1e-4);
    const large = rw.sinusoidal({ dim: 512, positions: { length: 512 }, layout });
    published.roformer.sinusoidal_split_n512_d512_rows0_2_cols0_4.forEach((row, p) => {
      assertClose(large.subarray(p * 512, p * 512 + 5), row, 1e-4);
    });
  });

  test('the tensor2tensor table is that of FSMT and M2M100', () => {
    const layout = 'tensor2tensor';
    const small = rw.sinusoidal({ dim: 6, positions: [2, 3], layout });
    assertClose(small, published.fsmt.d6_positions2_3.flat(), 1e-4);
    const large = rw.sinusoidal({ dim: 512, positions: [1, 2], layout });
    published.fsmt.d512_positions1_2.forEach((row, p) => {
      assertClose(large.subarray(p * 512, p * 512 + 5), row, 1e-7);
    });
  });

  test('rows of clipped relative positions', () => {
    const { L: length, k, index } = published.clip_index;
    assertSameBits(rw.relativeRows({ queries: length, keys: length, maxDistance: k }), index.flat());
  });
});

const text = { text: 1 };
const ids = published.mrope_position_ids;
const video = ids.video_2x4x3_qwen2;
const clips = {
  'an image in Qwen2-VL': [[text, { image: [4, 3] }, text], ids.image_1x4x3],
  'a video in Qwen2-VL': [[text, { video: [2, 4, 3] }, text], video],
  'a video in Qwen2.5-VL': [
    [text, { video: [2, 4, 3], temporalStep: 3 }, text],
    { ...video, t: ids.video_2x4x3_qwen2_5_second_per_grid_3.t },
  ],
  'a video in Qwen3-VL': [[{ video: [2, 4, 3], timestamps: 1 }, text], ids.video_2x4x3_qwen3_frames_split_by_text],
};
for (const [what, [segments, { t, h, w }]] of Object.entries(clips)) {
  test(`M-RoPE position ids of ${what}`, () => {
    const { positions, length } = mropePositions(segments);
    assert.deepEqual(
      positions.map((list) => [...list]),
      [t, h, w],
    );
    assert.equal(length, t.length);
  });
}

test('every published number names its source and licence', () => {
  const own = ['worked_example', 'clip_index'];
  for (const [name, { source, licence }] of Object.entries(published)) {
    assert.ok(source.length > 10, name);
    if (!own.includes(name)) assert.match(licence, /^(Apache-2.0|MIT)$/, name);
  }
});
