// Measures the cost of a token apart from matrix products, with a model so small that its products cost almost nothing.
import { safetensorsOf } from '../../models/tiny/files.mjs';
import { tinyModel } from '../../models/tiny/models.mjs';
import { summary } from '../measure.mjs';
import { seconds } from './work.mjs';

const tokens = 2000; // each round, so that the clock of the processor can tell rounds apart
const context = 32;

/** Microseconds for each token that a tiny LLaMA of two layers decodes: { median, low, high }. */
export async function tinyMicroseconds({ load, loadModel, rounds }) {
  const made = tinyModel('llama2', { dtype: 'F32' });
  const { config } = made;
  const model = await loadModel(await load(), { config, weights: safetensorsOf(made) });
  const cache = model.kvCache({ capacity: context });
  const times = [];
  for (let round = -2; round < rounds; ++round) {
    const taken = await seconds(() => {
      for (let i = 0; i < tokens; ++i) {
        if (i % context === 0) cache.reset();
        model.forward([i % config.vocab_size], { cache });
      }
    });
    if (round >= 0) times.push((taken / tokens) * 1e6); // those before are for the compiler
  }
  cache.dispose();
  model.dispose();
  return summary(times);
}
