// Tiny models with random weights in Hugging Face's format: { config, tensors }, where tensors is
// { name: { dtype, shape, data } }.
import { random } from './arrays.mjs';
import { writeSafetensors } from './safetensors.mjs';

const upperHalf = (values) => new Uint16Array(new Uint32Array(values.buffer).map((bits) => bits >>> 16));

/** Random numbers of a shape: a matrix that maps inputs of about 1 to outputs of about 1, or a vector near `mean`. */
function numbers(dtype, shape, seed, mean = 0) {
  const [rows, columns] = shape;
  const size = columns === undefined ? rows : rows * columns;
  const deviation = columns === undefined ? 1 / 4 : Math.sqrt(3 / columns);
  const values = random(size, seed).map((x) => mean + deviation * x);
  return { dtype, shape, data: dtype === 'F32' ? values : upperHalf(values) };
}

function tensorsOf(shapes, dtype) {
  return Object.fromEntries(shapes.map(([name, shape, mean], i) => [name, numbers(dtype, shape, 700 + i, mean)]));
}

const llamaConfig = {
  ...{ architectures: ['LlamaForCausalLM'], model_type: 'llama', hidden_act: 'silu', rms_norm_eps: 1e-5 },
  ...{ vocab_size: 41, hidden_size: 24, intermediate_size: 36, num_hidden_layers: 2, num_attention_heads: 4 },
  ...{ num_key_value_heads: 2, max_position_embeddings: 64, rope_theta: 10000, tie_word_embeddings: false },
};

function llamaLayer(i, config) {
  const { hidden_size: m, intermediate_size: n, num_attention_heads: h, num_key_value_heads: g } = config;
  const d = config.head_dim ?? m / h;
  const at = `model.layers.${i}.`;
  const biased = config.attention_bias ?? config.model_type === 'qwen2';
  return [
    [`${at}input_layernorm.weight`, [m], 1],
    ...[
      ['q', h * d],
      ['k', g * d],
      ['v', g * d],
    ].flatMap(([name, rows]) => [
      [`${at}self_attn.${name}_proj.weight`, [rows, m]],
      ...(biased ? [[`${at}self_attn.${name}_proj.bias`, [rows]]] : []),
    ]),
    [`${at}self_attn.o_proj.weight`, [m, h * d]],
    ...(config.model_type === 'qwen3' ? ['q', 'k'].map((x) => [`${at}self_attn.${x}_norm.weight`, [d], 1]) : []),
    [`${at}post_attention_layernorm.weight`, [m], 1],
    ...(config.model_type === 'gemma2'
      ? ['pre', 'post'].map((x) => [`${at}${x}_feedforward_layernorm.weight`, [m], 0])
      : []),
    [`${at}mlp.gate_proj.weight`, [n, m]],
    [`${at}mlp.up_proj.weight`, [n, m]],
    [`${at}mlp.down_proj.weight`, [m, n]],
  ];
}

/** A model of the LLaMA family; `fields` replace those of its config. */
export function tinyLlama(fields = {}, dtype = 'F32') {
  const config = { ...llamaConfig, ...fields };
  const { vocab_size: v, hidden_size: m } = config;
  const shapes = [
    ['model.embed_tokens.weight', [v, m]],
    ...Array.from({ length: config.num_hidden_layers }, (_, i) => llamaLayer(i, config)).flat(),
    ['model.norm.weight', [m], 1],
    ...(config.tie_word_embeddings ? [] : [['lm_head.weight', [v, m]]]),
  ];
  return { config, tensors: tensorsOf(shapes, dtype) };
}

/** Gemma 2: every second layer has a window of 5. */
export const tinyGemma2 = (fields = {}, dtype = 'F32') =>
  tinyLlama(
    {
      ...{ architectures: ['Gemma2ForCausalLM'], model_type: 'gemma2', tie_word_embeddings: true, head_dim: 6 },
      ...{ hidden_act: undefined, hidden_activation: 'gelu_pytorch_tanh', sliding_window: 5 },
      ...{ query_pre_attn_scalar: 6, num_hidden_layers: 3, ...fields },
    },
    dtype,
  );

