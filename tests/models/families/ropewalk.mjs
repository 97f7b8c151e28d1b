// What `ropewalk/training` exports: LLaMA with a dense feed-forward part. Positions by table: tests/ts/training.
import { decoder } from '../tiny/configs.mjs';
import { matrix } from '../tiny/shapes.mjs';
import { reference as llama, tensorsWith } from './llama.mjs';

export const modelType = 'ropewalk';

const ropewalk = (fields) =>
  decoder('ropewalk', 'RopewalkForCausalLM', {
    hidden_act: 'gelu',
    num_key_value_heads: undefined,
    position_embedding_type: 'rope',
    tie_word_embeddings: false,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = { ropewalk: ['F32', ropewalk({})] };

export const tensors = tensorsWith({
  feedForward: (c, at) => [
    matrix(`${at}up_proj`, c.intermediate_size, c.hidden_size),
    matrix(`${at}down_proj`, c.hidden_size, c.intermediate_size),
  ],
});

export const reference = {
  ...llama,
  weights(w, at) {
    const norm = (name) => w.norm(`${at}${name}`);
    const linear = (name) => w.linear(`${at}${name}`);
    return {
      attentionNorm: norm('input_layernorm'),
      query: linear('self_attn.q_proj'),
      key: linear('self_attn.k_proj'),
      value: linear('self_attn.v_proj'),
      output: linear('self_attn.o_proj'),
      feedForwardNorm: norm('post_attention_layernorm'),
      up: linear('mlp.up_proj'),
      down: linear('mlp.down_proj'),
    };
  },
};
