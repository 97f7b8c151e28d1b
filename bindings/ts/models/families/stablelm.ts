// StableLM 3B and 2: LLaMA with layer norms, of which a quarter of each head rotates; in a variant attention and
// feed-forward part are side by side after one norm. That of 12 billion weights has a norm of its own for each head.

import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { GatedFeedForward } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family } from '../description/family.js';
import { flag, readEps } from '../description/fields.js';
import { type Names, type NormSlots, vectorSlot } from '../description/slots.js';
import { llama, llamaFeedForward, llamaMaps, llamaSpelling } from './llama.js';

// A tensor for each head; GGUF files have one for all.
function headNorms(names: Names, name: string, heads: number, headDim: number): NormSlots {
  if (names.has(`${name}.weight`)) return { weight: names.table(`${name}.weight`, heads, headDim) };
  const weight = vectorSlot(heads * headDim);
  for (let h = 0; h < heads; ++h) {
    names.fused(`${name}.norms.${h}.weight`, [headDim], [{ slot: weight, first: h * headDim, count: headDim }]);
  }
  return { weight };
}

const spelling: DecoderSpelling = {
  ...llamaSpelling,
  layer(names, model, feedForward: GatedFeedForward) {
    const { heads, kvHeads, headDim, queryKeyNorm } = model;
    return {
      maps: {
        ...llamaMaps(names, { ...model, queryKeyNorm: false }),
        ...(queryKeyNorm && {
          queryNorm: headNorms(names, 'self_attn.q_layernorm', heads, headDim),
          keyNorm: headNorms(names, 'self_attn.k_layernorm', kvHeads, headDim),
        }),
      },
      feedForward: llamaFeedForward(names, model, feedForward),
    };
  },
};

export const stablelm: Family = {
  ...llama,
  stem: 'StableLm',
  rope: { pairing: 'half', rotaryFraction: 0.25 },
  read(reading) {
    const { fields } = reading;
    expectOnly(fields, { rotary_scaling_factor: 1 });
    return readDecoder(reading, {
      sizes: { vocabSize: 50304 },
      norms: flag(fields, 'use_parallel_residual', false) ? 'parallel' : 'pre',
      norm: 'layer',
      eps: readEps(fields, 'layer_norm_eps', 1e-5),
      queryKeyNorm: flag(fields, 'qk_layernorm', false) && 'own weights',
      biases: { attention: flag(fields, 'use_qkv_bias', false), attentionOutput: false, feedForward: false },
    });
  },
  tensors: decoderTensors(spelling),
};