/** Qwen 2: the first layer has full attention, the others a window of 5. */
export const tinyQwen2 = (fields = {}, dtype = 'F32') =>
  tinyLlama(
    {
      ...{ architectures: ['Qwen2ForCausalLM'], model_type: 'qwen2', tie_word_embeddings: true },
      ...{ use_sliding_window: true, sliding_window: 5, max_window_layers: 1, num_hidden_layers: 3, ...fields },
    },
    dtype,
  );

const encoderConfig = {
  ...{ vocab_size: 37, hidden_size: 24, intermediate_size: 40, num_hidden_layers: 2, num_attention_heads: 4 },
  ...{ max_position_embeddings: 16, type_vocab_size: 2, hidden_act: 'gelu', layer_norm_eps: 1e-12 },
};

const linear = (name, rows, columns) => [
  [`${name}.weight`, [rows, columns]],
  [`${name}.bias`, [rows]],
];
const norm = (name, n) => [
  [`${name}.weight`, [n], 1],
  [`${name}.bias`, [n]],
];

function encoderLayer(prefix, i, config) {
  const { hidden_size: m, intermediate_size: n, num_attention_heads: h, max_position_embeddings: p } = config;
  const at = `${prefix}encoder.layer.${i}.`;
  const relative = config.position_embedding_type?.startsWith('relative');
  return [
    ...['query', 'key', 'value'].flatMap((name) => linear(`${at}attention.self.${name}`, m, m)),
    ...(relative ? [[`${at}attention.self.distance_embedding.weight`, [2 * p - 1, m / h]]] : []),
    ...linear(`${at}attention.output.dense`, m, m),
    ...norm(`${at}attention.output.LayerNorm`, m),
    ...linear(`${at}intermediate.dense`, n, m),
    ...linear(`${at}output.dense`, m, n),
    ...norm(`${at}output.LayerNorm`, m),
  ];
}

function encoder(prefix, config, dtype) {
  const { vocab_size: v, hidden_size: m, max_position_embeddings: p, embedding_size: e = m } = config;
  const at = `${prefix}embeddings.`;
  const shapes = [
    [`${at}word_embeddings.weight`, [v, e]],
    ...(prefix === 'bert.' ? [[`${at}position_embeddings.weight`, [p, e]]] : []),
    [`${at}token_type_embeddings.weight`, [2, e]],
    ...norm(`${at}LayerNorm`, e),
    ...(e === m ? [] : linear(`${prefix}embeddings_project`, m, e)),
    ...Array.from({ length: config.num_hidden_layers }, (_, i) => encoderLayer(prefix, i, config)).flat(),
    ...(prefix === 'bert.' ? linear(`${prefix}pooler.dense`, m, m) : []),
    ...linear('cls.predictions.transform.dense', e, m),
    ...norm('cls.predictions.transform.LayerNorm', e),
    ['cls.predictions.bias', [v]],
  ];
  return { config, tensors: tensorsOf(shapes, dtype) };
}

export const tinyBert = (fields = {}, dtype = 'F32') =>
  encoder('bert.', { architectures: ['BertForMaskedLM'], model_type: 'bert', ...encoderConfig, ...fields }, dtype);

/** RoFormer with token vectors of another width than the model's. */
export const tinyRoformer = (fields = {}, dtype = 'F32') => {
  const own = { architectures: ['RoFormerForMaskedLM'], model_type: 'roformer', embedding_size: 16 };
  return encoder('roformer.', { ...own, ...encoderConfig, ...fields }, dtype);
};

/** The bytes of a model's model.safetensors. */
export const fileOfModel = ({ tensors }) => writeSafetensors(tensors, { format: 'pt' });
