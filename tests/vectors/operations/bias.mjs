// Biases that depend on the distance: ALiBi and T5.
import { given, operation } from './operation.mjs';

const t5Params = ['bidirectional', 'num_buckets', 'max_distance'];
const sizes = ['q_len', 'kv_len', 'q_offset'];
const qkv = ['q', 'k', 'v'];

const t5Options = (p) =>
  given({ bidirectional: p.bidirectional, numBuckets: p.num_buckets, maxDistance: p.max_distance });
const biasShape = (p) => ({ queries: p.q_len, keys: p.kv_len, queryOffset: p.q_offset ?? 0 });

export const bias = {
  alibi_slopes: operation({ params: ['n_heads'] }, (rw, { n_heads: heads }) => ({
    out: { shape: [heads], data: rw.alibiSlopes(heads) },
  })),

  alibi_bias: operation({ params: ['n_heads', ...sizes] }, (rw, params) => ({
    out: rw.alibiBias({ heads: params.n_heads, ...biasShape(params) }),
  })),

  attention_alibi: operation({ params: ['causal', 'q_offset'], inputs: qkv }, (rw, params, { q, k, v }) => {
    const { causal = true, q_offset: queryOffset = 0 } = params;
    return rw.attention(q, k, v, { causal, queryOffset, position: { encoding: 'alibi' } });
  }),

  t5_bucket: operation({ params: t5Params, inputs: ['relative_position'] }, (rw, params, inputs) => {
    const { shape, data } = inputs.relative_position;
    return { out: { shape, data: rw.t5Buckets(data, t5Options(params)) } };
  }),

  t5_bias: operation({ params: [...t5Params, ...sizes], inputs: ['table'] }, (rw, params, { table }) => ({
    out: rw.t5Bias({ table, ...t5Options(params), ...biasShape(params) }),
  })),

  attention_t5: operation(
    { params: [...t5Params, 'scale', 'causal', 'q_offset'], inputs: [...qkv, 'table'] },
    (rw, params, { q, k, v, table }) => {
      const { scale, causal = false, q_offset: queryOffset } = params;
      const position = { encoding: 't5', table, ...t5Options(params) };
      return rw.attention(q, k, v, { ...given({ scale, queryOffset }), causal, position });
    },
  ),
};
