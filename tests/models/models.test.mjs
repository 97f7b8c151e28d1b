// Loaded models against the reference: every intermediate of every layer of every architecture, on each build, within
// the error of plain float32 arithmetic times a constant.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { loadModel } from 'ropewalk/models';
import { assertSameBits } from '../ts/support/arrays.mjs';
import { onEachBuild } from '../ts/support/builds.mjs';
import { folderWith } from '../ts/support/folder.mjs';
import { inUse } from '../ts/support/peak.mjs';
import { tellDifference, testDifferences } from './differences.mjs';
import { isEncoder } from './families.mjs';
import { float32, reference } from './reference/reference.mjs';
import { assertAgrees, flat, toleranceOf } from './rows.mjs';
import { idsOf } from './sequences.mjs';
import { safetensorsOf, shardsOf } from './tiny/files.mjs';
import { tinyModel, variants } from './tiny/models.mjs';

const projections = ['q', 'k', 'v', 'qRotated', 'kRotated', 'vRotated', 'context'];
const captured = [...projections, 'raw', 'capped', 'probabilities', 'attentionOut', 'hidden', 'mlp'];

/** Whether a model trained on 16 tokens has other frequencies for longer sequences. */
const dependsOnLength = ({ config }) => ['longrope', 'dynamic'].includes(config.rope_scaling?.type);

const tiny = variants.map((name) => tinyModel(name));
const [encoders, decoders] = [tiny.filter(isEncoder), tiny.filter((model) => !isEncoder(model))];

const made = new Map();

/** The float64 reference and the tolerance of each of its parts: { exact, allows(pick) }. Computed once. */
function golden(model, input) {
  const key = JSON.stringify([model.name, model.config, input]);
  if (!made.has(key)) {
    const [exact, single] = [reference(model, input), reference(model, input, float32)];
    made.set(key, { exact, allows: (pick) => toleranceOf(pick(exact), pick(single)) });
  }
  return made.get(key);
}

/** Fails unless `got` agrees with the part of the reference that `pick` selects. */
function check(name, got, { exact, allows }, pick) {
  assertAgrees(name, got.data, pick(exact), allows(pick));
}

// Compares scores of visible keys only; those of hidden keys are unspecified.
function checkScores(name, got, { exact, allows }, pick, seen) {
  const kept = flat(seen).map((weight) => weight > 0);
  const only = (values) => flat(values).filter((_, i) => kept[i]);
  assertAgrees(name, only(Array.from(got.data)), only(pick(exact)), allows(pick));
}

function checkLayers(result, want, { config }) {
  const parallel = config.norms === 'parallel';
  for (const [i, layer] of result.captured.entries()) {
    for (const name of captured) {
      if (name === 'hidden' && parallel) continue;
      const pick = (run) => run.layers[i][name];
      const label = `layer ${i} ${name}`;
      if (name === 'raw' || name === 'capped') {
        checkScores(label, layer[name], want, pick, want.exact.layers[i].probabilities);
      } else {
        check(label, layer[name], want, pick);
      }
    }
    const pick = (run) => (i === 0 ? run.embeddings : run.layers[i - 1].out);
    check(`hidden state ${i}`, result.hiddenStates[i], want, pick);
  }
}

const captureOf = ({ config }) =>
  config.norms === 'parallel' ? captured.filter((name) => name !== 'hidden') : captured;

const load = (rw, model, options) => loadModel(rw, { config: model.config, weights: safetensorsOf(model), ...options });

/** Runs `body` with a loaded model and disposes of it. */
async function withModel(rw, model, options, body) {
  const loaded = await load(rw, model, options);
  try {
    return await body(loaded);
  } finally {
    loaded.dispose();
  }
}

/** The mean of rows, with length 1. */
function unitMean(rows) {
  const sums = Array.from(rows[0], (_, i) => rows.reduce((sum, row) => sum + row[i], 0));
  const length = Math.hypot(...sums);
  return sums.map((x) => x / length);
}

