// Names, shapes and sizes of the tensors that Hugging Face's classes save, from a config.json.
//
// Each entry is [name, shape, deviation, mean]: matrices near 1 / sqrt(inputs) keep numbers about 1; queries and keys
// are larger, so that scores spread and the weights of attention are far from equal.

const sharper = 1.6;

const matrix = (name, outputs, inputs, factor = 1) => [`${name}.weight`, [outputs, inputs], factor / Math.sqrt(inputs)];
const bias = (name, outputs) => [`${name}.bias`, [outputs], 0.3];
const dense = (name, outputs, inputs, factor) => [matrix(name, outputs, inputs, factor), bias(name, outputs)];
const scale = (name, length, mean = 1) => [name, [length], 0.3, mean];

/** LayerNorm's two, by the names of today or of old TensorFlow checkpoints. */
const layerNorm = (name, length, gamma) => [
  scale(`${name}.${gamma ? 'gamma' : 'weight'}`, length),
  [`${name}.${gamma ? 'beta' : 'bias'}`, [length], 0.3],
];

/** BERT and RoFormer. */
function encoderShapes(c, { gamma, bare, pooler, table }) {
  const base = bare ? '' : `${c.model_type}.`;
  const embedded = c.embedding_size ?? c.hidden_size;
  const [width, wide] = [c.hidden_size, c.intermediate_size];
  const headDim = width / c.num_attention_heads;
  const relative = c.position_embedding_type?.startsWith('relative');
  const absolute = c.model_type === 'bert' && !relative;
  const layer = (i) => {
    const at = `${base}encoder.layer.${i}.`;
    return [
      ...dense(`${at}attention.self.query`, width, width, sharper),
      ...dense(`${at}attention.self.key`, width, width, sharper),
      ...dense(`${at}attention.self.value`, width, width),
      ...(relative
        ? [[`${at}attention.self.distance_embedding.weight`, [2 * c.max_position_embeddings - 1, headDim], 0.8]]
        : []),
      ...dense(`${at}attention.output.dense`, width, width),
      ...layerNorm(`${at}attention.output.LayerNorm`, width, gamma),
      ...dense(`${at}intermediate.dense`, wide, width),
      ...dense(`${at}output.dense`, width, wide),
      ...layerNorm(`${at}output.LayerNorm`, width, gamma),
    ];
  };
  return [
    [`${base}embeddings.word_embeddings.weight`, [c.vocab_size, embedded], 1],
    ...(absolute ? [[`${base}embeddings.position_embeddings.weight`, [c.max_position_embeddings, embedded], 1]] : []),
    [`${base}embeddings.token_type_embeddings.weight`, [c.type_vocab_size, embedded], 0.7],
    ...layerNorm(`${base}embeddings.LayerNorm`, embedded, gamma),
    ...(embedded === width ? [] : dense(`${base}embeddings_project`, width, embedded)),
    // A table that some checkpoints keep; its numbers are those of sines and cosines, not these.
    ...(table ? [[`${base}encoder.embed_positions.weight`, [c.max_position_embeddings, headDim], 1]] : []),
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    ...(pooler ? dense(`${base}pooler.dense`, width, width) : []),
    ...(bare
      ? []
      : [
          ['cls.predictions.bias', [c.vocab_size], 0.3],
          ...dense('cls.predictions.transform.dense', embedded, width),
          ...layerNorm('cls.predictions.transform.LayerNorm', embedded, gamma),
        ]),
    // The head for pairs of sentences, which nothing reads.
    ...(gamma ? dense('cls.seq_relationship', 2, width) : []),
  ];
}

