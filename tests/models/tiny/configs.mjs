// A config.json of a tiny encoder or decoder with the fields of Hugging Face's files, including those that must have no
// effect.

export const training = {
  attention_dropout: 0,
  initializer_range: 0.02,
  transformers_version: '4.46.3',
  use_cache: true,
};

// Sizes that are no multiples of the width of a vector, where the architecture lets them.
export const sizes = { vocab_size: 97, hidden_size: 36, intermediate_size: 52, num_hidden_layers: 2 };

export function encoder(modelType, architecture, fields) {
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

export function decoder(modelType, architecture, fields) {
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
