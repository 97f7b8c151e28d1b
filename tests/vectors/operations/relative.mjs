// Relative tables: Shaw, and BERT's three forms.
import { given, operation } from './operation.mjs';

// Output and probabilities of one attention call.
function attend(rw, { q, k, v }, options) {
  const { out, scores } = rw.attention(q, k, v, { ...options, returnScores: 'probabilities' });
  return { out, probs: scores };
}

export const relative = {
  shaw_attention: operation(
    { params: ['max_rel', 'q_offset', 'causal'], inputs: ['q', 'k', 'v', 'rel_k', 'rel_v'] },
    (rw, params, { rel_k: keys, rel_v: values, ...qkv }) => {
      const { q_offset: queryOffset = 0, causal = false } = params;
      return attend(rw, qkv, {
        causal,
        queryOffset,
        position: given({ encoding: 'shaw', keys, values }),
      });
    },
  ),

  bert_relative_attention: operation(
    { params: ['kind', 'max_positions', 'q_offset'], inputs: ['q', 'k', 'v', 'table', 'keep_mask'] },
    (rw, params, { table, keep_mask: mask, ...qkv }) => {
      const { kind: encoding, q_offset: queryOffset = 0 } = params;
      return attend(rw, qkv, given({ mask, queryOffset, position: { encoding, table } }));
    },
  ),

  huang_m3_attention: operation(
    { params: ['max_positions', 'q_offset'], inputs: ['q', 'k', 'v', 'table'] },
    (rw, params, { q, k, v, table }) => {
      const { q_offset: queryOffset = 0 } = params;
      return rw.attention(q, k, v, { queryOffset, position: { encoding: 'm3', table }, returnScores: 'raw' });
    },
  ),
};
