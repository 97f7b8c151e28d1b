// Generated tokens against a loop that runs the whole text for each of them: in chunks, with caches, in a worker.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { StateError, UnsupportedError } from 'ropewalk';
import { loadModel, sample } from 'ropewalk/models';
import { transfer, wrap } from 'ropewalk/worker';
import { safetensorsOf } from '../../models/tiny/files.mjs';
import { tinyModel } from '../../models/tiny/models.mjs';
import {
  notABoolean,
  notAChoice,
  notAnInteger,
  notNonNegative,
  notOptions,
  outOfRange,
  required,
  wrongType,
} from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const files = new Map();
function checkpoint(name) {
  if (!files.has(name)) {
    const made = tinyModel(name);
    files.set(name, { config: made.config, weights: new Uint8Array(safetensorsOf(made)) });
  }
  return files.get(name);
}

async function tokensOf(generated) {
  const tokens = [];
  for await (const { token } of generated) tokens.push(token);
  return tokens;
}

// The text that a loop without caches and iterators gives.
function slowly(model, ids, count, options) {
  const text = [...ids];
  for (let i = 0; i < count; ++i) {
    const { logits } = model.forward(text);
    text.push(sample(logits.data, { ...options, index: text.length, previous: text }));
  }
  return text.slice(ids.length);
}

const prompt = [5, 1, 44, 12, 90, 3, 3, 71, 8, 60, 2, 33, 17];
const lively = { seed: 42, temperature: 1.5, topK: 60, topP: 0.97, repetitionPenalty: 1.2 };
// Windows of 5 and 6 tokens, which the prompt outgrows; no window; rotation of a part; layers without any.
const names = ['llama3', 'mistral', 'gemma3', 'gpt-neox', 'smollm3'];