function neoxShapes(c) {
  const [width, wide] = [c.hidden_size, c.intermediate_size];
  const layer = (i) => {
    const at = `gpt_neox.layers.${i}.`;
    return [
      ...layerNorm(`${at}input_layernorm`, width),
      ...layerNorm(`${at}post_attention_layernorm`, width),
      ...dense(`${at}attention.query_key_value`, 3 * width, width, sharper),
      ...dense(`${at}attention.dense`, width, width),
      ...dense(`${at}mlp.dense_h_to_4h`, wide, width),
      ...dense(`${at}mlp.dense_4h_to_h`, width, wide),
    ];
  };
  return [
    ['gpt_neox.embed_in.weight', [c.vocab_size, width], 1],
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    ...layerNorm('gpt_neox.final_layer_norm', width),
    matrix('embed_out', c.vocab_size, width, 2),
  ];
}

/** The LLaMA family: separate or (Phi-3) joined projections, RMSNorms, a gated feed-forward part. */
function llamaShapes(c) {
  const [width, wide] = [c.hidden_size, c.intermediate_size];
  const heads = c.num_attention_heads;
  const kvHeads = c.num_key_value_heads ?? heads;
  const headDim = c.head_dim ?? width / heads;
  const isGemma = c.model_type.startsWith('gemma');
  const sandwich = /^gemma[23]/.test(c.model_type);
  const norm = (name, length) => scale(`${name}.weight`, length, isGemma ? 0 : 1);
  const some = (name, outputs, inputs, biased, factor) =>
    biased ? dense(name, outputs, inputs, factor) : [matrix(name, outputs, inputs, factor)];
  const projections = (at) => {
    if (c.model_type === 'phi3') return [matrix(`${at}qkv_proj`, (heads + 2 * kvHeads) * headDim, width, sharper)];
    const biased = c.attention_bias || c.model_type === 'qwen2';
    return [
      ...some(`${at}q_proj`, heads * headDim, width, biased, sharper),
      ...some(`${at}k_proj`, kvHeads * headDim, width, biased, sharper),
      ...some(`${at}v_proj`, kvHeads * headDim, width, biased),
    ];
  };
  const feedForward = (at) =>
    c.model_type === 'phi3'
      ? [matrix(`${at}gate_up_proj`, 2 * wide, width), matrix(`${at}down_proj`, width, wide)]
      : [
          ...some(`${at}gate_proj`, wide, width, c.mlp_bias),
          ...some(`${at}up_proj`, wide, width, c.mlp_bias),
          ...some(`${at}down_proj`, width, wide, c.mlp_bias),
        ];
  const layer = (i) => {
    const at = `model.layers.${i}.`;
    const headNorms = ['qwen3', 'gemma3_text'].includes(c.model_type);
    return [
      norm(`${at}input_layernorm`, width),
      ...projections(`${at}self_attn.`),
      ...some(`${at}self_attn.o_proj`, width, heads * headDim, c.attention_bias),
      ...(headNorms ? [norm(`${at}self_attn.q_norm`, headDim), norm(`${at}self_attn.k_norm`, headDim)] : []),
      norm(`${at}post_attention_layernorm`, width),
      ...(sandwich ? [norm(`${at}pre_feedforward_layernorm`, width)] : []),
      ...(sandwich ? [norm(`${at}post_feedforward_layernorm`, width)] : []),
      ...feedForward(`${at}mlp.`),
    ];
  };
  return [
    ['model.embed_tokens.weight', [c.vocab_size, width], isGemma ? 1 / Math.sqrt(width) : 1],
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    norm('model.norm', width),
    ...((c.tie_word_embeddings ?? true) ? [] : [matrix('lm_head', c.vocab_size, width, 2)]),
  ];
}

/** [name, shape, deviation, mean] of every tensor of a model. */
export function tensorShapes(config, file = {}) {
  if (config.text_config !== undefined) {
    const text = tensorShapes(config.text_config).map(([name, ...rest]) => [`language_model.${name}`, ...rest]);
    return [
      ['multi_modal_projector.mm_soft_emb_norm.weight', [8], 0.3],
      ...text,
      ['vision_tower.vision_model.post_layernorm.weight', [8], 0.3],
    ];
  }
  if (config.model_type === 'bert' || config.model_type === 'roformer') return encoderShapes(config, file);
  return config.model_type === 'gpt_neox' ? neoxShapes(config) : llamaShapes(config);
}
