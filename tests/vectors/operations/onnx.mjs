// ONNX operators with their own attributes and inputs.
import { given, operation } from './operation.mjs';

const rotary = {
  params: ['interleaved', 'num_heads', 'rotary_embedding_dim'],
  inputs: ['input', 'cos_cache', 'sin_cache', 'position_ids'],
};

// chunk_size is a hint for speed; it changes no result.
const recurrence = {
  params: ['q_num_heads', 'kv_num_heads', 'update_rule', 'scale', 'chunk_size'],
  inputs: ['query', 'key', 'value', 'past_state', 'decay', 'beta'],
};

export const onnx = {
  'onnx/RotaryEmbedding': operation(rotary, (rw, params, inputs) => {
    const { input, cos_cache: cos, sin_cache: sin, position_ids: ids } = inputs;
    const options = { cos, sin, positions: ids?.data, pairing: params.interleaved ? 'interleaved' : 'half' };
    if (input.shape.length === 4) return { output: rw.rotaryEmbedding(input, options) };
    // [B, T, H * D] is [B, T, H, D] with the last two axes in one.
    const [batch, tokens, width] = input.shape;
    const heads = { data: input.data, shape: [batch, tokens, params.num_heads, width / params.num_heads] };
    const { data } = rw.rotaryEmbedding(heads, { ...options, layout: 'BTHD' });
    return { output: { data, shape: input.shape } };
  }),

  'onnx/LinearAttention': operation(recurrence, (rw, params, inputs) => {
    const { query, key, value, past_state: state, decay, beta } = inputs;
    const { q_num_heads: heads, kv_num_heads: kvHeads, update_rule: updateRule, scale } = params;
    const split = (x, count) => x && { data: x.data, shape: [x.shape[0], x.shape[1], count, x.shape[2] / count] };
    const perHead = decay?.shape[2] === kvHeads;
    const options = { updateRule, scale, state, decay: perHead ? decay : split(decay, kvHeads), beta, layout: 'BTHD' };
    const q = split(query, heads);
    const result = rw.recurrentAttention(q, split(key, kvHeads), split(value, kvHeads), given(options));
    const [batch, tokens, , dim] = result.out.shape;
    const output = { data: result.out.data, shape: [batch, tokens, heads * dim] };
    return { output, present_state: result.state };
  }),
};
