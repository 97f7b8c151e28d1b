// Tiny models of encoder and decoder as GGUF files, as llama.cpp's convert_hf_to_gguf.py names the tensors of T5, and what it
// says of the model.
import { writeGguf } from '../../ts/support/gguf.mjs';
import { decode } from './numbers.mjs';

const ggufNames = [
  [/^shared\./, 'token_embd.'],
  [/^lm_head\./, 'output.'],
  [/^(enc|dec)oder\.final_layer_norm/, '$1.output_norm'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.0\.layer_norm/, '$1.blk.$2.attn_norm'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.0\.SelfAttention\.([qkvo])\./, '$1.blk.$2.attn_$3.'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.0\.SelfAttention\.relative_attention_bias/, '$1.blk.$2.attn_rel_b'],
  [/^(dec)oder\.block\.(\d+)\.layer\.1\.layer_norm/, '$1.blk.$2.cross_attn_norm'],
  [/^(dec)oder\.block\.(\d+)\.layer\.1\.EncDecAttention\.([qkvo])\./, '$1.blk.$2.cross_attn_$3.'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.[12]\.layer_norm/, '$1.blk.$2.ffn_norm'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.[12]\.DenseReluDense\.wi_0/, '$1.blk.$2.ffn_gate'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.[12]\.DenseReluDense\.wi(_1)?/, '$1.blk.$2.ffn_up'],
  [/^(enc|dec)oder\.block\.(\d+)\.layer\.[12]\.DenseReluDense\.wo/, '$1.blk.$2.ffn_down'],
];

/** The GGUF file of a tiny T5: `at` is t5, or t5encoder for the encoder alone. */
export function ggufOfT5({ config: c, tensors }, at, change = {}) {
  const own = Object.entries(tensors).map(([name, tensor]) => {
    const [from, to] = ggufNames.find(([pattern]) => pattern.test(name));
    const vector = () => Float32Array.from(decode(tensor.dtype, tensor.data));
    return [name.replace(from, to), tensor.shape.length === 1 ? { ...tensor, dtype: 'F32', data: vector() } : tensor];
  });
  const metadata = {
    'general.architecture': ['str', at],
    [`${at}.context_length`]: ['u32', c.n_positions],
    [`${at}.embedding_length`]: ['u32', c.d_model],
    [`${at}.feed_forward_length`]: ['u32', c.d_ff],
    [`${at}.block_count`]: ['u32', c.num_layers],
    [`${at}.attention.head_count`]: ['u32', c.num_heads],
    [`${at}.attention.key_length`]: ['u32', c.d_kv],
    [`${at}.attention.value_length`]: ['u32', c.d_kv],
    [`${at}.attention.layer_norm_epsilon`]: ['f32', c.layer_norm_epsilon],
    [`${at}.attention.layer_norm_rms_epsilon`]: ['f32', c.layer_norm_epsilon],
    [`${at}.attention.relative_buckets_count`]: ['u32', c.relative_attention_num_buckets],
    [`${at}.decoder_start_token_id`]: ['u32', c.decoder_start_token_id],
    ...(c.num_decoder_layers && { [`${at}.decoder_block_count`]: ['u32', c.num_decoder_layers] }),
    ...change,
  };
  return writeGguf(metadata, Object.fromEntries(own));
}
