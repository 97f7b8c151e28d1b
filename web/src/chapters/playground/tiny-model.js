// A small model with random weights, as Hugging Face saves one: its config.json and the bytes of its model.safetensors.
// It has learnt nothing; it is there so that everything can be tried without files.
//
// Plain JavaScript, because the page shows the function's text as part of the code that makes its picture, and what is
// shown has to be what ran. Its type is in its comment; inside, the tests that run the shown program check it.
// @ts-nocheck
import { wordVector } from '../../programs/word-vector.js';

/** @type {(kind: 'decoder' | 'encoder', seed: number) => { config: Record<string, unknown>, weights: Uint8Array }} */
export const tinyModel = (kind, seed) => {
  const [V, M, N, H, G, layers] = [96, 48, 96, 4, kind === 'decoder' ? 2 : 4, 3];
  const shared = {
    ...{ vocab_size: V, hidden_size: M, intermediate_size: N, num_hidden_layers: layers, num_attention_heads: H },
    max_position_embeddings: 64,
  };
  const linear = (name, rows, columns) => [
    [`${name}.weight`, [rows, columns]],
    [`${name}.bias`, [rows]],
  ];
  const norm = (name) => [
    [`${name}.weight`, [M], 1],
    [`${name}.bias`, [M]],
  ];
  const models = {
    decoder: {
      config: {
        ...{ architectures: ['LlamaForCausalLM'], model_type: 'llama', num_key_value_heads: G, ...shared },
        ...{ hidden_act: 'silu', rms_norm_eps: 1e-5, rope_theta: 10000, tie_word_embeddings: false },
      },
      outside: [
        ['model.embed_tokens.weight', [V, M]],
        ['model.norm.weight', [M], 1],
        ['lm_head.weight', [V, M]],
      ],
      layer: (i) => [
        [`model.layers.${i}.input_layernorm.weight`, [M], 1],
        [`model.layers.${i}.self_attn.q_proj.weight`, [M, M]],
        [`model.layers.${i}.self_attn.k_proj.weight`, [(G * M) / H, M]],
        [`model.layers.${i}.self_attn.v_proj.weight`, [(G * M) / H, M]],
        [`model.layers.${i}.self_attn.o_proj.weight`, [M, M]],
        [`model.layers.${i}.post_attention_layernorm.weight`, [M], 1],
        [`model.layers.${i}.mlp.gate_proj.weight`, [N, M]],
        [`model.layers.${i}.mlp.up_proj.weight`, [N, M]],
        [`model.layers.${i}.mlp.down_proj.weight`, [M, N]],
      ],
    },
    encoder: {
      config: {
        ...{ architectures: ['RoFormerForMaskedLM'], model_type: 'roformer', embedding_size: M, ...shared },
        ...{ type_vocab_size: 2, hidden_act: 'gelu', layer_norm_eps: 1e-12 },
      },
      outside: [
        ['roformer.embeddings.word_embeddings.weight', [V, M]],
        ['roformer.embeddings.token_type_embeddings.weight', [2, M]],
        ...norm('roformer.embeddings.LayerNorm'),
        ...linear('cls.predictions.transform.dense', M, M),
        ...norm('cls.predictions.transform.LayerNorm'),
        ['cls.predictions.bias', [V]],
      ],
      layer: (i) => [
        ...['query', 'key', 'value'].flatMap((name) =>
          linear(`roformer.encoder.layer.${i}.attention.self.${name}`, M, M),
        ),
        ...linear(`roformer.encoder.layer.${i}.attention.output.dense`, M, M),
        ...norm(`roformer.encoder.layer.${i}.attention.output.LayerNorm`),
        ...linear(`roformer.encoder.layer.${i}.intermediate.dense`, N, M),
        ...linear(`roformer.encoder.layer.${i}.output.dense`, M, N),
        ...norm(`roformer.encoder.layer.${i}.output.LayerNorm`),
      ],
    },
  };
  const { config, outside, layer } = models[kind];
  const tensors = [...outside, ...Array.from({ length: layers }, (_, i) => layer(i)).flat()];
  // A matrix gives about as much as it gets, and a norm's factors are 1.
  const numbers = (name, [rows, columns], mean = 0) => {
    const scale = columns === undefined ? 0.1 : Math.sqrt((name.includes('embed') ? 1 : 2) / columns);
    const random = wordVector(`${seed} ${name}`, rows * (columns ?? 1));
    return Float32Array.from(random, (x) => (mean === 1 ? 1 : scale * x));
  };
  const header = {};
  const parts = [];
  let at = 0;
  for (const [name, shape, mean] of tensors) {
    const data = new Uint8Array(numbers(name, shape, mean).buffer);
    header[name] = { dtype: 'F32', shape, data_offsets: [at, at + data.length] };
    parts.push(data);
    at += data.length;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const weights = new Uint8Array(8 + text.length + at);
  new DataView(weights.buffer).setBigUint64(0, BigInt(text.length), true);
  let end = 8;
  for (const part of [text, ...parts]) {
    weights.set(part, end);
    end += part.length;
  }
  return { config, weights };
};
