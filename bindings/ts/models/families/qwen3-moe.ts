// Qwen 3 with experts, in all layers or in every nth.

import { agreed } from '../../checkpoints/fields.js';
import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { ExpertsFeedForward, GatedFeedForward } from '../description/description.js';
import type { Family } from '../description/family.js';
import { flag, integers, readBiases, size, sizeOf } from '../description/fields.js';
import { llamaFeedForward, llamaMaps, llamaSpelling } from './llama.js';
import { expertSlots } from './mixtral.js';
import { qwenWindow } from './qwen2.js';

const spelling: DecoderSpelling = {
  ...llamaSpelling,
  layer(names, model, feedForward: GatedFeedForward | ExpertsFeedForward) {
    const maps = llamaMaps(names, model);
    if (feedForward.kind === 'gated') return { maps, feedForward: llamaFeedForward(names, model, feedForward) };
    const ends = ['gate_proj', 'up_proj', 'down_proj'] as const;
    return { maps, feedForward: expertSlots(names.within('mlp.'), model.modelDim, feedForward, ends) };
  },
};

export const qwen3Moe: Family = {
  stem: 'Qwen3Moe',
  rope: { pairing: 'half' },
  read(reading) {
    const { fields } = reading;
    // transformers 5 writes the second name.
    const experts = agreed(fields.at('num_experts', 'num_local_experts'), size)?.value ?? 128;
    const chosen = sizeOf(fields, 'num_experts_per_tok', 8);
    if (chosen > experts) throw fields.misfit('num_experts_per_tok', `; expected at most ${experts}, the experts`);
    const every = sizeOf(fields, 'decoder_sparse_step', 1);
    const dense = fields.optional('mlp_only_layers', integers('layers')) ?? []; // without experts in any case
    const sparse = {
      kind: 'experts',
      ...{ hiddenDim: sizeOf(fields, 'moe_intermediate_size', 768), experts, chosen },
      normalized: flag(fields, 'norm_topk_prob', false),
    } as const;
    return readDecoder(reading, {
      sizes: { heads: 32, kvHeads: 4, vocabSize: 151936 },
      sliding: () => qwenWindow(fields),
      feedForward: ({ hiddenDim }, layer) =>
        dense.includes(layer) || (layer + 1) % every !== 0 ? { kind: 'gated', hiddenDim } : sparse,
      biases: { ...readBiases(fields), feedForward: false },
      queryKeyNorm: true,
    });
  },
  tensors: decoderTensors(spelling),
};
