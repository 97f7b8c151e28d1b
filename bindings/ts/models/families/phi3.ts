// Phi-3: LLaMA with fused projections and LongRoPE.

import { type Fields, isRecord } from '../../checkpoints/fields.js';
import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { GatedFeedForward } from '../description/description.js';
import type { Family } from '../description/family.js';
import { readEps } from '../description/fields.js';
import { llamaRest, llamaSpelling } from './llama.js';
import { everyLayer } from './mistral.js';

// Older files have `yarn`, which Phi-3's class treats as LongRoPE, unlike the code published with those files.
function refuseYarn(fields: Fields): void {
  for (const field of ['rope_parameters', 'rope_scaling']) {
    const rope = fields.peek(field);
    if (isRecord(rope) && [rope.rope_type, rope.type].includes('yarn')) {
      throw fields.misfit(field, ' of type "yarn"; expected "longrope", the only scaling of Phi-3');
    }
  }
}

// qkv_proj contains queries, keys and values one after the other; gate_up_proj gate and up.
const spelling: DecoderSpelling = {
  ...llamaSpelling,
  layer(names, model, { hiddenDim }: GatedFeedForward) {
    const { modelDim, heads, kvHeads, headDim } = model;
    const [query, key, value] = names.joined(
      'self_attn.qkv_proj',
      [heads * headDim, kvHeads * headDim, kvHeads * headDim],
      modelDim,
    );
    const [gate, up] = names.joined('mlp.gate_up_proj', [hiddenDim, hiddenDim], modelDim);
    return {
      maps: { query, key, value, ...llamaRest(names, model) },
      feedForward: { kind: 'gated', gate, up, down: names.linear('mlp.down_proj', modelDim, hiddenDim, false) },
    };
  },
};

export const phi3: Family = {
  stem: 'Phi3',
  rope: { pairing: 'half', originalLength: 4096 },
  read(reading) {
    const { fields } = reading;
    refuseYarn(fields);
    return readDecoder(reading, {
      eps: readEps(fields, 'rms_norm_eps', 1e-5),
      sliding: () => everyLayer(fields, undefined),
    });
  },
  tensors: decoderTensors(spelling),
};
