// A model of the exact shape of SmolLM2-135M with random weights: 135 million in bfloat16, 270 MB.
import { tensors } from '../families/llama.mjs';
import { piecesOf } from './files.mjs';
import { bits, encode, normals, seedOf } from './numbers.mjs';

/** Its config.json. */
export const smollm2Config = {
  architectures: ['LlamaForCausalLM'],
  attention_bias: false,
  attention_dropout: 0,
  bos_token_id: 0,
  eos_token_id: 0,
  hidden_act: 'silu',
  hidden_size: 576,
  initializer_range: 0.041666666666666664,
  intermediate_size: 1536,
  max_position_embeddings: 8192,
  mlp_bias: false,
  model_type: 'llama',
  num_attention_heads: 9,
  num_hidden_layers: 30,
  num_key_value_heads: 3,
  pretraining_tp: 1,
  rms_norm_eps: 1e-5,
  rope_interleaved: false,
  rope_scaling: null,
  rope_theta: 100000,
  tie_word_embeddings: true,
  torch_dtype: 'bfloat16',
  transformers_version: '4.40.1',
  use_cache: true,
  vocab_size: 49152,
};

/** model.safetensors in pieces, each valid until the next. */
export function smollm2Pieces(seed = 1) {
  const base = normals(1 << 16, seed);
  let next;
  let table;
  return piecesOf(tensors(smollm2Config), (piece, { name, deviation, mean, at }) => {
    if (at === 0) {
      // Drawn from 65536 normal numbers, two for each random word: fast, and of the same shape.
      next = bits(seedOf(name, seed));
      table = encode(
        'BF16',
        base.map((x) => mean + deviation * x),
      );
    }
    for (let i = 0; i < piece.length; i += 2) {
      const word = next();
      piece[i] = table[word & 0xffff];
      if (i + 1 < piece.length) piece[i + 1] = table[word >>> 16];
    }
  });
}
