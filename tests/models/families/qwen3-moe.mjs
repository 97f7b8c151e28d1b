// Qwen 3 with experts, after modeling_qwen3_moe.py: the softmax is over all experts; norm_topk_prob divides by the sum of the
// chosen.
import { decoder } from '../tiny/configs.mjs';
import { matrix } from '../tiny/shapes.mjs';
import { tensorsWith, withHeadNorms } from './llama.mjs';
import { reference as qwen2 } from './qwen2.mjs';

export const modelType = 'qwen3_moe';

// The fields of Qwen/Qwen3-30B-A3B's config.json.
const qwen3Moe = (fields) =>
  decoder('qwen3_moe', 'Qwen3MoeForCausalLM', {
    attention_bias: false,
    decoder_sparse_step: 1,
    head_dim: 10,
    max_window_layers: 2,
    mlp_only_layers: [],
    moe_intermediate_size: 20,
    norm_topk_prob: true,
    num_experts: 6,
    num_experts_per_tok: 3,
    output_router_logits: false,
    rms_norm_eps: 1e-6,
    rope_scaling: null,
    rope_theta: 1000000,
    router_aux_loss_coef: 0.001,
    sliding_window: null,
    use_sliding_window: false,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  'qwen3-moe': ['BF16', qwen3Moe({})],
  'qwen3-moe-some': [
    'F32',
    qwen3Moe({
      decoder_sparse_step: 2,
      mlp_only_layers: [3],
      norm_topk_prob: undefined,
      num_hidden_layers: 4,
      tie_word_embeddings: true,
    }),
  ],
};

const isSparse = (c, i) => !c.mlp_only_layers.includes(i) && (i + 1) % c.decoder_sparse_step === 0;
export const layerIn = (at) => Number(/layers\.(\d+)\./.exec(at)[1]);

export const gatedMatrices = (at, width, wide) => [
  matrix(`${at}gate_proj`, wide, width),
  matrix(`${at}up_proj`, wide, width),
  matrix(`${at}down_proj`, width, wide),
];

export const tensors = tensorsWith({
  headNorms: true,
  feedForward(c, at) {
    if (!isSparse(c, layerIn(at))) return gatedMatrices(at, c.hidden_size, c.intermediate_size);
    const experts = Array.from({ length: c.num_experts }, (_, i) =>
      gatedMatrices(`${at}experts.${i}.`, c.hidden_size, c.moe_intermediate_size),
    );
    return [matrix(`${at}gate`, c.num_experts, c.hidden_size, 1.5), ...experts.flat()];
  },
});

export const gated = (w, at) => ({
  gate: w.linear(`${at}gate_proj`),
  up: w.linear(`${at}up_proj`),
  down: w.linear(`${at}down_proj`),
});

const weights = (w, at, c) => ({
  attentionNorm: w.norm(`${at}input_layernorm`),
  query: w.linear(`${at}self_attn.q_proj`),
  key: w.linear(`${at}self_attn.k_proj`),
  value: w.linear(`${at}self_attn.v_proj`),
  output: w.linear(`${at}self_attn.o_proj`),
  feedForwardNorm: w.norm(`${at}post_attention_layernorm`),
  ...(isSparse(c, layerIn(at))
    ? {
        router: w.linear(`${at}mlp.gate`),
        experts: Array.from({ length: c.num_experts }, (_, i) => gated(w, `${at}mlp.experts.${i}.`)),
        chosen: c.num_experts_per_tok,
        normalized: c.norm_topk_prob,
      }
    : gated(w, `${at}mlp.`)),
});

export const reference = { ...qwen2, weights: withHeadNorms(weights) };
