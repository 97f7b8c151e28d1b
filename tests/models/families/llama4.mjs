// Llama 4, after modeling_llama4.py: rotated neighbours, then norms without weights; chunks in layers that rotate; queries
// that grow with their index in the others; experts whose input the router scales, beside one for every token.
import { headDimOf, ropeOfConfig } from '../reference/config.mjs';
import { decoder } from '../tiny/configs.mjs';
import { matrix } from '../tiny/shapes.mjs';
import { reference as llama, tensorsWith } from './llama.mjs';
import { gated, gatedMatrices, layerIn } from './qwen3-moe.mjs';

export const modelType = 'llama4_text';

// The fields of meta-llama/Llama-4-Scout-17B-16E's text_config.
const text = (fields) =>
  decoder('llama4_text', 'Llama4ForCausalLM', {
    attention_bias: false,
    attention_chunk_size: 4,
    attn_scale: 0.5,
    attn_temperature_tuning: true,
    floor_scale: 3,
    head_dim: 8,
    interleave_moe_layer_step: 1,
    intermediate_size: 20,
    intermediate_size_mlp: 52,
    num_experts_per_tok: 1,
    num_hidden_layers: 4,
    num_local_experts: 5,
    output_router_logits: false,
    rope_scaling: null,
    rope_theta: 500000,
    router_aux_loss_coef: 0.001,
    use_qk_norm: true,
    ...fields,
  });

const llama3 = { factor: 8, high_freq_factor: 4, low_freq_factor: 1, original_max_position_embeddings: 32 };
const [chunked, full] = ['chunked_attention', 'full_attention'];

function withImages() {
  const { architectures: _, ...text_config } = text({ moe_layers: [1, 2], no_rope_layers: [1, 0, 0, 1] });
  return {
    architectures: ['Llama4ForConditionalGeneration'],
    boi_token_index: 90,
    eoi_token_index: 91,
    image_token_index: 92,
    model_type: 'llama4',
    text_config,
    transformers_version: '4.51.0',
    vision_config: { hidden_size: 8, image_size: 16, model_type: 'llama4_vision_model', patch_size: 8 },
  };
}

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  llama4: ['BF16', text({ rope_scaling: { ...llama3, rope_type: 'llama3' } })],
  // As Maverick: experts in every second layer, no norms of queries and keys.
  'llama4-sparse': [
    'F32',
    text({ interleave_moe_layer_step: 2, no_rope_layer_interval: 2, num_experts_per_tok: 3, use_qk_norm: false }),
  ],
  // The fields of facebook/MobileLLM-R1-140M's config.json: no experts, and layers that rotate and see everything.
  'mobilellm-r1': [
    'BF16',
    text({
      attn_temperature_tuning: false,
      interleave_moe_layer_step: 0,
      layer_types: Array(4).fill(full),
      moe_layers: [],
      no_rope_layers: [1, 1, 1, 1],
      num_experts_per_tok: 0,
      num_local_experts: 0,
      tie_word_embeddings: true,
    }),
  ],
  'llama4-types': [
    'F32',
    text({
      attention_bias: true,
      layer_types: [full, chunked, chunked, full],
      moe_layers: [3],
      no_rope_layers: [1, 1, 0, 0],
      num_key_value_heads: 6,
    }),
  ],
  'llama4-images': ['BF16', withImages(), { images: true }],
};

const rotates = (c, i) => (c.no_rope_layers?.[i] ?? (i + 1) % (c.no_rope_layer_interval ?? 4)) !== 0;
const hasExperts = (c, i) => c.moe_layers?.includes(i) ?? (i + 1) % c.interleave_moe_layer_step === 0;

export const tensors = tensorsWith({
  feedForward(c, mlp) {
    const at = mlp.replace('mlp.', 'feed_forward.');
    const { hidden_size: width, intermediate_size: wide, num_local_experts: count } = c;
    if (!hasExperts(c, layerIn(at))) return gatedMatrices(at, width, c.intermediate_size_mlp);
    return [
      matrix(`${at}router`, count, width, 1.5),
      [`${at}experts.gate_up_proj`, [count, width, 2 * wide], 1 / Math.sqrt(width)],
      [`${at}experts.down_proj`, [count, wide, width], 1 / Math.sqrt(wide)],
      ...gatedMatrices(`${at}shared_expert.`, width, wide),
    ];
  },
});

// Columns from ... to - 1 of matrix e of a tensor [count, inputs, outputs], as rows.
function columns(numbers, [inputs, outputs], e, from, to) {
  const at = (row, column) => numbers[(e * inputs + row) * outputs + column];
  return Array.from({ length: to - from }, (_, o) => Float64Array.from({ length: inputs }, (_, i) => at(i, from + o)));
}

function experts(w, at, c) {
  const { hidden_size: width, intermediate_size: wide } = c;
  const [gateUp, down] = [w.vector(`${at}experts.gate_up_proj`), w.vector(`${at}experts.down_proj`)];
  return {
    router: w.linear(`${at}router`),
    experts: Array.from({ length: c.num_local_experts }, (_, e) => ({
      gate: { weight: columns(gateUp, [width, 2 * wide], e, 0, wide) },
      up: { weight: columns(gateUp, [width, 2 * wide], e, wide, 2 * wide) },
      down: { weight: columns(down, [wide, width], e, 0, width) },
    })),
    shared: gated(w, `${at}shared_expert.`),
    chosen: c.num_experts_per_tok,
  };
}

export const reference = {
  ...llama,
  defaults: { rope_theta: 500000, tie_word_embeddings: false },
  normsTurned: true,
  rope: (c, i, tokens) => (rotates(c, i) ? ropeOfConfig(c, tokens, { pairing: 'interleaved' }) : undefined),
  chunk: (c, i) =>
    (c.layer_types?.[i] ?? (rotates(c, i) ? chunked : full)) === chunked ? c.attention_chunk_size : undefined,
  temperature: (c, i, t) =>
    c.attn_temperature_tuning && !rotates(c, i)
      ? 1 + c.attn_scale * Math.log1p(Math.floor((t + 1) / c.floor_scale))
      : undefined,
  weights(w, at, c) {
    const index = layerIn(at);
    const {
      gate: _,
      up: __,
      down: ___,
      ...rest
    } = llama.weights(
      { norm: (name) => w.norm(name), linear: (name) => (name.includes('mlp') ? undefined : w.linear(name)) },
      at,
    );
    const ones = { weight: new Float64Array(headDimOf(c)).fill(1) };
    return {
      ...rest,
      ...(c.use_qk_norm && rotates(c, index) && { queryNorm: ones, keyNorm: ones }),
      ...(hasExperts(c, index) ? experts(w, `${at}feed_forward.`, c) : gated(w, `${at}feed_forward.`)),
    };
  },
};
