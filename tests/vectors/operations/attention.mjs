// Plain attention: scale, causal offset, masks, grouped heads.
import { given, operation } from './operation.mjs';

const known = { params: ['scale', 'causal', 'causal_offset'], inputs: ['q', 'k', 'v', 'keep_mask', 'add_mask'] };

export const attention = {
  attention: operation(known, (rw, params, { q, k, v, keep_mask: mask, add_mask: bias }) => {
    const { scale, causal, causal_offset: queryOffset } = params;
    const options = given({ scale, causal, queryOffset, mask, bias });
    const { out } = rw.attention(q, k, v, options);
    const { scores } = rw.attention(q, k, v, { ...options, returnScores: 'probabilities' });
    return { out, probs: scores };
  }),
};
