// A config.json for each variant, with the fields that Hugging Face's own files have: what matters, and what must not.

const torch = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' };

const training = { attention_dropout: 0, initializer_range: 0.02, transformers_version: '4.46.3', use_cache: true };

// Sizes that are no multiples of the width of a vector, where the architecture lets them.
const sizes = { vocab_size: 97, hidden_size: 36, intermediate_size: 52, num_hidden_layers: 2 };

function encoder(modelType, architecture, fields) {
  return {
    architectures: [architecture],
    attention_probs_dropout_prob: 0.1,
    hidden_act: 'gelu',
    hidden_dropout_prob: 0.1,
    initializer_range: 0.02,
    layer_norm_eps: 1e-12,
    max_position_embeddings: 24,
    model_type: modelType,
    ...sizes,
    num_attention_heads: 3,
    pad_token_id: 0,
    type_vocab_size: 2,
    ...fields,
  };
}

const bert = (fields, architecture = 'BertForMaskedLM') => encoder('bert', architecture, fields);
const roformer = (fields) =>
  encoder('roformer', 'RoFormerForMaskedLM', { embedding_size: 36, rotary_value: false, use_cache: true, ...fields });

function decoder(modelType, architecture, fields) {
  return {
    architectures: [architecture],
    bos_token_id: 1,
    eos_token_id: 2,
    hidden_act: 'silu',
    max_position_embeddings: 64,
    model_type: modelType,
    ...sizes,
    num_attention_heads: 6,
    num_key_value_heads: 2,
    rms_norm_eps: 1e-5,
    rope_theta: 10000,
    tie_word_embeddings: false,
    ...training,
    ...fields,
  };
}

const llama = (fields) =>
  decoder('llama', 'LlamaForCausalLM', {
    attention_bias: false,
    mlp_bias: false,
    pretraining_tp: 1,
    rope_scaling: null,
    ...fields,
  });

const llama3Scaling = {
  factor: 8,
  high_freq_factor: 4,
  low_freq_factor: 1,
  original_max_position_embeddings: 32,
  rope_type: 'llama3',
};

const neox = (fields) => ({
  architectures: ['GPTNeoXForCausalLM'],
  bos_token_id: 0,
  eos_token_id: 0,
  hidden_act: 'gelu',
  layer_norm_eps: 1e-5,
  max_position_embeddings: 64,
  model_type: 'gpt_neox',
  ...sizes,
  hidden_size: 48,
  num_attention_heads: 3,
  rotary_emb_base: 10000,
  rotary_pct: 0.25,
  tie_word_embeddings: false,
  use_parallel_residual: true,
  ...training,
  ...fields,
});

const qwen2 = (fields) =>
  decoder('qwen2', 'Qwen2ForCausalLM', {
    max_window_layers: 2,
    rms_norm_eps: 1e-6,
    rope_theta: 1000000,
    sliding_window: 32,
    tie_word_embeddings: true,
    use_sliding_window: false,
    ...fields,
  });

const qwen3 = (fields) =>
  decoder('qwen3', 'Qwen3ForCausalLM', {
    attention_bias: false,
    head_dim: 10,
    max_window_layers: 2,
    rms_norm_eps: 1e-6,
    rope_scaling: null,
    rope_theta: 1000000,
    sliding_window: null,
    tie_word_embeddings: true,
    use_sliding_window: false,
    ...fields,
  });

const gemma = (modelType, architecture, fields) =>
  decoder(modelType, architecture, {
    attention_bias: false,
    head_dim: 14,
    hidden_act: 'gelu_pytorch_tanh',
    hidden_activation: 'gelu_pytorch_tanh',
    // The root of 40 is no bfloat16.
    hidden_size: 40,
    num_attention_heads: 4,
    num_key_value_heads: 1,
    pad_token_id: 0,
    rms_norm_eps: 1e-6,
    // Hugging Face does not save what is the default of all its classes.
    tie_word_embeddings: undefined,
    ...fields,
  });

const gemma3 = (fields) => {
  const config = gemma('gemma3_text', 'Gemma3ForCausalLM', {
    attn_logit_softcapping: null,
    final_logit_softcapping: null,
    num_hidden_layers: 7,
    query_pre_attn_scalar: 18,
    sliding_window: 5,
    ...fields,
  });
  const { hidden_act: _, ...rest } = config;
  return rest;
};

// The model that sees images too; its text_config has little more than its sizes.
function gemma3Images() {
  const {
    head_dim,
    hidden_size,
    intermediate_size,
    num_attention_heads,
    num_hidden_layers,
    num_key_value_heads,
    ...rest
  } = gemma3({ rope_scaling: { factor: 8, rope_type: 'linear' } });
  const { rope_scaling, sliding_window, vocab_size, eos_token_id } = rest;
  const sized = {
    head_dim,
    hidden_size,
    intermediate_size,
    num_attention_heads,
    num_hidden_layers,
    num_key_value_heads,
  };
  return {
    architectures: ['Gemma3ForConditionalGeneration'],
    boi_token_index: 90,
    eoi_token_index: 91,
    eos_token_id: [eos_token_id, 93],
    image_token_index: 92,
    initializer_range: 0.02,
    mm_tokens_per_image: 4,
    model_type: 'gemma3',
    text_config: { ...sized, model_type: 'gemma3_text', rope_scaling, sliding_window, vocab_size },
    transformers_version: '4.50.0',
    vision_config: { hidden_size: 8, image_size: 16, model_type: 'siglip_vision_model', patch_size: 8 },
  };
}

