// forwardAsync(): the bits of forward(), progress after each layer, aborts between layers, and no leaks.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ArgumentRangeError, ArgumentTypeError, load } from 'ropewalk';
import { loadModel } from 'ropewalk/models';
import { inUse } from '../support/peak.mjs';
import { fileOfModel, tinyBert, tinyLlama, tinyRoformer } from '../support/tiny-models.mjs';

const rw = await load({ simd: 'deterministic' });
const loaded = (made) => loadModel(rw, { config: made.config, weights: fileOfModel(made) });
const ids = [3, 1, 4, 1, 5, 9, 2, 6];
const capture = ['content', 'position', 'probabilities'];

const models = {
  BERT: [await loaded(tinyBert()), { logits: true, pooled: true }],
  RoFormer: [await loaded(tinyRoformer()), { logits: true }],
  LLaMA: [await loaded(tinyLlama()), { logits: 'all', hidden: true }],
};

// What the first passes leave for good is none of this file's business.
for (const [model, asked] of Object.values(models)) model.forward(ids, { ...asked, capture, hiddenStates: true });
const before = inUse(rw);

for (const [name, [model, asked]] of Object.entries(models)) {
  describe(name, () => {
    const { length: total } = model.config.layers;

    test('gives what forward() gives, and tells every layer', async () => {
      for (const options of [
        asked,
        { ...asked, capture, hiddenStates: true },
        { capture, captureLayers: [total - 1] },
      ]) {
        const told = [];
        const result = await model.forwardAsync(ids, { ...options, onProgress: (progress) => told.push(progress) });
        assert.deepEqual(result, model.forward(ids, options));
        assert.deepEqual(
          told,
          Array.from({ length: total }, (_, i) => ({ loaded: i + 1, total })),
        );
      }
      assert.deepEqual(inUse(rw), before);
    });

    test('ends with the reason of its signal, before and between layers', async () => {
      const reason = new Error('enough');
      const begun = [];
      const early = model.forwardAsync(ids, { signal: AbortSignal.abort(reason), onProgress: () => begun.push(0) });
      await assert.rejects(early, reason);
      assert.deepEqual(begun, []);
      const controller = new AbortController();
      const told = [];
      const half = model.forwardAsync(ids, {
        ...asked,
        capture,
        signal: controller.signal,
        onProgress({ loaded }) {
          told.push(loaded);
          controller.abort(reason);
        },
      });
      await assert.rejects(half, reason);
      assert.deepEqual(told, [1]);
      assert.deepEqual(inUse(rw), before);
    });

    test('ends with what onProgress throws', async () => {
      const thrown = new Error('no');
      const onProgress = () => {
        throw thrown;
      };
      await assert.rejects(model.forwardAsync(ids, { onProgress }), thrown);
      assert.deepEqual(inUse(rw), before);
    });

    test('names itself, and not forward(), in what it refuses', async () => {
      const bad = {
        ids: [[99]],
        tokenTypes: [ids, { tokenTypes: [99] }],
        attentionMask: [ids, { attentionMask: [2] }],
        positions: [ids, { positions: [0.5] }],
        capture: [ids, { capture: ['nothing'] }],
        captureLayers: [ids, { capture: ['q'], captureLayers: [total] }],
        captureHeads: [ids, { capture: ['q'], captureHeads: [99] }],
        hiddenStates: [ids, { hiddenStates: 1 }],
        logits: [ids, { logits: 1 }],
      };
      for (const [argument, given] of Object.entries(bad)) {
        const refused = { message: new RegExp(`^model\\.forwardAsync: ${argument}\\b`) };
        await assert.rejects(model.forwardAsync(...given), refused);
        refused.message = new RegExp(`^model\\.forward: ${argument}\\b`);
        assert.throws(() => model.forward(...given), refused);
      }
      assert.deepEqual(inUse(rw), before);
    });

    test('refuses what forward() refuses, and what is none of its options', async () => {
      await assert.rejects(model.forwardAsync([99]), ArgumentRangeError);
      await assert.rejects(model.forwardAsync(ids, { capture: ['nothing'] }), /capture/);
      await assert.rejects(model.forwardAsync(ids, { signal: {} }), ArgumentTypeError);
      await assert.rejects(model.forwardAsync(ids, { onProgress: 1 }), ArgumentTypeError);
      await assert.rejects(model.forwardAsync(ids, { steps: 1 }), /steps/);
      assert.deepEqual(inUse(rw), before);
    });
  });
}

test('a model that is disposed of between two layers ends the pass', async () => {
  for (const made of [tinyBert(), tinyLlama()]) {
    const model = await loaded(made);
    const refused = { name: 'StateError', message: /^model\.forwardAsync: / };
    await assert.rejects(model.forwardAsync(ids, { onProgress: () => model.dispose() }), refused);
    assert.deepEqual(inUse(rw), before);
    await assert.rejects(model.forwardAsync(ids), refused);
  }
});

test('a cache is refused: others could change it meanwhile', async () => {
  const model = await loaded(tinyLlama());
  const cache = model.kvCache();
  await assert.rejects(model.forwardAsync(ids, { cache }), /model\.forwardAsync: cache is for forward\(\)/);
  assert.equal(cache.length, 0);
  cache.dispose();
  model.dispose();
});
