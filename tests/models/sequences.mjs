// Token ids to run models on.
import { bits, seedOf } from './tiny/numbers.mjs';

/** Ids below the model's vocabulary, the same for the same seed. */
export function idsOf({ name, config }, length, seed) {
  const next = bits(seedOf(`ids of ${name}`, seed));
  for (let i = 0; i < 8; ++i) next();
  return Array.from({ length }, () => next() % (config.text_config ?? config).vocab_size);
}
