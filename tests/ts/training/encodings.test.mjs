// What is trained is what is applied: maps of a trainer's layer against the package's own attention with the same encoding.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axialTable, copeBias, debertaAttention, load, mixedRope, transformerXlAttention } from 'ropewalk';
import { load as loadTraining } from 'ropewalk/training';
import { assertClose, assertSameBits, random, sizeOf } from '../support/arrays.mjs';

const rw = await load();
const trainers = await loadTraining();
const [modelDim, heads, vocab, normEps] = [16, 2, 8, 1e-6];
const headDim = modelDim / heads;

/** A trainer of one layer whose parameters are nowhere at their start. */
function disturbed(position, causal, context) {
  const trainer = trainers.trainer({ layers: 1, modelDim, heads, vocab, context, causal, position, normEps });
  const entries = Object.entries(trainer.parameters()).map(([name, { data, shape }], i) => {
    const more = random(sizeOf(shape), i + 1);
    return [name, { data: data.map((x, at) => x + 0.3 * more[at]), shape }];
  });
  trainer.setParameters(Object.fromEntries(entries));
  return trainer;
}

/** [tokens, outputs] by a matrix [outputs, inputs]. */
const projected = (x, tokens, { data, shape: [outputs, inputs] }) =>
  Float32Array.from({ length: tokens * outputs }, (_, at) => {
    const [t, o] = [Math.floor(at / outputs), at % outputs];
    let sum = 0;
    for (let i = 0; i < inputs; ++i) sum += x[t * inputs + i] * data[o * inputs + i];
    return sum;
  });

/** Queries and keys of the layer, [1, H, T, D]. */
function headsOf(parameters, ids) {
  const x = new Float64Array(ids.length * modelDim);
  for (const [t, id] of ids.entries()) {
    const row = parameters.embedding.data.subarray(id * modelDim, (id + 1) * modelDim);
    const mean = row.reduce((sum, value) => sum + value * value, 0) / modelDim;
    const norm = parameters['layers.0.attention_norm'].data;
    for (let i = 0; i < modelDim; ++i) x[t * modelDim + i] = (row[i] * norm[i]) / Math.sqrt(mean + normEps);
  }
  return ['query', 'key'].map((name) => {
    const rows = projected(x, ids.length, parameters[`layers.0.${name}`]);
    const data = Float32Array.from(rows, (_, at) => {
      const [h, t] = [Math.floor(at / (ids.length * headDim)), Math.floor(at / headDim) % ids.length];
      return rows[t * modelDim + h * headDim + (at % headDim)];
    });
    return { data, shape: [1, heads, ids.length, headDim] };
  });
}

const returnScores = 'probabilities';
const mapped = (parameters, name, tokens, x) => ({
  data: projected(x, tokens, parameters[name]),
  shape: [tokens, modelDim],
});

// By the trainer's options: attention of the package by its parameters p.
const applied = {
  sandwich: [
    { dim: 10, base: 100 },
    ({ q, k, causal }) =>
      rw.attention(q, k, k, { causal, returnScores, position: { encoding: 'sandwich', dim: 10, base: 100 } }),
  ],
  transformer_xl: [
    { base: 100 },
    ({ q, k, p, causal, tokens }) => {
      const length = 2 * tokens - 1;
      const distances = { length, offset: 1 - tokens };
      const s = rw.sinusoidal({ dim: modelDim, base: 100, positions: distances, layout: 'concatenated' });
      return transformerXlAttention(rw, q, k, k, {
        table: mapped(p, 'layers.0.relative_projection', length, s),
        contentBias: p['layers.0.content_bias'],
        positionBias: p['layers.0.position_bias'],
        causal,
        returnScores,
      });
    },
  ],
  deberta: [{ span: 8 }, (call) => deberta(call)],
  'deberta with buckets': [
    { encoding: 'deberta', span: 8, maxDistance: 20 },
    (call) => deberta(call, { maxDistance: 20 }),
  ],
  cope: [
    { positions: 6 },
    ({ q, k, p, causal }) => {
      const bias = copeBias(rw, q, k, { table: p['layers.0.cope'], causal });
      return rw.attention(q, k, k, { bias, causal, returnScores });
    },
  ],
  rope_mixed: [{ columns: 5 }, (call) => mixed(call, 'interleaved')],
  'rope_mixed by halves': [{ encoding: 'rope_mixed', columns: 5, pairing: 'half' }, (call) => mixed(call, 'half')],
};

function deberta({ q, k, p, causal }, options) {
  const [rows] = p.relative_embeddings.shape;
  const [keyTable, queryTable] = ['key', 'query'].map((name) =>
    mapped(p, `layers.0.${name}`, rows, p.relative_embeddings.data),
  );
  return debertaAttention(rw, q, k, k, { keyTable, queryTable, causal, returnScores, ...options });
}

function mixed({ q, k, p, causal, tokens }, pairing) {
  const [x, y] = ['x', 'y'].map((axis) => p[`layers.0.frequencies_${axis}`].data);
  const positions = [(t) => t % 5, (t) => Math.floor(t / 5)].map((of) =>
    Array.from({ length: tokens }, (_, t) => of(t)),
  );
  const frequencies = { data: Float32Array.of(...x, ...y), shape: [2, heads, headDim / 2] };
  const rope = mixedRope(rw, { frequencies, positions, pairing });
  return rw.attention(rope.rotate(q), rope.rotate(k), k, { causal, returnScores });
}

for (const [name, [options, attend]] of Object.entries(applied)) {
  for (const causal of [true, false]) {
    for (const tokens of [1, 12, 150]) {
      test(`${name} is trained as the package applies it: ${tokens} tokens, causal ${causal}`, () => {
        const trainer = disturbed({ encoding: name, ...options }, causal, 150);
        const ids = Array.from({ length: tokens }, (_, t) => (t * t + 3 * t) % vocab);
        const p = trainer.parameters();
        const [q, k] = headsOf(p, ids);
        const { data } = trainer.capture([ids]);
        const { scores } = attend({ q, k, p, causal, tokens });
        assertClose(data, scores.data, 2e-6);
        trainer.dispose();
      });
    }
  }
}

test('axial positions are those of axialTable, bit for bit', () => {
  const axial = disturbed({ encoding: 'axial', columns: 5, rows: 3 }, true, 12);
  const learned = disturbed({ encoding: 'learned', maxPositions: 15 }, true, 12);
  const { 'axial.rows': rows, 'axial.columns': columns, ...others } = axial.parameters();
  learned.setParameters({ ...others, positions: axialTable(rw, { rows, columns }) });
  const batch = { ids: [[1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]] };
  const [ours, theirs] = [axial, learned].map((trainer) => trainer.evaluate(batch, { logits: true }));
  assertSameBits(ours.logits, theirs.logits);
  assert.throws(() => axial.evaluate({ ids: [[...batch.ids[0], 0]] }), { argument: 'ids', message: /16 tokens/ });
  axial.dispose();
  learned.dispose();
});
