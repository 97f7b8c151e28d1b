// Models of encoder and decoder against the reference, on each build: logits, what targets attend to, and generation.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadModel } from 'ropewalk/models';
import { assertClose, assertSameBits } from '../ts/support/arrays.mjs';
import { onEachBuild } from '../ts/support/builds.mjs';
import { inUse } from '../ts/support/peak.mjs';
import { tellDifference, testDifferences } from './differences.mjs';
import { families } from './families.mjs';
import { float32, float64 } from './reference/reference.mjs';
import { assertAgrees, toleranceOf } from './rows.mjs';
import { idsOf } from './sequences.mjs';
import { safetensorsOf } from './tiny/files.mjs';
import { ggufOfT5 } from './tiny/gguf-t5.mjs';
import { pairs, tinyModel } from './tiny/models.mjs';

const tiny = pairs.map((name) => tinyModel(name));
const startOf = ({ config }) => config.decoder_start_token_id;

/** The float64 reference and the tolerance of each of its parts. */
function golden(model, { ids, targetIds, keep = ids.map(() => true) }) {
  const run = (f) => families[model.config.model_type].encoderDecoder(f, model, { ids, targetIds, keep });
  const [exact, single] = [run(float64), run(float32)];
  return { exact, allows: (pick) => toleranceOf(pick(exact), pick(single)) };
}

const check = (name, got, { exact, allows }, pick) => assertAgrees(name, got, pick(exact), allows(pick));

async function withModel(rw, model, body) {
  const loaded = await loadModel(rw, { config: model.config, weights: safetensorsOf(model) });
  try {
    return await body(loaded);
  } finally {
    loaded.dispose();
  }
}

async function tokensOf(generated) {
  const rows = [];
  for await (const { token, row } of generated) {
    rows[row] ??= [];
    rows[row].push(token);
  }
  return rows;
}

const biggest = (logits) => logits.indexOf(Math.max(...logits));
const rowsOf = ({ data, shape }) => {
  const width = shape.at(-1);
  return Array.from({ length: data.length / width }, (_, i) => data.subarray(i * width, (i + 1) * width));
};
const logProbability = (logits, token) => {
  const most = Math.max(...logits);
  return logits[token] - most - Math.log(logits.reduce((sum, value) => sum + Math.exp(value - most), 0));
};

