// SmolLM3: layers without a rotary encoding.
import { ropeOfConfig } from '../reference/config.mjs';
import { decoder } from '../tiny/configs.mjs';
import { reference as llama } from './llama.mjs';

export { tensors } from './llama.mjs';

export const modelType = 'smollm3';

const smollm3 = (fields) =>
  decoder('smollm3', 'SmolLM3ForCausalLM', {
    attention_bias: false,
    max_window_layers: 4,
    mlp_bias: false,
    no_rope_layer_interval: 4,
    no_rope_layers: [1, 1, 1, 0],
    num_hidden_layers: 4,
    rms_norm_eps: 1e-6,
    rope_scaling: null,
    rope_theta: 2000000,
    sliding_window: null,
    tie_word_embeddings: true,
    use_sliding_window: false,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  smollm3: ['BF16', smollm3({})],
  'smollm3-window': [
    'F32',
    smollm3({
      no_rope_layer_interval: 2,
      no_rope_layers: undefined,
      sliding_window: 4,
      tie_word_embeddings: undefined,
      use_sliding_window: true,
    }),
  ],
};

// A 1 in no_rope_layers means that the layer has RoPE. A window, if in use, is for those that have none.
const smollm3Turns = (c, i) => (c.no_rope_layers?.[i] ?? (i + 1) % c.no_rope_layer_interval) !== 0;

export const reference = {
  ...llama,
  defaults: { ...llama.defaults, no_rope_layer_interval: 4, tie_word_embeddings: true },
  window: (c, i) => (c.use_sliding_window && !smollm3Turns(c, i) ? c.sliding_window : undefined),
  rope: (c, i, tokens) => (smollm3Turns(c, i) ? ropeOfConfig(c, tokens) : undefined),
};
