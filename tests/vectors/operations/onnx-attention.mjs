// ONNX's Attention (opset 23 to 25): packed heads, past keys and values, masks of any rank, scores of any stage.
import { given, operation } from './operation.mjs';

const known = {
  params: [
    'q_num_heads',
    'kv_num_heads',
    'scale',
    'is_causal',
    'softcap',
    'qk_matmul_output_mode',
    'softmax_precision',
  ],
  inputs: ['Q', 'K', 'V', 'attn_mask', 'past_key', 'past_value', 'nonpad_kv_seqlen'],
};

const stages = ['raw', 'capped', 'biased', 'probabilities'];

// [B, T, heads * D] or [B, heads, T, D] as the latter.
function heads(x, count) {
  if (x.shape.length === 4) return x;
  const [batch, tokens, width] = x.shape;
  const dim = width / count;
  const data = new Float32Array(x.data.length);
  for (let b = 0; b < batch; ++b) {
    for (let t = 0; t < tokens; ++t) {
      for (let h = 0; h < count; ++h) {
        const from = ((b * tokens + t) * count + h) * dim;
        data.set(x.data.subarray(from, from + dim), ((b * count + h) * tokens + t) * dim);
      }
    }
  }
  return { data, shape: [batch, count, tokens, dim] };
}

// past [B, G, P, D] and x [B, G, T, D] along the tokens.
function join(past, x) {
  if (past === undefined) return x;
  const [batch, count, tokens, dim] = x.shape;
  const before = past.shape[2];
  const data = new Float32Array(past.data.length + x.data.length);
  for (let row = 0; row < batch * count; ++row) {
    const start = row * (before + tokens) * dim;
    data.set(past.data.subarray(row * before * dim, (row + 1) * before * dim), start);
    data.set(x.data.subarray(row * tokens * dim, (row + 1) * tokens * dim), start + before * dim);
  }
  return { data, shape: [batch, count, before + tokens, dim] };
}

// A mask that is shorter than the keys hides those that it leaves out.
function padded({ data, shape }, keys) {
  const have = shape.at(-1);
  if (have === keys || have === 1) return { data, shape };
  const hidden = data instanceof Uint8Array ? 0 : Number.NEGATIVE_INFINITY;
  const rows = data.length / have;
  const wide = new data.constructor(rows * keys).fill(hidden);
  for (let row = 0; row < rows; ++row) wide.set(data.subarray(row * have, (row + 1) * have), row * keys);
  return { data: wide, shape: [...shape.slice(0, -1), keys] };
}

export const onnxAttention = {
  'onnx/Attention': operation(known, (rw, params, inputs) => {
    const { Q, K, V, attn_mask: mask, past_key: pastKey, past_value: pastValue, nonpad_kv_seqlen: lengths } = inputs;
    const [q, k, v] = [heads(Q, params.q_num_heads), heads(K, params.kv_num_heads), heads(V, params.kv_num_heads)];
    const [keys, values] = [join(pastKey, k), join(pastValue, v)];
    const queries = q.shape[2];
    const wide = mask && padded(mask, keys.shape[2]);
    const options = given({
      scale: params.scale,
      softcap: params.softcap || undefined, // 0 is none
      causal: params.is_causal === 1,
      queryOffset: lengths ? lengths.data.map((n) => n - queries) : (pastKey?.shape[2] ?? 0),
      keyLengths: lengths?.data,
      [wide?.data instanceof Uint8Array ? 'mask' : 'bias']: wide,
    });
    const stage = stages[params.qk_matmul_output_mode ?? 0];
    const { out, scores } = rw.attention(q, keys, values, { ...options, returnScores: stage });
    const packed = Q.shape.length === 3;
    const Y = packed ? rw.attention(Q, pack(keys), pack(values), packedOptions(params, options)).out : out;
    return { Y, present_key: keys, present_value: values, qk_matmul_output: scores };
  }),
};

// [B, heads, T, D] -> [B, T, heads * D]
function pack({ data, shape: [batch, count, tokens, dim] }) {
  const packed = new Float32Array(data.length);
  for (let b = 0; b < batch; ++b) {
    for (let h = 0; h < count; ++h) {
      for (let t = 0; t < tokens; ++t) {
        const from = ((b * count + h) * tokens + t) * dim;
        packed.set(data.subarray(from, from + dim), ((b * tokens + t) * count + h) * dim);
      }
    }
  }
  return { data: packed, shape: [batch, tokens, count * dim] };
}

const packedOptions = (params, options) => ({ ...options, heads: params.q_num_heads, kvHeads: params.kv_num_heads });