await onEachBuild((rw) => {
  for (const model of tiny) {
    describe(model.name, () => {
      for (const [source, target] of [
        [11, 9],
        [1, 1],
        [7, 1],
        [1, 6],
        [24, 24],
      ]) {
        test(`${source} tokens of source and ${target} of target`, (t) =>
          withModel(rw, model, async (loaded) => {
            const ids = idsOf(model, source, 10);
            const targetIds = [startOf(model), ...idsOf(model, target, 11)].slice(0, target);
            const want = golden(model, { ids, targetIds });
            assert.equal(loaded.kind, 'encoder-decoder');
            check('hidden', loaded.encode(ids).hidden.data, want, (run) => run.hidden);
            const options = { logits: 'all', crossProbabilities: true };
            const { logits, crossProbabilities } = loaded.forward(ids, targetIds, options);
            assert.deepEqual(logits.shape, [target, model.config.vocab_size]);
            check('logits', logits.data, want, (run) => run.logits);
            crossProbabilities.forEach(({ data, shape }, i) => {
              assert.deepEqual(shape, [loaded.config.decoder.heads, target, source]);
              check(`what layer ${i} attends to`, data, want, (run) => run.cross[i]);
            });
            tellDifference(t, model, logits, want.exact.logits);
            // Any beginning of the target alone, and in turns.
            const rows = rowsOf(logits);
            for (let end = 1; end <= target; ++end) {
              const last = loaded.forward(ids, targetIds.slice(0, end));
              assert.deepEqual(last.logits.shape, [model.config.vocab_size]);
              assertSameBits(last.logits.data, rows[end - 1]);
            }
            assertSameBits((await loaded.forwardAsync(ids, targetIds, options)).logits.data, logits.data);
          }));
      }

      test('greedy generation: the tokens of the reference, step by step as all at once', () =>
        withModel(rw, model, async (loaded) => {
          const ids = idsOf(model, 9, 12);
          const start = startOf(model);
          const tokens = [];
          const given = [];
          for await (const each of loaded.generate(ids, { temperature: 0, maxTokens: 12, logprobs: true })) {
            tokens.push(each.token);
            given.push(each);
          }
          assert.equal(tokens.length, 12);
          const targetIds = [start, ...tokens.slice(0, -1)];
          const want = golden(model, { ids, targetIds });
          const rows = rowsOf(loaded.forward(ids, targetIds, { logits: 'all' }).logits);
          tokens.forEach((token, step) => {
            assert.deepEqual([given[step].row, given[step].position], [0, step + 1]);
            assert.equal(token, biggest(rows[step]));
            assert.ok(Math.abs(given[step].logprob - logProbability(rows[step], token)) < 1e-12);
            const [first, second] = [...want.exact.logits[step]].sort((a, b) => b - a);
            if (first - second <= 2 * want.allows((run) => run.logits)) return;
            assert.equal(token, biggest(want.exact.logits[step]), `token ${step}`);
          });
          // From the middle on, and up to a token that ends it.
          const begun = { temperature: 0, maxTokens: 7, targetIds: [start, ...tokens.slice(0, 5)] };
          assert.deepEqual(await tokensOf(loaded.generate(ids, begun)), [tokens.slice(5)]);
          const until = { temperature: 0, maxTokens: 12, stop: tokens[3] };
          const [whole = []] = await tokensOf(loaded.generate(ids, until));
          assert.deepEqual(whole, tokens.slice(0, tokens.indexOf(tokens[3])));
        }));

      test('rows of a batch, padded on the right, are those that each has alone', () =>
        withModel(rw, model, async (loaded) => {
          const [long, short] = [idsOf(model, 9, 20), idsOf(model, 5, 21)];
          const ids = [long, [...short, 0, 0, 0, 0]];
          const attentionMask = [Array(9).fill(1), [1, 1, 1, 1, 1, 0, 0, 0, 0]];
          const target = (seed) => [startOf(model), ...idsOf(model, 5, seed)];
          const targets = [target(22), target(23)];
          const { logits, crossProbabilities } = loaded.forward(ids, targets, {
            ...{ attentionMask, logits: 'all', crossProbabilities: true },
          });
          const half = logits.data.length / 2;
          [long, short].forEach((row, b) => {
            const want = golden(model, { ids: row, targetIds: targets[b] });
            check(`row ${b}`, logits.data.slice(b * half, (b + 1) * half), want, (run) => run.logits);
          });
          const { data, shape } = crossProbabilities[0];
          assert.deepEqual(shape, [2, loaded.config.decoder.heads, 6, 9]);
          for (let i = data.length / 2; i < data.length; i += 9)
            assertSameBits(data.subarray(i + 5, i + 9), Array(4).fill(0));
          const options = { maxTokens: 6, seed: 5, topP: 0.9 };
          const rows = await tokensOf(loaded.generate(ids, { ...options, attentionMask }));
          assert.deepEqual(await tokensOf(loaded.generate(long, options)), [rows[0]]);
          assert.deepEqual(await tokensOf(loaded.generate(short, { ...options, seed: 6 })), [rows[1]]);
        }));

      test('a decoder without one of its tensors is refused by its name', async () => {
        const before = inUse(rw);
        const names = Object.keys(model.tensors).filter((name) => /decoder|lm_head|final_logits_bias/.test(name));
        assert.ok(names.length > 20);
        for (const name of names) {
          const { [name]: own, ...tensors } = model.tensors;
          await assert.rejects(
            loadModel(rw, { config: model.config, weights: safetensorsOf({ ...model, tensors }) }),
            (error) => error.name === 'SafetensorsError' && error.tensor === name && /is missing/.test(error.message),
          );
        }
        assert.deepEqual(inUse(rw), before);
      });
    });
  }

  // The file does not tell how far buckets reach, which is the same in all models.
  const usual = (name) => {
    const model = tinyModel(name);
    return { ...model, config: { ...model.config, relative_attention_max_distance: 128 } };
  };

  test('UMT5 keeps its own head, though transformers 5 writes that it is tied', async () => {
    const model = tinyModel('umt5-both');
    const greedy = (config) =>
      withModel(rw, { ...model, config: { ...model.config, ...config } }, async (loaded) => {
        const tokens = [];
        for await (const { token } of loaded.generate(idsOf(model, 9, 40), { maxTokens: 5, temperature: 0 }))
          tokens.push(token);
        return tokens;
      });
    assert.deepEqual(await greedy({ tie_word_embeddings: true }), await greedy({}));
  });

  for (const name of ['t5-both', 'flan-t5-both', 'umt5-both', 'umt5-tied']) {
    test(`${name} from a GGUF file gives the bits of its checkpoint`, () => {
      const model = usual(name);
      return withModel(rw, model, async (loaded) => {
        const other = await loadModel(rw, { gguf: ggufOfT5(model, 't5') });
        const [ids, targetIds] = [idsOf(model, 30, 40), [0, ...idsOf(model, 30, 41)]];
        const logits = (each) => each.forward(ids, targetIds, { logits: 'all' }).logits.data;
        assertSameBits(logits(other), logits(loaded));
        other.dispose();
      });
    });
  }

  test('the encoder of T5 from a GGUF file gives the bits of its checkpoint', () => {
    const { config, ...model } = usual('t5');
    return withModel(rw, { config, ...model }, async (loaded) => {
      const other = await loadModel(rw, { gguf: ggufOfT5({ config, ...model }, 't5encoder') });
      assert.equal(other.kind, 'encoder');
      const ids = idsOf({ config, ...model }, 30, 42);
      assertSameBits(other.forward(ids).hidden.data, loaded.forward(ids).hidden.data);
      other.dispose();
    });
  });

  // Logits of some checkpoint's config and tensors, and of a GGUF file.
  const logitsOf = async (making) => {
    const loaded = await loadModel(rw, making);
    const { data } = loaded.forward([5, 17, 40, 8], [0, 3, 9], { logits: 'all' }).logits;
    loaded.dispose();
    return data;
  };
  const ofFiles = (model, config = {}, tensors = {}) =>
    logitsOf({
      config: { ...model.config, ...config },
      weights: safetensorsOf({ ...model, tensors: { ...model.tensors, ...tensors } }),
    });

  test('a head of its own counts, whatever transformers 5 says of tied embeddings', async () => {
    const own = tinyModel('flan-t5-both');
    const wanted = await ofFiles(own);
    const later = { tie_word_embeddings: true, scale_decoder_outputs: false };
    assertSameBits(await ofFiles(own, later), wanted);
    assertSameBits(await ofFiles(own, { ...later, tie_word_embeddings: undefined }), wanted);
    const tied = tinyModel('t5-both');
    const scaled = await ofFiles(tied);
    assertSameBits(await ofFiles(tied, { tie_word_embeddings: true, scale_decoder_outputs: true }), scaled);
    const plain = await ofFiles(tied, { scale_decoder_outputs: false });
    assertClose(
      plain,
      scaled.map((x) => x * Math.sqrt(tied.config.d_model)),
      1e-5 * Math.max(...plain.map(Math.abs)),
    );
  });

  test('the embeddings written out as a head are scaled as the embeddings are', async () => {
    const model = usual('t5-both');
    const head = { 'lm_head.weight': model.tensors['shared.weight'] };
    const wanted = await ofFiles(model);
    assertSameBits(await ofFiles(model, {}, head), wanted);
    const gguf = ggufOfT5({ ...model, tensors: { ...model.tensors, ...head } }, 't5');
    assertSameBits(await logitsOf({ gguf }), wanted);
  });

  test('embeddings may lie with the decoder alone', async () => {
    const model = tinyModel('flan-t5-both');
    const { 'shared.weight': own, ...tensors } = model.tensors;
    const moved = { ...model, tensors: { ...tensors, 'decoder.embed_tokens.weight': own } };
    assertSameBits(await ofFiles(moved), await ofFiles(model));
  });

  test('mT5 has gated parts where its config does not say', async () => {
    const model = tinyModel('flan-t5-both');
    const silent = { feed_forward_proj: undefined, is_gated_act: undefined, dense_act_fn: undefined };
    const config = { ...silent, model_type: 'mt5', architectures: ['MT5ForConditionalGeneration'] };
    assertSameBits(await ofFiles(model, config), await ofFiles(model));
  });

  test('mT5 of transformers 5, whose embeddings are tied, scales no logits', async () => {
    const model = tinyModel('t5-both');
    const config = { model_type: 'mt5', architectures: ['MT5ForConditionalGeneration'], feed_forward_proj: 'relu' };
    const plain = await ofFiles(model, { scale_decoder_outputs: false });
    for (const tie_word_embeddings of [undefined, true]) {
      assertSameBits(await ofFiles(model, { ...config, tie_word_embeddings }), plain);
    }
  });

  test('the embeddings of Marian may have any of their names', async () => {
    const model = tinyModel('marian');
    const { 'model.shared.weight': own, ...tensors } = model.tensors;
    const wanted = await ofFiles(model);
    for (const name of ['model.encoder.embed_tokens.weight', 'model.decoder.embed_tokens.weight', 'lm_head.weight']) {
      assertSameBits(await ofFiles({ ...model, tensors: { ...tensors, [name]: own } }), wanted);
    }
    const bare = Object.entries(model.tensors).map(([name, tensor]) => [name.replace(/^model\./, ''), tensor]);
    assertSameBits(await ofFiles({ ...model, tensors: Object.fromEntries(bare) }), wanted);
  });

  test('the description is frozen, also that of the decoder', () =>
    withModel(rw, tinyModel('marian'), ({ config }) => {
      for (const each of [config, config.layers, config.decoder, config.decoder.layers[0].feedForward]) {
        assert.ok(Object.isFrozen(each));
      }
    }));

  test('a GGUF file of T5 that makes no model is refused by its key or tensor', async () => {
    const model = usual('flan-t5-both');
    const refused = (gguf, key, tensor, message) =>
      assert.rejects(loadModel(rw, { gguf }), (error) => {
        assert.deepEqual([error.name, error.key, error.tensor], ['GgufError', key, tensor], error.message);
        return message.test(error.message);
      });
    const odd = { 't5.attention.relative_buckets_count': ['u32', 7] };
    await refused(
      ggufOfT5(model, 't5', odd),
      't5.attention.relative_buckets_count',
      undefined,
      /expected an even number/,
    );
    const start = { 't5.decoder_start_token_id': ['u32', 97] };
    await refused(ggufOfT5(model, 't5', start), 't5.decoder_start_token_id', undefined, /is 97; expected .* 0 to 96/);
    const { 'decoder.block.2.layer.1.EncDecAttention.k.weight': _, ...tensors } = model.tensors;
    await refused(ggufOfT5({ ...model, tensors }, 't5'), undefined, 'dec.blk.2.cross_attn_k.weight', /is missing/);
  });

  test('reports progress in layers of both, and ends by a signal', () =>
    withModel(rw, tinyModel('flan-t5-both'), async (loaded) => {
      const [ids, targetIds] = [
        [5, 17, 40, 8, 62, 1],
        [0, 1, 2],
      ];
      const seen = [];
      await loaded.forwardAsync(ids, targetIds, { onProgress: ({ loaded: done, total }) => seen.push([done, total]) });
      assert.deepEqual(
        seen,
        [1, 2, 3, 4, 5].map((done) => [done, 5]),
      );
      const before = inUse(rw);
      for (const last of [1, 4]) {
        const ending = new AbortController();
        const onProgress = ({ loaded: done }) => done === last && ending.abort(new Error('enough'));
        const { signal } = ending;
        await assert.rejects(loaded.forwardAsync(ids, targetIds, { signal, onProgress }), /enough/);
      }
      const ending = new AbortController();
      const generated = loaded.generate(ids, { seed: 1, signal: ending.signal });
      assert.equal((await generated.next()).done, false);
      ending.abort(new Error('stopped'));
      await assert.rejects(generated.next(), /stopped/);
      for await (const _ of loaded.generate(ids, { seed: 1 })) break;
      assert.deepEqual(inUse(rw), before);
    }));

  test('models leave nothing behind, and are refused once disposed of', async () => {
    const before = inUse(rw);
    for (const model of tiny) {
      const loaded = await withModel(rw, model, (each) => {
        each.forward([1, 2], [0]);
        return each;
      });
      assert.deepEqual(inUse(rw), before);
      for (const call of [() => loaded.encode([1]), () => loaded.forward([1], [0]), () => loaded.generate([1])]) {
        assert.throws(call, { name: 'StateError', message: /disposed/ });
      }
    }
  });

  test('wrong arguments are refused by name', () =>
    withModel(rw, tinyModel('t5-both'), async (loaded) => {
      const cases = [
        [() => loaded.forward([97], [0]), /ids\[0\] is 97; the vocabulary has 97 entries/],
        [() => loaded.forward([1], [0, 97]), /targetIds\[1\] is 97; the vocabulary/],
        [() => loaded.forward([1], []), /targetIds is empty; expected at least one token/],
        [() => loaded.forward([[1], [2]], [[0]]), /targetIds has shape \[1, 1\]; ids have \[2, 1\]/],
        [() => loaded.forward([1], Array(41).fill(0)), /targetIds reaches position 40; .* are for 40 tokens/],
        [() => loaded.forward(Array(41).fill(1), [0]), /ids has 41 tokens; the model's tables reach 40/],
        [() => loaded.forward([1], [0], { logits: 'none' }), /logits is "none"; expected one of "last", "all"/],
        [() => loaded.forward([1], [0], { crossProbabilities: 1 }), /crossProbabilities is 1; expected true or false/],
        [
          () => loaded.forward([1], [0], { attentionMask: [1, 1] }),
          /attentionMask has shape \[2\]; expected that of ids/,
        ],
        [() => loaded.forward([1], [0], { cache: {} }), /cache is not an option/],
        [() => loaded.generate([1], { cache: {} }), /cache is not an option/],
        [
          () => loaded.generate([1], { maxTokens: 41 }),
          /maxTokens is 41; the positions of this model are for 40 more tokens,/,
        ],
        [() => loaded.generate([1], { targetIds: [[0]] }), /targetIds has shape \[1, 1\]; ids have \[1\]/],
        [() => loaded.generate([1], { signal: 1 }), /signal is 1; expected an AbortSignal/],
        [() => loaded.generate([1], { storage: 'int3' }), /storage is "int3"; expected one of/],
        [() => loaded.encode([1], { pooled: true }), /pooled is not an option/],
      ];
      for (const [call, message] of cases) {
        assert.throws(call, (error) => /^Argument(Range|Type)Error$/.test(error.name) && message.test(error.message));
      }
    }));
});

testDifferences();