const phi3 = (fields) =>
  decoder('phi3', 'Phi3ForCausalLM', {
    attention_bias: false,
    embd_pdrop: 0,
    max_position_embeddings: 64,
    num_attention_heads: 3,
    num_key_value_heads: 1,
    original_max_position_embeddings: 64,
    pad_token_id: 0,
    resid_pdrop: 0,
    rope_scaling: null,
    sliding_window: 7,
    ...fields,
  });

const longrope = {
  original_max_position_embeddings: 16,
  sliding_window: 262144,
};

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

const sliding = Array(5).fill('sliding_attention');

// name: [dtype of the weights, config, what else the file does].
const table = {
  roformer: ['F32', roformer({}), { table: true }],
  'roformer-value': ['F16', roformer({ embedding_size: 20, rotary_value: true })],
  bert: ['F32', bert({ position_embedding_type: 'absolute' }), { pooler: true }],
  'bert-gamma': ['F32', bert({}), { pooler: true, gamma: true }],
  'bert-bare': ['BF16', bert({}, 'BertModel'), { pooler: true, bare: true }],
  'bert-relative-key': ['F32', bert({ position_embedding_type: 'relative_key' })],
  'bert-relative-key-query': ['F16', bert({ position_embedding_type: 'relative_key_query' })],
  'gpt-neox': ['F16', neox({}), { buffers: true }],
  'gpt-neox-sequential': ['F32', neox({ hidden_act: 'gelu_new', rotary_pct: 0.5, use_parallel_residual: false })],
  llama2: [
    'F16',
    llama({
      attention_bias: undefined,
      max_position_embeddings: 48,
      mlp_bias: undefined,
      num_key_value_heads: 6,
      rope_theta: undefined,
    }),
  ],
  llama3: ['BF16', llama({ rope_scaling: llama3Scaling, rope_theta: 500000, tie_word_embeddings: true })],
  'llama-biases': [
    'F32',
    llama({
      attention_bias: true,
      head_dim: 8,
      mlp_bias: true,
      rope_parameters: { ...llama3Scaling, rope_theta: 500000 },
      rope_scaling: undefined,
      rope_theta: undefined,
    }),
  ],
  'llama-linear': ['F32', llama({ num_key_value_heads: undefined, rope_scaling: { type: 'linear', factor: 4 } })],
  'llama-dynamic': ['F32', llama({ max_position_embeddings: 16, rope_scaling: { type: 'dynamic', factor: 3 } })],
  mistral: ['BF16', decoder('mistral', 'MistralForCausalLM', { head_dim: 10, sliding_window: 6 })],
  qwen2: ['BF16', qwen2({})],
  'qwen2-window': [
    'F32',
    qwen2({ max_window_layers: 1, num_hidden_layers: 3, sliding_window: 4, use_sliding_window: true }),
  ],
  qwen3: ['BF16', qwen3({})],
  'qwen3-yarn': [
    'F32',
    qwen3({ rope_scaling: { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32 }, head_dim: 16 }),
  ],
  gemma: ['BF16', gemma('gemma', 'GemmaForCausalLM', { hidden_activation: null })],
  gemma2: [
    'F32',
    gemma('gemma2', 'Gemma2ForCausalLM', {
      attn_logit_softcapping: 3,
      cache_implementation: 'hybrid',
      final_logit_softcapping: 5,
      num_hidden_layers: 3,
      num_key_value_heads: 2,
      query_pre_attn_scalar: 9,
      sliding_window: 5,
    }),
  ],
  gemma3: [
    'BF16',
    gemma3({
      rope_local_base_freq: 100,
      rope_scaling: { factor: 8, rope_type: 'linear' },
      rope_theta: 1000000,
      sliding_window_pattern: 6,
    }),
  ],
  'gemma3-types': [
    'F32',
    gemma3({
      layer_types: [...sliding, 'full_attention', 'sliding_attention'],
      rope_parameters: {
        full_attention: { rope_type: 'linear', factor: 8, rope_theta: 1000000 },
        sliding_attention: { rope_type: 'default', rope_theta: 100 },
      },
      rope_theta: undefined,
    }),
  ],
  'gemma3-images': ['BF16', gemma3Images(), { images: true }],
  phi3: ['BF16', phi3({})],
  'phi3-longrope': [
    'F32',
    phi3({
      ...longrope,
      max_position_embeddings: 128,
      rope_scaling: {
        long_factor: [1.1, 1.9, 3.2, 6.5, 11, 23],
        short_factor: [1, 1.05, 1.2, 1.4, 2, 2.5],
        type: 'longrope',
      },
    }),
  ],
  'phi3-partial': [
    'F16',
    phi3({
      ...longrope,
      num_attention_heads: 2,
      max_position_embeddings: 128,
      hidden_size: 48,
      partial_rotary_factor: 0.75,
      rope_scaling: {
        long_factor: [1, 1.3, 2.2, 4.5, 9, 13, 21, 30, 47],
        short_factor: [1, 1, 1.1, 1.2, 1.4, 1.7, 2, 2.5, 3],
        type: 'longrope',
      },
      tie_word_embeddings: true,
    }),
  ],
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

/** The variants, by name. */
export const variants = Object.keys(table);

/** { dtype, config, file } of a variant: the type of its weights, its config.json, and what its file has beside. */
export function variantOf(name, dtypeAsked) {
  const entry = table[name];
  if (entry === undefined) throw new RangeError(`no model named ${name}; expected one of ${variants.join(', ')}`);
  const [usual, fields, file = {}] = entry;
  const dtype = dtypeAsked ?? usual;
  // As JSON holds it: no field without a value.
  const config = JSON.parse(JSON.stringify({ ...fields, torch_dtype: torch[dtype] }));
  return { dtype, config, file };
}