const biggest = (logits) => logits.indexOf(Math.max(...logits));

await onEachBuild((rw) => {
  describe('everything that a layer computes', () => {
    for (const model of tiny) {
      test(model.name, (t) =>
        withModel(rw, model, {}, (loaded) => {
          const ids = idsOf(model, 11, 10);
          const want = golden(model, { ids });
          const options = { capture: captureOf(loaded), hiddenStates: true };
          if (isEncoder(model)) {
            const has = { logits: loaded.hasLogits, pooled: loaded.hasPooler };
            assert.equal(has.logits, want.exact.logits !== undefined);
            assert.equal(has.pooled, want.exact.pooled !== undefined);
            const result = loaded.forward(ids, { ...options, ...has });
            checkLayers(result, want, loaded);
            check('hidden', result.hidden, want, (run) => run.hidden);
            const part = has.logits ? 'logits' : 'hidden';
            tellDifference(t, model, result[part], want.exact[part]);
            if (has.pooled) check('pooled', result.pooled, want, (run) => run.pooled);
            if (has.logits) check('logits', result.logits, want, (run) => run.logits);
          } else {
            const result = loaded.forward(ids, { ...options, hidden: true, logits: 'all' });
            checkLayers(result, want, loaded);
            check('hidden', result.hidden, want, (run) => run.hidden);
            check('logits', result.logits, want, (run) => run.logits);
            tellDifference(t, model, result.logits, want.exact.logits);
            check('last logits', loaded.forward(ids).logits, want, (run) => run.logits.at(-1));
          }
        }),
      );
    }
  });

  describe('relative positions that count from query to key', () => {
    for (const model of encoders.filter(({ config }) => config.position_embedding_type?.startsWith('relative'))) {
      test(model.name, () =>
        withModel(rw, model, { relativeSign: 'key-minus-query' }, (loaded) => {
          const ids = idsOf(model, 11, 10);
          const want = golden(model, { ids, keyMinusQuery: true });
          const result = loaded.forward(ids, { capture: captureOf(loaded), hiddenStates: true });
          checkLayers(result, want, loaded);
          check('hidden', result.hidden, want, (run) => run.hidden);
        }),
      );
    }
  });

  describe('a decoder with a cache, in pieces of any size', () => {
    for (const model of decoders) {
      test(model.name, () =>
        withModel(rw, model, {}, (loaded) => {
          const ids = idsOf(model, 11, 10);
          const want = golden(model, { ids });
          const once = loaded.forward(ids, { logits: 'all' }).logits.data;
          for (const pieces of [[11], [4, 1, 6], Array(11).fill(1), [10, 1], [1, 9, 1]]) {
            const cache = loaded.kvCache();
            let at = 0;
            const rows = pieces.map((size) => {
              const { logits } = loaded.forward(ids.slice(at, at + size), { cache, logits: 'all' });
              at += size;
              return logits.data;
            });
            cache.dispose();
            check(`pieces of ${pieces}`, { data: flat(rows) }, want, (run) => run.logits);
            assertSameBits(flat(rows), once);
          }
          for (const chunk of [1, 3, 5]) {
            const cache = loaded.kvCache({ chunk });
            assertSameBits(loaded.forward(ids, { cache, logits: 'all' }).logits.data, once);
            cache.dispose();
          }
        }),
      );
    }
  });

  describe('a cache that is cut back and goes on with other tokens, keys kept rotated or not', () => {
    for (const model of decoders) {
      test(model.name, () =>
        withModel(rw, model, {}, (loaded) => {
          const [first, then] = [idsOf(model, 11, 17), idsOf(model, 5, 18)];
          const want = golden(model, { ids: [...first.slice(0, 6), ...then] });
          for (const keys of ['rotated', 'unrotated']) {
            const cache = loaded.kvCache({ keys });
            loaded.forward(first, { cache, logits: 'none' });
            cache.truncate(6);
            const { logits } = loaded.forward(then, { cache, logits: 'all' });
            check(keys, logits, want, (run) => run.logits.slice(6));
            cache.dispose();
          }
        }),
      );
    }
  });

  describe('greedy generation', () => {
    for (const model of decoders) {
      test(`${model.name}: the tokens of the reference, and the same after the cache was saved and restored`, () =>
        withModel(rw, model, {}, (loaded) => {
          const prompt = idsOf(model, 5, 11);
          const [ids, rows] = [[...prompt], []];
          const cache = loaded.kvCache();
          let saved;
          for (let step = 0; step < 8; ++step) {
            if (step === 4) saved = cache.save();
            const { logits } = loaded.forward(step === 0 ? prompt : [ids.at(-1)], { cache });
            rows.push(logits.data);
            ids.push(biggest(logits.data));
          }
          cache.dispose();
          // The reference reads all of it at once: row t tells what comes after token t.
          const want = golden(model, { ids: ids.slice(0, -1) });
          const pick = (run) => run.logits.slice(prompt.length - 1);
          check('logits', { data: flat(rows) }, want, pick);
          pick(want.exact).forEach((logits, step) => {
            const [first, second] = [...logits].sort((a, b) => b - a);
            if (first - second <= 2 * want.allows(pick)) return;
            assert.equal(ids[prompt.length + step], biggest(logits), `token ${step}`);
          });

          const restored = loaded.restoreKvCache(saved);
          for (let step = 4; step < 8; ++step) {
            const { logits } = loaded.forward([ids[prompt.length + step - 1]], { cache: restored });
            assertSameBits(logits.data, rows[step]);
          }
          restored.dispose();
        }));
    }
  });

  describe('batches', () => {
    const lengths = [11, 7, 4];

    for (const model of encoders) {
      test(`${model.name}: padded on the left, at positions of the columns or of the tokens`, () =>
        withModel(rw, model, {}, (loaded) => {
          const width = lengths[0];
          const columns = Array.from({ length: width }, (_, t) => t);
          const keep = lengths.map((length) => columns.map((t) => t >= width - length));
          const most = Math.max(loaded.config.tokenTypes - 1, 0);
          const types = keep.map((row, b) => row.map((kept, t) => (kept && t % 3 === b ? most : 0)));
          const ids = lengths.map((_, b) => idsOf(model, width, 20 + b));
          const own = keep.map((row, b) => row.map((kept, t) => (kept ? t - (width - lengths[b]) : 0)));
          // Distances between columns are those between tokens.
          const relative = !['rope', 'absolute'].includes(loaded.config.position);
          for (const positions of relative ? [undefined] : [undefined, own]) {
            const asked = {
              attentionMask: keep.map((row) => row.map(Number)),
              ...(loaded.config.tokenTypes > 0 && { tokenTypes: types }),
              ...(positions === undefined ? {} : { positions: positions.flat() }),
            };
            const result = loaded.forward(ids, { ...asked, capture: ['probabilities'] });
            const texts = loaded.embedText(ids, asked);
            const { modelDim, heads } = loaded.config;
            assert.deepEqual(result.hidden.shape, [3, width, modelDim]);
            lengths.forEach((_, b) => {
              const input = { ids: ids[b], keep: keep[b], types: types[b], positions: positions?.[b] };
              const want = golden(model, input);
              const size = width * modelDim;
              const data = result.hidden.data.slice(b * size, (b + 1) * size);
              check(`hidden of ${b}`, { data }, want, (run) => run.hidden);
              const text = { data: texts.data.slice(b * modelDim, (b + 1) * modelDim) };
              check(`text ${b}`, text, want, (run) => unitMean(run.hidden.filter((_, t) => keep[b][t])));
              const scores = heads * width * width;
              const weights = result.captured[0].probabilities.data.slice(b * scores, (b + 1) * scores);
              check(`probabilities of ${b}`, { data: weights }, want, (run) => run.layers[0].probabilities);
            });
          }
        }));
    }

    for (const model of decoders) {
      test(`${model.name}: side by side, with and without a cache, padded on the left`, () =>
        withModel(rw, model, {}, (loaded) => {
          const ids = [30, 31].map((seed) => idsOf(model, 9, seed));
          const goldens = ids.map((row) => golden(model, { ids: row }));
          const check2 = (name, logits) =>
            goldens.forEach((want, b) => {
              const data = logits.data.slice((b * logits.data.length) / 2, ((b + 1) * logits.data.length) / 2);
              check(`${name} of ${b}`, { data }, want, (run) => run.logits.slice(-logits.shape[1]));
            });
          check2('logits', loaded.forward(ids, { logits: 'all' }).logits);
          const cache = loaded.kvCache({ batch: 2 });
          loaded.forward(
            ids.map((row) => row.slice(0, 6)),
            { cache, logits: 'none' },
          );
          check2(
            'cached logits',
            loaded.forward(
              ids.map((row) => row.slice(6)),
              { cache, logits: 'all' },
            ).logits,
          );
          cache.dispose();

          const attentionMask = [Array(9).fill(1), [0, 0, 0, 0, 1, 1, 1, 1, 1]];
          const padded = [ids[0], [0, 0, 0, 0, ...ids[1].slice(0, 5)]];
          // A row of a table is not a distance: the tokens behind the padding have to be told where they stand.
          const positions = [...ids[0].keys(), 0, 0, 0, 0, 0, 1, 2, 3, 4];
          const asked = { attentionMask, logits: 'all', ...(loaded.config.position === 'absolute' && { positions }) };
          const { logits } = loaded.forward(padded, asked);
          const vocabulary = logits.shape[2];
          // Chunks and temperatures count padding too.
          const counts = loaded.config.layers.some(({ chunked, temperature }) => chunked || temperature);
          const keep = attentionMask[1].map(Boolean);
          const short = golden(model, counts ? { ids: padded[1], keep } : { ids: ids[1].slice(0, 5) });
          check('padded', { data: logits.data.slice((9 + 4) * vocabulary) }, short, (run) => run.logits.slice(-5));
        }));
    }
  });

  describe('sequences of one token and of many', () => {
    for (const model of tiny) {
      test(model.name, () =>
        withModel(rw, model, {}, (loaded) => {
          // The longest that tables reach, or that the file says scaling is for; many times the windows.
          const longest = isEncoder(model) ? 24 : dependsOnLength(model) ? 16 : 33;
          for (const length of [1, 2, longest]) {
            const ids = idsOf(model, length, 40 + length);
            const want = golden(model, { ids });
            const once = loaded.forward(ids, isEncoder(model) ? {} : { hidden: true });
            check(`hidden of ${length}`, once.hidden, want, (run) => run.hidden);
            if (isEncoder(model)) continue;
            const cache = loaded.kvCache({ chunk: 3 });
            const { logits } = loaded.forward(ids, { cache, logits: 'all' });
            check(`logits of ${length}`, logits, want, (run) => run.logits);
            cache.dispose();
          }
        }),
      );
    }
  });

  describe('a scaling that depends on the length', () => {
    for (const model of decoders.filter(dependsOnLength)) {
      test(`${model.name}: as for the whole sequence, if that is to be longer than those of training`, () =>
        withModel(rw, model, { sequenceLength: 24 }, (loaded) => {
          const ids = idsOf(model, 24, 12);
          const want = golden(model, { ids });
          check('logits', loaded.forward(ids, { logits: 'all' }).logits, want, (run) => run.logits);
          const cache = loaded.kvCache();
          loaded.forward(ids.slice(0, 10), { cache, logits: 'none' });
          const { logits } = loaded.forward(ids.slice(10), { cache });
          check('last logits', logits, want, (run) => run.logits.at(-1));
          cache.dispose();
        }));
    }
  });

  test('far out, angles are still those of the formula', async () => {
    for (const name of ['llama3', 'gpt-neox', 'gemma3', 'qwen3-yarn']) {
      const model = tinyModel(name);
      const ids = idsOf(model, 6, 13);
      const want = golden(model, { ids, positions: ids.map((_, t) => 1_000_000 + t) });
      await withModel(rw, model, {}, (loaded) => {
        const result = loaded.forward(ids, { offset: 1_000_000, logits: 'all', capture: ['qRotated'] });
        check(`${name} logits`, result.logits, want, (run) => run.logits);
        check(`${name} q`, result.captured[0].qRotated, want, (run) => run.layers[0].qRotated);
      });
    }
  });

  test('a position encoding that is changed after loading', async () => {
    const model = tinyModel('llama3');
    const ids = idsOf(model, 11, 14);
    const changed = (rope_scaling, rope_theta = 500000) =>
      golden({ ...model, config: { ...model.config, rope_scaling, rope_theta } }, { ids });
    const yarn = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32 };
    const cases = [
      ['base', { base: 1000 }, changed(model.config.rope_scaling, 1000)],
      ['scaling', { scaling: { type: 'yarn', factor: 4, originalLength: 32 } }, changed(yarn)],
      [
        'none',
        () => null,
        golden({ ...model, config: { ...model.config, model_type: 'smollm3', no_rope_layers: [0, 0] } }, { ids }),
      ],
    ];
    await withModel(rw, model, {}, (loaded) => {
      for (const [name, change, want] of cases) {
        const other = loaded.withRope(change);
        check(name, other.forward(ids, { logits: 'all' }).logits, want, (run) => run.logits);
        other.dispose();
      }
    });
  });

  test('several files, and numbers kept wider than they came, give the bits of one file as it is', async (t) => {
    for (const name of ['bert-relative-key-query', 'gpt-neox', 'gemma2', 'phi3-partial', 'qwen2']) {
      const model = tinyModel(name);
      const ids = idsOf(model, 11, 15);
      const hidden = (loaded) => loaded.forward(ids, isEncoder(model) ? {} : { hidden: true }).hidden.data;
      const want = await withModel(rw, model, {}, hidden);
      assertSameBits(await withModel(rw, model, { storage: 'float32' }, hidden), want);
      const folder = folderWith(t, shardsOf(model, 3));
      const weights = join(folder, 'model.safetensors.index.json');
      assertSameBits(await withModel(rw, model, { weights }, hidden), want);
    }
  });

  test('a body whose class has a head with a bias needs neither', async () => {
    for (const name of ['phi', 'gptj']) {
      const { config, tensors, ...model } = tinyModel(name);
      const body = Object.fromEntries(Object.entries(tensors).filter(([tensor]) => !tensor.startsWith('lm_head.')));
      const architectures = [config.architectures[0].replace('ForCausalLM', 'Model')];
      const ids = idsOf({ config }, 7, 10);
      const hiddenOf = (loaded) => loaded.forward(ids, { hidden: true, logits: 'none' }).hidden.data;
      const want = await withModel(rw, { ...model, config, tensors }, {}, hiddenOf);
      await withModel(rw, { ...model, config: { ...config, architectures }, tensors: body }, {}, (loaded) => {
        assert.equal(loaded.hasLogits, false);
        assertSameBits(hiddenOf(loaded), want);
      });
    }
  });

  test('models leave nothing behind', async () => {
    const before = inUse(rw);
    for (const model of tiny) {
      await withModel(rw, model, {}, (loaded) => loaded.forward(idsOf(model, 3, 16)));
      assert.deepEqual(inUse(rw), before, model.name);
    }
  });
});

testDifferences();
