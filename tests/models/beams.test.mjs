// Beam search against the plainest form of it: every beginning is run whole, and all tokens behind all beams are sorted.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'ropewalk';
import { loadModel } from 'ropewalk/models';
import { inUse } from '../ts/support/peak.mjs';
import { idsOf } from './sequences.mjs';
import { safetensorsOf } from './tiny/files.mjs';
import { tinyModel } from './tiny/models.mjs';

const rw = await load({ simd: 'deterministic' });

async function withModel(name, body) {
  const model = tinyModel(name);
  const loaded = await loadModel(rw, { config: model.config, weights: safetensorsOf(model) });
  try {
    return await body(loaded, model);
  } finally {
    loaded.dispose();
  }
}

async function tokensOf(generated) {
  const tokens = [];
  for await (const { token } of generated) tokens.push(token);
  return tokens;
}

function logSoftmax(logits) {
  const most = Math.max(...logits);
  const rest = Math.log(logits.reduce((sum, x) => sum + Math.exp(x - most), 0));
  return Array.from(logits, (x) => x - most - rest);
}

// As BeamSearchScorer of Hugging Face has it, with early_stopping false.
function naive(loaded, ids, { start, beams: count, maxTokens, stop, lengthPenalty = 1, attentionMask, ban }) {
  const asked = attentionMask === undefined ? {} : { attentionMask };
  let beams = [{ tokens: [], sum: 0 }];
  let ended = [];
  const end = (tokens, score) => {
    ended = [...ended, { tokens, score }].sort((a, b) => b.score - a.score).slice(0, count);
  };
  for (let length = 1; length <= maxTokens; ++length) {
    const all = beams
      .flatMap(({ tokens, sum }) =>
        logSoftmax(loaded.forward(ids, [...start, ...tokens], asked).logits.data).map((p, token) => ({
          ...{ tokens, token },
          sum: token === ban ? Number.NEGATIVE_INFINITY : sum + p,
        })),
      )
      .sort((a, b) => b.sum - a.sum)
      .slice(0, Math.max(2, 1 + stop.length) * count);
    const next = [];
    all.forEach(({ tokens, token, sum }, rank) => {
      if (next.length === count) return;
      if (!stop.includes(token)) next.push({ tokens: [...tokens, token], sum });
      else if (rank < count) end(tokens, sum / length ** lengthPenalty);
    });
    if (ended.length === count && ended.at(-1).score >= all[0].sum / length ** lengthPenalty) return ended[0].tokens;
    beams = next;
  }
  for (const { tokens, sum } of beams) end(tokens, sum / maxTokens ** lengthPenalty);
  return ended[0].tokens;
}

describe('beams find what a search over whole beginnings finds', () => {
  for (const name of ['marian', 'flan-t5-both', 't5-both']) {
    test(name, () =>
      withModel(name, async (loaded, model) => {
        const start = [model.config.decoder_start_token_id];
        let differ = 0;
        for (const seed of [1, 2, 3, 4]) {
          const ids = idsOf(model, 7, 50 + seed);
          for (const given of [
            { beams: 1, maxTokens: 6, stop: [] },
            { beams: 3, maxTokens: 7, stop: [] },
            { beams: 4, maxTokens: 9, stop: [5, 11, 23, 40, 41, 60] },
            { beams: 4, maxTokens: 9, stop: Array.from({ length: 30 }, (_, i) => 3 * i), lengthPenalty: 0 },
            { beams: 2, maxTokens: 8, stop: Array.from({ length: 40 }, (_, i) => 2 * i + 1), lengthPenalty: 3 },
            { beams: 5, maxTokens: 1, stop: [] },
          ]) {
            const want = naive(loaded, ids, { start, ...given });
            const { beams: count, lengthPenalty, ...rest } = given;
            const beams = lengthPenalty === undefined ? count : { count, lengthPenalty };
            assert.deepEqual(await tokensOf(loaded.generate(ids, { ...rest, beams })), want, JSON.stringify(given));
            const first = await tokensOf(loaded.generate(ids, { ...rest, temperature: 0 }));
            if (given.beams === 1) assert.deepEqual(want, first);
            else if (String(first) !== String(want)) ++differ;
          }
        }
        assert.ok(differ > 1, `${differ} searches found another target than the greedy choice`);
      }),
    );
  }
});

test('beams go on with a target, see no padding and never write a banned token', () =>
  withModel('marian', async (loaded, model) => {
    const ids = [...idsOf(model, 5, 61), 0, 0];
    const attentionMask = [1, 1, 1, 1, 1, 0, 0];
    const start = [model.config.decoder_start_token_id, 7, 8];
    const given = { beams: 3, maxTokens: 5, stop: [2], attentionMask };
    const free = naive(loaded, ids, { start, ...given });
    const positions = [];
    for await (const { token, row, position } of loaded.generate(ids, { ...given, targetIds: start })) {
      assert.equal(row, 0);
      assert.equal(token, free[positions.length]);
      positions.push(position);
    }
    assert.deepEqual(
      positions,
      free.map((_, i) => 3 + i),
    );
    const ban = free[0];
    const banned = loaded.generate(ids, { ...given, targetIds: start, logitBias: { [ban]: -Infinity } });
    assert.deepEqual(await tokensOf(banned), naive(loaded, ids, { start, ...given, ban }));
  }));

test('searches leave nothing behind, whole or ended, and refuse what chooses single tokens', () =>
  withModel('t5-both', async (loaded) => {
    const before = inUse(rw);
    await tokensOf(loaded.generate([5, 17, 40], { beams: 4, maxTokens: 3, storage: 'float16' }));
    assert.deepEqual(inUse(rw), before);
    const ending = new AbortController();
    ending.abort(new Error('enough'));
    await assert.rejects(tokensOf(loaded.generate([5], { beams: 2, signal: ending.signal })), /enough/);
    assert.deepEqual(inUse(rw), before);
    const cases = [
      [{ beams: 0 }, /beams is 0; expected an integer from 1 to 64/],
      [{ beams: { count: 65 } }, /beams\.count is 65/],
      [{ beams: { count: 2, early: true } }, /beams\.early is not an option/],
      [{ beams: { count: 2, lengthPenalty: Number.NaN } }, /beams\.lengthPenalty is NaN/],
      [{ beams: 'many' }, /beams is "many"/],
      [{ beams: 2, temperature: 0 }, /temperature is not an option; known are .*logitBias/],
      [{ beams: 2, seed: 1 }, /seed is not an option/],
      [{ beams: 2, stopAfter: () => true }, /stopAfter is not an option/],
    ];
    for (const [options, message] of cases) {
      await assert.rejects(tokensOf(loaded.generate([5, 17], options)), { message });
    }
    const two = loaded.generate([[5], [6]], { beams: 2 });
    await assert.rejects(tokensOf(two), /beams is 2; .*|beams are for ids of one row; these have 2/);
    assert.deepEqual(inUse(rw), before);
  }));
