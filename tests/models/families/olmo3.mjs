// OLMo 3, after modeling_olmo3.py: OLMo 2 with a window in three of four layers, whose frequencies are not scaled.
import { ropeOfConfig } from '../reference/config.mjs';
import { olmo, reference as olmo2, tensors } from './olmo2.mjs';

export { tensors };

export const modelType = 'olmo3';

const types = ['sliding_attention', 'sliding_attention', 'sliding_attention', 'full_attention'];
const olmo3 = (fields) =>
  olmo('olmo3', 'Olmo3ForCausalLM', { layer_types: types, num_hidden_layers: 4, sliding_window: 6, ...fields });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  olmo3: [
    'BF16',
    olmo3({
      rope_scaling: {
        ...{ attention_factor: 1.2079441541679836, beta_fast: 32, beta_slow: 1, factor: 8 },
        ...{ original_max_position_embeddings: 32, rope_type: 'yarn' },
      },
    }),
  ],
  'olmo3-plain': ['F32', olmo3({ layer_types: undefined })],
};

const slides = (i) => types[i % 4] === 'sliding_attention';

export const reference = {
  ...olmo2,
  window: (c, i) => (slides(i) ? c.sliding_window : undefined),
  rope: (c, i, tokens) => ropeOfConfig(c, tokens, slides(i) ? { parameters: { rope_theta: c.rope_theta } } : {}),
};
