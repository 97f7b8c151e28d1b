// Operators of ONNX, by their own attributes and inputs.
import { operation } from './operation.mjs';

const rotary = {
  params: ['interleaved', 'num_heads', 'rotary_embedding_dim'],
  inputs: ['input', 'cos_cache', 'sin_cache', 'position_ids'],
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
};