await onEachBuild(async (rw) => {
  const models = {};
  for (const name of names) models[name] = await loadModel(rw, checkpoint(name));
  const { llama3, mistral } = models;
  const encoder = await loadModel(rw, checkpoint('bert'));

  for (const [name, model] of Object.entries(models)) {
    test(`${name} gives the tokens of a loop without a cache, in chunks of any size`, async () => {
      for (const options of [lively, { temperature: 0 }]) {
        const want = slowly(model, prompt, 20, { seed: 0, ...options });
        const before = rw.memory();
        for (const chunk of [1, 3, 5, prompt.length, 32, undefined]) {
          const given = { ...options, maxTokens: 20, ...(chunk && { chunk }) };
          assert.deepEqual(await tokensOf(model.generate(prompt, given)), want, `chunk ${chunk}`);
        }
        assert.deepEqual([rw.memory().liveObjects, rw.memory().usedBytes], [before.liveObjects, before.usedBytes]);
      }
    });

    test(`${name} goes on over a cache, saved and restored in the middle`, async () => {
      const want = slowly(model, prompt, 20, lively);
      const cache = model.kvCache({ capacity: 40, chunk: 4 });
      const first = await tokensOf(model.generate(prompt, { ...lively, cache, maxTokens: 7 }));
      assert.deepEqual(first, want.slice(0, 7));
      assert.equal(cache.length, prompt.length + 7);
      // What follows needs one more token than the cache has: take the last one back.
      const other = model.restoreKvCache(cache.save());
      cache.dispose();
      other.truncate(prompt.length + 6);
      const { logits } = model.forward([first[6]], { cache: other });
      const previous = [...prompt, ...first];
      const next = sample(logits.data, { ...lively, index: other.length, previous });
      assert.equal(next, want[7]);
      const rest = await tokensOf(model.generate([next], { ...lively, cache: other, maxTokens: 12, previous }));
      assert.deepEqual(rest, want.slice(8));
      assert.equal(other.length, prompt.length + 20);
      other.dispose();
    });
  }

  test('a cache of the caller holds ids and tokens, also where the loop is left', async () => {
    const cache = llama3.kvCache({ capacity: 64 });
    const seen = [];
    for await (const { token, position } of llama3.generate(prompt, { cache, seed: 3 })) {
      assert.equal(position, prompt.length + seen.length);
      assert.equal(cache.length, position);
      seen.push(token);
      if (seen.length === 5) break;
    }
    assert.equal(cache.length, prompt.length + 5);
    const { logits } = llama3.forward([9], { cache });
    assert.deepEqual(logits, llama3.forward([...prompt, ...seen, 9]).logits);
    cache.dispose();
  });

  test('a text ends where frequencies made for a length end, and more is refused at once', async () => {
    const { config, weights } = checkpoint('llama3');
    const scaled = { ...config, max_position_embeddings: 16, rope_scaling: { rope_type: 'dynamic', factor: 2 } };
    const model = await loadModel(rw, { config: scaled, weights });
    const ids = prompt.slice(0, 10);
    const cache = model.kvCache();
    // Without a cache of the caller's the last token is not read.
    const want = await tokensOf(model.generate(ids, { seed: 5 }));
    assert.equal(want.length, 7);
    assert.deepEqual(await tokensOf(model.generate(ids, { seed: 5, maxTokens: 7 })), want);
    assert.throws(() => model.generate(ids, { maxTokens: 8 }), { argument: 'maxTokens', value: 8 });
    assert.throws(() => model.generate(ids, { cache, maxTokens: 7 }), {
      argument: 'maxTokens',
      message: /for 6 more tokens/,
    });
    assert.deepEqual(await tokensOf(model.generate(ids, { seed: 5, cache })), want.slice(0, 6));
    assert.equal(cache.length, 16);
    assert.throws(() => model.generate([1], { cache }), { argument: 'ids' });
    assert.throws(() => model.generate(Array(17).fill(1)), { argument: 'ids' });
    cache.dispose();
    model.dispose();
  });

  test('no tokens wanted is a prompt read', async () => {
    const cache = llama3.kvCache();
    assert.deepEqual(await tokensOf(llama3.generate(prompt, { cache, maxTokens: 0 })), []);
    assert.equal(cache.length, prompt.length);
    cache.dispose();
  });

  test('a cache gives as many tokens as it has room for', async () => {
    const cache = llama3.kvCache({ capacity: prompt.length + 3 });
    assert.equal((await tokensOf(llama3.generate(prompt, { cache, seed: 1 }))).length, 3);
    assert.equal(cache.length, cache.capacity);
    cache.dispose();
  });

  test('a stop token ends the text and is not given', async () => {
    const greedy = { temperature: 0, maxTokens: 20 };
    const all = slowly(llama3, prompt, 20, { temperature: 0, seed: 0 });
    const stop = all.find((token, i) => i > 2 && all.indexOf(token) === i) ?? all[0];
    const cache = llama3.kvCache();
    for (const form of [stop, [96, stop]]) {
      cache.reset();
      const tokens = await tokensOf(llama3.generate(prompt, { ...greedy, stop: form, cache }));
      assert.deepEqual(tokens, all.slice(0, all.indexOf(stop)));
      assert.equal(cache.length, prompt.length + tokens.length);
    }
    cache.dispose();
  });

  test('logprobs are log softmax of the logits, whatever the filters', async () => {
    const text = [...prompt];
    for await (const { token, logprob } of llama3.generate(prompt, { ...lively, maxTokens: 6, logprobs: true })) {
      const logits = [...llama3.forward(text).logits.data];
      const max = Math.max(...logits);
      const total = logits.reduce((sum, x) => sum + Math.exp(x - max), 0);
      assert.ok(Math.abs(logprob - (logits[token] - max - Math.log(total))) < 1e-12);
      text.push(token);
    }
    const [plain] = [await llama3.generate(prompt, { seed: 1 }).next()];
    assert.deepEqual(Object.keys(plain.value), ['token', 'row', 'position']);
  });

  test('progress counts the tokens of the prompt, and others run in between', async (t) => {
    const loaded = [];
    const onProgress = (progress) => loaded.push([progress.loaded, progress.total]);
    await tokensOf(llama3.generate(prompt, { chunk: 5, maxTokens: 1, onProgress }));
    assert.deepEqual(loaded, [
      [5, 13],
      [10, 13],
      [13, 13],
    ]);
    // Each look at the clock finds a second gone: every chunk is work that took long.
    let now = 0;
    t.mock.method(performance, 'now', () => {
      now += 1000;
      return now;
    });
    let turns = 0;
    let next = setImmediate(function turn() {
      turns += 1;
      next = setImmediate(turn);
    });
    const long = Array.from({ length: 160 }, (_, i) => i % 97);
    await tokensOf(llama3.generate(long, { chunk: 16, maxTokens: 1 }));
    clearImmediate(next);
    assert.ok(turns >= 10, `${turns} turns for 10 chunks`);
  });

  test('an abort while the prompt is read leaves the cache as it was', async () => {
    const cache = llama3.kvCache({ chunk: 4 });
    llama3.forward([1, 2, 3], { cache });
    const saved = cache.save();
    const reason = new Error('enough');
    for (const stopAt of [2, 4, 13]) {
      const controller = new AbortController();
      const onProgress = ({ loaded }) => loaded >= stopAt && controller.abort(reason);
      const { signal } = controller;
      const generated = llama3.generate(prompt, { cache, chunk: 2, signal, onProgress });
      await assert.rejects(tokensOf(generated), (error) => error === reason);
      if (stopAt < 13) assert.deepEqual(cache.save(), saved);
      else cache.truncate(3);
    }
    const thrower = () => {
      throw reason;
    };
    const generated = llama3.generate(prompt, { cache, onProgress: thrower });
    await assert.rejects(tokensOf(generated), (error) => error === reason);
    assert.deepEqual(cache.save(), saved);
    await assert.rejects(tokensOf(llama3.generate(prompt, { cache, signal: AbortSignal.abort(reason) })), reason);
    assert.deepEqual(cache.save(), saved);
    cache.dispose();
  });

  test('an abort keeps its reason where a layer of the cache is gone by then', async () => {
    for (const gone of [0, 1]) {
      const cache = llama3.kvCache();
      const controller = new AbortController();
      const reason = new Error('enough');
      const onProgress = () => {
        cache.layers[gone].dispose();
        controller.abort(reason);
      };
      const generated = llama3.generate(prompt, { cache, chunk: 1, signal: controller.signal, onProgress });
      await assert.rejects(tokensOf(generated), (error) => error === reason);
      assert.throws(() => llama3.forward([1], { cache }), StateError);
      cache.dispose();
    }
  });

  test('where a window has moved on, an abort leaves a cache that says so', async () => {
    const cache = mistral.kvCache({ chunk: 4 });
    mistral.forward([1, 2, 3, 4], { cache });
    const controller = new AbortController();
    const onProgress = ({ loaded }) => loaded >= 12 && controller.abort();
    const options = { cache, chunk: 4, signal: controller.signal, onProgress };
    await assert.rejects(tokensOf(mistral.generate(prompt, options)), { name: 'AbortError' });
    assert.throws(() => mistral.forward([1], { cache }), StateError);
    assert.equal(cache.reset().length, 0);
    const want = slowly(mistral, prompt, 4, { seed: 8 });
    assert.deepEqual(await tokensOf(mistral.generate(prompt, { cache, seed: 8, maxTokens: 4 })), want);
    cache.dispose();
  });

  test('an abort between tokens keeps those that were given', async () => {
    const before = rw.memory();
    const cache = llama3.kvCache();
    const reason = new Error('enough');
    const controller = new AbortController();
    const { signal } = controller;
    const seen = [];
    const generated = llama3.generate(prompt, { cache, seed: 4, signal });
    await assert.rejects(
      async () => {
        for await (const { token } of generated) {
          seen.push(token);
          if (seen.length === 3) controller.abort(reason);
        }
      },
      (error) => error === reason,
    );
    assert.equal(cache.length, prompt.length + 3);
    assert.deepEqual(await generated.next(), { done: true, value: undefined });
    assert.deepEqual(seen, slowly(llama3, prompt, 3, { seed: 4 }));
    cache.dispose();
    const own = new AbortController();
    const alone = llama3.generate(prompt, { signal: own.signal });
    await alone.next();
    assert.ok(rw.memory().liveObjects > before.liveObjects);
    own.abort();
    await assert.rejects(alone.next(), { name: 'AbortError' });
    assert.deepEqual([rw.memory().liveObjects, rw.memory().usedBytes], [before.liveObjects, before.usedBytes]);
  });

  test('a loop that is left frees its own cache, one that never began has none', async () => {
    const before = rw.memory();
    for await (const { position } of llama3.generate(prompt, { seed: 1 })) if (position > 15) break;
    for await (const { row } of llama3.generate([prompt, prompt], { seed: 1 })) if (row === 1) break;
    const generated = llama3.generate(prompt);
    assert.equal(rw.memory().liveObjects, before.liveObjects);
    await generated.return();
    assert.deepEqual(await generated.next(), { done: true, value: undefined });
    assert.deepEqual([rw.memory().liveObjects, rw.memory().usedBytes], [before.liveObjects, before.usedBytes]);
  });

  test('what happens to model and cache between two tokens is told', async () => {
    const cache = llama3.kvCache();
    const changed = llama3.generate(prompt, { cache, seed: 1 });
    await changed.next();
    llama3.forward([1], { cache });
    await assert.rejects(changed.next(), StateError);
    assert.equal(cache.length, prompt.length + 1);
    cache.reset();
    const gone = llama3.generate(prompt, { cache, seed: 1 });
    await gone.next();
    cache.dispose();
    await assert.rejects(gone.next(), StateError);
    const before = rw.memory();
    const model = await loadModel(rw, checkpoint('llama3'));
    const orphan = model.generate(prompt, { seed: 1 });
    await orphan.next();
    model.dispose();
    await assert.rejects(orphan.next(), StateError);
    assert.throws(() => model.generate(prompt), StateError);
    assert.equal(rw.memory().liveObjects, before.liveObjects);
  });

  test('what others do to a cache while ids are read is told, and stays', async () => {
    // After the last piece too; by the number of tokens alone the reset ones would not be told from those that were read.
    for (const [chunk, others] of [
      [13, [7]],
      [4, [7, 8, 9, 10]],
      [4, [7, 8, 9, 10, 11]],
    ]) {
      const cache = llama3.kvCache();
      llama3.forward([1, 2], { cache });
      let again = true;
      const onProgress = () => {
        if (again) llama3.forward(others, { cache: chunk < 13 ? cache.reset() : cache });
        again = false;
      };
      const generated = llama3.generate(prompt, { cache, chunk, onProgress, seed: 1 });
      await assert.rejects(generated.next(), { name: 'StateError', message: /others changed its cache/ });
      const kept = chunk < 13 ? others : [1, 2, ...prompt, ...others];
      assert.equal(cache.length, kept.length);
      assert.deepEqual(llama3.forward([3], { cache }), llama3.forward([...kept, 3], { cache: cache.reset() }));
      cache.dispose();
    }
  });

  test('an abort leaves alone what others have read into the cache since', async () => {
    const cache = llama3.kvCache();
    const controller = new AbortController();
    const onProgress = () => {
      controller.abort('enough');
      llama3.forward([7, 8, 9], { cache: cache.reset() });
    };
    const generated = llama3.generate(prompt, { cache, chunk: 4, signal: controller.signal, onProgress });
    await assert.rejects(generated.next(), (error) => error === 'enough');
    assert.equal(cache.length, 3);
    cache.dispose();
  });

  test('a prompt is read into a cache by one at a time', async () => {
    const cache = llama3.kvCache();
    const alone = await tokensOf(llama3.generate(prompt, { seed: 5, maxTokens: 4 }));
    const first = tokensOf(llama3.generate(prompt, { cache, chunk: 2, seed: 5, maxTokens: 4 }));
    await assert.rejects(llama3.generate(prompt, { cache, seed: 5 }).next(), StateError);
    assert.deepEqual(await first, alone);
    assert.equal(cache.length, prompt.length + 4);
    const { done } = await llama3.generate([1], { cache, seed: 5 }).next();
    assert.equal(done, false);
    cache.dispose();
  });

  test('two texts are generated in turns', async () => {
    const other = prompt.toReversed();
    const [one, two] = [prompt, other].map((ids) => llama3.generate(ids, { seed: 5, maxTokens: 6 }));
    const texts = [[], []];
    for (let i = 0; i < 6; ++i) {
      texts[0].push((await one.next()).value.token);
      texts[1].push((await two.next()).value.token);
    }
    assert.deepEqual(texts, [slowly(llama3, prompt, 6, { seed: 5 }), slowly(llama3, other, 6, { seed: 5 })]);
    await Promise.all([one.return(), two.return()]);
  });

  // Rows of one text each; the second ends early by its stop token.
  const rows = [prompt, prompt.toReversed(), prompt.map((id) => (id * 7 + 2) % 97)];
  const alone = (model, row, options) => tokensOf(model.generate(rows[row], { ...options, seed: options.seed + row }));
  async function byRow(generated) {
    const texts = rows.map(() => []);
    const firsts = [];
    for await (const { token, row, position } of generated) {
      firsts[row] ??= position;
      assert.equal(position, firsts[row] + texts[row].length);
      texts[row].push(token);
    }
    return texts;
  }

  for (const [name, model] of Object.entries(models)) {
    test(`${name} continues the rows of a batch as it continues each alone`, async () => {
      const options = { ...lively, maxTokens: 12 };
      const want = await Promise.all(rows.map((_, row) => alone(model, row, options)));
      for (const chunk of [1, 5, undefined]) {
        assert.deepEqual(await byRow(model.generate(rows, { ...options, ...(chunk && { chunk }) })), want);
      }
      const stop = want[1][4];
      const stopped = want.map((tokens) => (tokens.includes(stop) ? tokens.slice(0, tokens.indexOf(stop)) : tokens));
      assert.ok(stopped[1].length <= 4);
      assert.deepEqual(await byRow(model.generate(rows, { ...options, stop })), stopped);
    });
  }

  test('rows of several lengths are refused, without advice that generate does not take', () => {
    assert.throws(() => llama3.generate([[1, 2], [3]], {}), {
      argument: 'ids[1]',
      message: 'model.generate: ids[1] has 1 entries, the first row 2; pad them where attentionMask is an option',
    });
    assert.throws(() => llama3.generate([1], { attentionMask: [1] }), /attentionMask is not an option/);
  });

  test('a batch goes on over its cache, and a loop that is left within a step leaves whole rows', async () => {
    const want = await Promise.all(rows.map((_, row) => alone(llama3, row, { ...lively, maxTokens: 9 })));
    const cache = llama3.kvCache({ batch: 3, capacity: 40 });
    const texts = rows.map(() => []);
    for await (const { token, row } of llama3.generate(rows, { ...lively, cache })) {
      texts[row].push(token);
      if (texts[1].length === 4) break;
    }
    assert.equal(texts.map((tokens) => tokens.length).join(), '4,4,3');
    assert.equal(cache.length, prompt.length + 4);
    const last = want.map((tokens) => [tokens[4]]);
    const further = await byRow(llama3.generate(last, { cache, temperature: 0, maxTokens: 3 }));
    const whole = rows.map((row, i) => [...row, ...want[i].slice(0, 5)]);
    const direct = await byRow(llama3.generate(whole, { temperature: 0, maxTokens: 3 }));
    assert.deepEqual(further, direct);
    cache.dispose();
  });

  test('a cache whose rows ended at different tokens is refused until it is cut back', async () => {
    const want = await Promise.all(rows.map((_, row) => alone(llama3, row, { ...lively, maxTokens: 6 })));
    const cache = llama3.kvCache({ batch: 3, capacity: 60 });
    const stopAfter = (tokens, row) => tokens.length === 3 + row;
    await byRow(llama3.generate(rows, { ...lively, cache, stopAfter }));
    assert.equal(cache.length, prompt.length + 5);
    const next = want.map((tokens) => [tokens[3]]);
    const error = { name: 'StateError', message: new RegExp(`different tokens; truncate\\(${prompt.length + 3}\\)`) };
    const restored = llama3.restoreKvCache(cache.save());
    for (const apart of [cache, restored]) {
      assert.throws(() => llama3.generate(next, { cache: apart, maxTokens: 1 }), error);
      assert.throws(() => llama3.forward(next, { cache: apart }), error);
    }
    assert.deepEqual(restored.save(), cache.save());
    restored.dispose();
    cache.truncate(prompt.length + 3);
    const further = await byRow(llama3.generate(next, { cache, temperature: 0, maxTokens: 2 }));
    const whole = rows.map((row, i) => [...row, ...want[i].slice(0, 4)]);
    assert.deepEqual(further, await byRow(llama3.generate(whole, { temperature: 0, maxTokens: 2 })));
    // What was cut back stays usable when it has grown again by other means.
    for (const cutBack of [() => cache.truncate(prompt.length), () => cache.reset()]) {
      cache.reset();
      await byRow(llama3.generate(rows, { ...lively, cache, stopAfter }));
      cutBack();
      llama3.forward(rows, { cache });
      await byRow(llama3.generate(next, { cache, maxTokens: 1 }));
    }
    cache.dispose();
  });

  test('a cache whose rows ended at different tokens is known while the caller has a token', async () => {
    const cache = llama3.kvCache({ batch: 3 });
    const stopAfter = (_, row) => row === 0;
    const generated = llama3.generate(rows, { ...lively, cache, stopAfter });
    for (let i = 0; i < 6; ++i) await generated.next();
    const next = rows.map(() => [1]);
    const error = { name: 'StateError', message: new RegExp(`different tokens; truncate\\(${prompt.length + 1}\\)`) };
    assert.throws(() => llama3.forward(next, { cache }), error);
    assert.equal((await generated.next()).done, false);
    await generated.return();
    assert.throws(() => llama3.forward(next, { cache }), error);
    cache.dispose();
  });

  test('a cache whose rows ended at different tokens is known where the next pass fails', async () => {
    const cache = llama3.kvCache({ batch: 2 });
    const { pass } = llama3;
    llama3.pass = (...args) => {
      if (cache.length === prompt.length + 3) throw new RangeError('no room');
      return pass.apply(llama3, args);
    };
    const stopAfter = (tokens, row) => row === 0 && tokens.length === 1;
    const generated = llama3.generate(rows.slice(0, 2), { ...lively, cache, stopAfter });
    await assert.rejects(byRow(generated), /no room/);
    delete llama3.pass;
    assert.equal(cache.length, prompt.length + 3);
    const error = { name: 'StateError', message: new RegExp(`truncate\\(${prompt.length + 1}\\)`) };
    assert.throws(() => llama3.forward([[1], [1]], { cache }), error);
    cache.dispose();
  });

  test('what stopAfter throws leaves the cache without the token that nobody was given', async () => {
    const cache = llama3.kvCache({ capacity: 60 });
    const stopAfter = (tokens) => {
      if (tokens.length === 3) throw new Error('mine');
      return false;
    };
    const tokens = [];
    await assert.rejects(async () => {
      for await (const { token } of llama3.generate(prompt, { ...lively, cache, stopAfter })) tokens.push(token);
    }, /mine/);
    assert.equal(tokens.length, 2);
    assert.equal(cache.length, prompt.length + 2);
    cache.dispose();
  });

  test('of a step in which stopAfter throws nothing is given or kept, nor are rows apart that ended before', async () => {
    const want = await Promise.all([0, 1].map((row) => alone(llama3, row, { ...lively, maxTokens: 1 })));
    for (const ends of [false, true]) {
      const cache = llama3.kvCache({ batch: 2 });
      const stopAfter = (tokens, row) => {
        if (row === 1 && tokens.length === 2) throw new Error('mine');
        return ends && row === 0;
      };
      const given = [[], []];
      await assert.rejects(async () => {
        const generated = llama3.generate(rows.slice(0, 2), { ...lively, cache, stopAfter });
        for await (const { token, row } of generated) given[row].push(token);
      }, /mine/);
      assert.deepEqual(given, want);
      for (let more = 1; more < 3; ++more) {
        assert.equal(cache.length, prompt.length + more);
        llama3.forward([[1], [1]], { cache });
      }
      cache.dispose();
    }
  });

  test('the seeds of rows wrap around', async () => {
    const seed = 2 ** 53 - 2;
    const options = { temperature: 1.5, maxTokens: 6 };
    const want = await Promise.all(
      [seed, seed + 1, 0].map((each, row) => tokensOf(llama3.generate(rows[row], { ...options, seed: each }))),
    );
    assert.deepEqual(await byRow(llama3.generate(rows, { ...options, seed })), want);
  });

  test('stopAfter ends a row after the token for which it gives true', async () => {
    const options = { ...lively, maxTokens: 12 };
    const want = await Promise.all(rows.map((_, row) => alone(llama3, row, options)));
    const calls = [];
    const stopAfter = async (tokens, row) => {
      calls.push([row, tokens.length]);
      assert.deepEqual(tokens, want[row].slice(0, tokens.length));
      tokens.length = 0; // the row's own tokens stay
      return calls.filter(([r]) => r === row).length === 3 + row;
    };
    assert.deepEqual(
      await byRow(llama3.generate(rows, { ...options, stopAfter })),
      want.map((tokens, row) => tokens.slice(0, 3 + row)),
    );
    assert.equal(calls.length, 3 + 4 + 5);
    for (const other of [1, undefined, '{}']) {
      const wrong = { name: 'ArgumentTypeError', argument: 'stopAfter()', value: other };
      await assert.rejects(tokensOf(llama3.generate(prompt, { stopAfter: () => other })), wrong);
    }
    const reason = new Error('mine');
    const thrower = () => {
      throw reason;
    };
    await assert.rejects(tokensOf(llama3.generate(prompt, { stopAfter: thrower })), (error) => error === reason);
  });

  test('an abort while stopAfter waits ends the work, and the token that nobody was given is not kept', async () => {
    const cache = llama3.kvCache();
    const controller = new AbortController();
    const reason = new Error('mine');
    const stopAfter = () => {
      setImmediate(() => controller.abort(reason));
      return new Promise(() => {});
    };
    const generated = llama3.generate(prompt, { ...lively, cache, stopAfter, signal: controller.signal });
    await assert.rejects(generated.next(), (error) => error === reason);
    assert.equal(cache.length, prompt.length);
    assert.equal((await generated.next()).done, true);
    cache.dispose();
  });

  test('logit biases ban tokens and ask for others', async () => {
    const banned = await tokensOf(llama3.generate(prompt, { temperature: 0, maxTokens: 8 }));
    const logitBias = new Map(banned.map((id) => [id, -Infinity]));
    const others = await tokensOf(llama3.generate(prompt, { temperature: 0, maxTokens: 8, logitBias }));
    assert.ok(others.every((id) => !banned.includes(id)));
    assert.deepEqual(await tokensOf(llama3.generate(prompt, { logitBias: { 7: 1000 }, maxTokens: 3 })), [7, 7, 7]);
  });

  test('an encoder refuses by its name', () => {
    assert.throws(
      () => encoder.generate([1, 2]),
      (error) => error instanceof UnsupportedError && /bert/.test(error.message),
    );
  });

  test('storage is that of the cache which a generation makes', async () => {
    for (const storage of ['float32', 'float16']) {
      const cache = llama3.kvCache({ storage });
      const want = await tokensOf(llama3.generate(prompt, { ...lively, cache, maxTokens: 12 }));
      assert.deepEqual(await tokensOf(llama3.generate(prompt, { ...lively, storage, maxTokens: 12 })), want);
      cache.dispose();
    }
  });

  const generate = (ids, options) => llama3.generate(ids, options).return();
  const [batched, foreign] = [llama3.kvCache({ batch: 2 }), models['gpt-neox'].kvCache()];
  const small = llama3.kvCache({ capacity: 16, chunk: 8 });
  const ended = llama3.kvCache();
  ended.dispose();
  const ids = [wrongType('1', '"1"'), wrongType(null, 'null'), wrongType(5, '5'), outOfRange([1.5], '1.5')];
  const notIds = [outOfRange([97], '97'), outOfRange([-1], '-1'), wrongType({}, 'an object')];
  testAllRefusals(rw, 'model.generate', {
    ids: [required([...ids, outOfRange([], 'empty')]), (value) => generate(value)],
    options: [notOptions, (value) => generate(prompt, value)],
    maxTokens: [notAnInteger({ min: 0, max: 2 ** 53 - 1 }), (value) => generate(prompt, { maxTokens: value })],
    stop: [notIds, (value) => generate(prompt, { stop: value })],
    stopAfter: [[wrongType({}, 'an object'), wrongType(1, '1')], (value) => generate(prompt, { stopAfter: value })],
    logitBias: [[wrongType(5, '5'), outOfRange({ 97: 1 }, '97')], (value) => generate(prompt, { logitBias: value })],
    previous: [notIds, (value) => generate(prompt, { previous: value })],
    seed: [notAnInteger({ min: 0, max: 2 ** 53 - 1 }), (value) => generate(prompt, { seed: value })],
    temperature: [notNonNegative, (value) => generate(prompt, { temperature: value })],
    logprobs: [notABoolean, (value) => generate(prompt, { logprobs: value })],
    chunk: [notAnInteger({ min: 1, max: 2 ** 20 }), (value) => generate(prompt, { chunk: value })],
    storage: [[...notAChoice, outOfRange('q8_0', 'multiples of 32')], (value) => generate(prompt, { storage: value })],
    cache: [[wrongType({}, 'an object'), wrongType(1, '1')], (value) => generate(prompt, { cache: value })],
    signal: [[wrongType({}, 'an object'), wrongType(1, '1')], (value) => generate(prompt, { signal: value })],
    onProgress: [[wrongType({}, 'an object'), wrongType(1, '1')], (value) => generate(prompt, { onProgress: value })],
  });
  testUnknownOptions(rw, 'model.generate', ['max_new_tokens', 'topk', 'logits'], (given) => generate(prompt, given));
  testMisfits(rw, 'model.generate', {
    'more ids than the cache has room for': [
      RangeError,
      ['ids', '20'],
      () => generate(Array(20).fill(1), { cache: small }),
    ],
    'more tokens than the cache has room for': [
      RangeError,
      ['maxTokens', '4', '3'],
      () => generate(prompt, { cache: small, maxTokens: 4 }),
    ],
    'pieces larger than those of the cache': [RangeError, 'chunk', () => generate(prompt, { cache: small, chunk: 9 })],
    'a format beside a cache': [
      RangeError,
      ['storage', 'cache'],
      () => generate(prompt, { cache: small, storage: 'float16' }),
    ],
    'a cache of two texts for one': [RangeError, ['cache', 'batch 2'], () => generate(prompt, { cache: batched })],
    'a cache of two texts for three': [RangeError, ['cache', 'batch 2', '3'], () => generate(rows, { cache: batched })],
    'a cache that is gone': [StateError, 'cache', () => generate(prompt, { cache: ended })],
  });
  test('a cache of another model is refused when it is used', async () => {
    await assert.rejects(tokensOf(mistral.generate(prompt, { cache: foreign })), /cache/);
  });
});

