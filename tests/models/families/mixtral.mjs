// Mixtral, after modeling_mixtral.py: a router's softmax, of which the largest numbers are divided by their sum.
import { decoder } from '../tiny/configs.mjs';
import { matrix } from '../tiny/shapes.mjs';
import { reference as llama, tensorsWith } from './llama.mjs';

export const modelType = 'mixtral';

// The fields of mistralai/Mixtral-8x7B-v0.1's config.json.
const mixtral = (fields) =>
  decoder('mixtral', 'MixtralForCausalLM', {
    num_experts_per_tok: 2,
    num_local_experts: 5,
    output_router_logits: false,
    rope_theta: 1000000,
    router_aux_loss_coef: 0.02,
    sliding_window: null,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  mixtral: ['BF16', mixtral({})],
  'mixtral-window': ['F32', mixtral({ num_experts_per_tok: 3, rope_theta: undefined, sliding_window: 6 })],
};

export const tensors = tensorsWith({
  feedForward(c, at) {
    const base = at.replace('mlp.', 'block_sparse_moe.');
    const [width, wide] = [c.hidden_size, c.intermediate_size];
    const experts = Array.from({ length: c.num_local_experts }, (_, i) => [
      matrix(`${base}experts.${i}.w1`, wide, width),
      matrix(`${base}experts.${i}.w2`, width, wide),
      matrix(`${base}experts.${i}.w3`, wide, width),
    ]);
    return [matrix(`${base}gate`, c.num_local_experts, width, 1.5), ...experts.flat()];
  },
});

export const reference = {
  ...llama,
  defaults: { rope_theta: 1000000, tie_word_embeddings: false },
  window: (c) => c.sliding_window ?? undefined,
  weights: (w, at, c) => ({
    attentionNorm: w.norm(`${at}input_layernorm`),
    query: w.linear(`${at}self_attn.q_proj`),
    key: w.linear(`${at}self_attn.k_proj`),
    value: w.linear(`${at}self_attn.v_proj`),
    output: w.linear(`${at}self_attn.o_proj`),
    feedForwardNorm: w.norm(`${at}post_attention_layernorm`),
    router: w.linear(`${at}block_sparse_moe.gate`),
    experts: Array.from({ length: c.num_local_experts }, (_, i) => ({
      gate: w.linear(`${at}block_sparse_moe.experts.${i}.w1`),
      up: w.linear(`${at}block_sparse_moe.experts.${i}.w3`),
      down: w.linear(`${at}block_sparse_moe.experts.${i}.w2`),
    })),
    chosen: c.num_experts_per_tok,
    normalized: true,
  }),
};
