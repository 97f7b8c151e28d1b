// Normalised linear attention with and without RoPE.
import { choose, given, operation } from './operation.mjs';

const variants = {
  vanilla: { rope: false },
  rope_numerator: { rope: true, form: 'numerator' },
  rope_both: { rope: true, form: 'both' },
  cosine: { rope: true, similarity: 'cosine' },
};
const featureMaps = { elu1: 'elu1', relu: 'relu', exp: 'exp' };

const known = { params: ['variant', 'phi', 'causal', 'style', 'base', 'position0'], inputs: ['q', 'k', 'v'] };

export const linear = {
  linear_attention: operation(known, (rw, params, { q, k, v }) => {
    const { variant, phi, causal, style: pairing, base, position0: offset = 0 } = params;
    const { rope, form, similarity } = choose('variant', variant, variants);
    const featureMap = phi === undefined ? undefined : choose('phi', phi, featureMaps);
    const options = given({ causal, featureMap, similarity });
    if (!rope) return { out: rw.linearAttention(q, k, v, options).out };
    const plan = rw.rope(given({ headDim: q.shape[3], pairing, base }));
    try {
      const position = given({ encoding: 'rope', plan, form, queries: offset, keys: offset });
      return { out: rw.linearAttention(q, k, v, { ...options, position }).out };
    } finally {
      plan.dispose();
    }
  }),
};