test('a worker gives the same tokens, stops at once and frees what it had', async (t) => {
  const remote = wrap(new Worker(new URL('../support/model-worker.mjs', import.meta.url)));
  t.after(() => remote.dispose());
  const { load } = await import('ropewalk');
  const rw = await load({ simd: 'deterministic' });
  const here = await loadModel(rw, checkpoint('llama3'));
  const { config, weights } = checkpoint('llama3');
  const progress = [];
  const model = await remote.open({
    config,
    weights: transfer(weights.slice()),
    onProgress: ({ loaded, total }) => progress.push(loaded / total),
  });
  assert.equal(progress.at(-1), 1);
  const want = slowly(here, prompt, 20, lively);
  assert.deepEqual(await tokensOf(model.generate(prompt, { ...lively, maxTokens: 20 })), want);

  const cache = await model.kvCache({ capacity: 64 });
  assert.deepEqual(await tokensOf(model.generate(prompt, { ...lively, maxTokens: 7, cache })), want.slice(0, 7));
  const controller = new AbortController();
  const seen = [];
  const { liveObjects } = await remote.memory();
  await assert.rejects(
    async () => {
      for await (const { token } of model.generate(prompt, { seed: 1, maxTokens: 1e6, signal: controller.signal })) {
        if (seen.push(token) === 3) controller.abort('enough');
      }
    },
    (error) => error === 'enough',
  );
  assert.equal((await remote.memory()).liveObjects, liveObjects);
  await assert.rejects(model.generate([97]), (error) => error instanceof RangeError && error.argument === 'ids[0]');
  await assert.rejects(remote.open({ config, weights: new Uint8Array(30) }), { name: 'SafetensorsError' });
  await cache.dispose();
  await model.dispose();
  assert.equal((await remote.memory()).liveObjects, 0);
});
