// Exported models, loaded by loadModel, give the logits of the trainer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load as loadMain } from 'ropewalk';
import { loadModel } from 'ropewalk/models';
import { load, skipLanguageTask } from 'ropewalk/training';

const [rw, main] = [await load(), await loadMain()];
const task = skipLanguageTask({ tokens: 16 });
const sizes = { layers: 2, modelDim: 16, heads: 2, vocab: 16, context: 16, optimizer: { learningRate: 1e-2 } };

function trained(options) {
  const trainer = rw.trainer({ ...sizes, ...options });
  for (let s = 0; s < 20; ++s) trainer.step(task.batch(8));
  return trainer;
}

const models = {
  'no positions': {},
  'no positions and heads of odd size': { modelDim: 10 },
  RoPE: { position: { encoding: 'rope' }, hiddenDim: 24 },
  'interleaved RoPE of a part': { position: { encoding: 'rope', pairing: 'interleaved', rotaryDim: 4, base: 50 } },
  'RoPE of 30 of 44 coordinates': { modelDim: 88, position: { encoding: 'rope', rotaryDim: 30 } },
  'RoPE by YaRN': {
    position: { encoding: 'rope', scaling: { type: 'yarn', factor: 4, originalLength: 8 } },
    hiddenDim: 24,
    activation: 'silu',
  },
  'RoPE of Llama 3': { position: { encoding: 'rope', scaling: { type: 'llama3', factor: 8, originalLength: 12 } } },
  'RoPE of Llama 3 with other bounds': {
    position: {
      encoding: 'rope',
      scaling: { type: 'llama3', factor: 4, originalLength: 32, lowFreqFactor: 2, highFreqFactor: 3 },
    },
  },
  'RoPE by another base': { position: { encoding: 'rope', scaling: { type: 'ntk', factor: 3 } } },
  'learned positions': { position: { encoding: 'learned', maxPositions: 20 }, hiddenDim: 24 },
  'sinusoidal positions': { position: { encoding: 'sinusoidal', scale: 0.5 }, hiddenDim: 24 },
};

for (const [name, options] of Object.entries(models)) {
  test(`a model with ${name} gives the same logits, whole and from a cache`, async () => {
    const trainer = trained(options);
    const { ids } = task.batch(1);
    const { logits } = trainer.evaluate({ ids }, { logits: true });
    const { config, weights } = trainer.exportModel();
    const model = await loadModel(main, { config: JSON.parse(JSON.stringify(config)), weights });
    const close = (got, want) => {
      assert.equal(got.length, want.length);
      for (const [i, each] of got.entries()) assert.ok(Math.abs(each - want[i]) < 2e-5, `${i}: ${each}, ${want[i]}`);
    };
    close(model.forward([...ids.data], { logits: 'all' }).logits.data, logits);
    const cache = model.kvCache();
    for (const part of [ids.data.subarray(0, 5), ids.data.subarray(5, 6)]) model.forward([...part], { cache });
    close(model.forward([...ids.data.subarray(6)], { cache }).logits.data, logits.subarray(15 * 16));
    model.dispose();
    trainer.dispose();
  });
}

test('a table of positions ends, and sinusoids reach as far as asked', async () => {
  const trainer = trained({ position: { encoding: 'sinusoidal' } });
  const { config, weights } = trainer.exportModel({ maxPositions: 20 });
  const model = await loadModel(main, { config, weights });
  model.forward(new Int32Array(20));
  assert.throws(() => model.forward(new Int32Array(21)), { name: 'ArgumentRangeError', argument: 'ids' });
  assert.throws(() => model.forward(new Int32Array(4), { offset: 17 }), { argument: 'offset' });
  model.dispose();
  trainer.dispose();
});

test('what decoders of checkpoints do not have is not exported', () => {
  const cases = {
    causal: { causal: false },
    norm: { norm: 'layer' },
    attention: { attention: { linear: 'elu1' } },
    'position.encoding': { position: { encoding: 'alibi' } },
    'position.mode': { position: { encoding: 'learned', mode: 'multiply' } },
    'position.scaling.type': { position: { encoding: 'rope', scaling: { type: 'proportional', rotaryFraction: 0.5 } } },
  };
  for (const [argument, options] of Object.entries(cases)) {
    const trainer = rw.trainer({ ...sizes, ...options });
    assert.throws(() => trainer.exportModel(), { name: 'ArgumentRangeError', argument });
    trainer.dispose();
  }
  const trainer = rw.trainer({ ...sizes, position: { encoding: 'rope' } });
  assert.throws(() => trainer.exportModel({ maxPositions: 99 }), { argument: 'maxPositions' });
  trainer.dispose();
  assert.throws(() => trainer.exportModel(), { name: 'StateError', message: /^trainer\.exportModel: / });
});
