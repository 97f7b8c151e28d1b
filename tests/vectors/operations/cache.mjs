// Attention with tokens in pieces, through the KV cache.
import { operation } from './operation.mjs';

const known = { params: ['chunks'], inputs: ['q', 'k', 'v'] };

/** Tokens [first, first + count) of [B, H, T, D]. */
function tokensOf({ data, shape: [batch, heads, tokens, dim] }, first, count) {
  const rows = Array.from({ length: batch * heads }, (_, head) => {
    const at = (head * tokens + first) * dim;
    return [...data.subarray(at, at + count * dim)];
  });
  return { data: Float32Array.from(rows.flat()), shape: [batch, heads, count, dim] };
}

/** Concatenates pieces [B, H, t, D] along the tokens. */
function joined(pieces) {
  const [batch, heads, , dim] = pieces[0].shape;
  const tokens = pieces.reduce((sum, { shape }) => sum + shape[2], 0);
  const rows = Array.from({ length: batch * heads }, (_, head) =>
    pieces.flatMap(({ data, shape }) => [...data.subarray(head * shape[2] * dim, (head + 1) * shape[2] * dim)]),
  );
  return { data: Float32Array.from(rows.flat()), shape: [batch, heads, tokens, dim] };
}

export const cache = {
  attention_kv_cache: operation(known, (rw, { chunks }, { q, k, v }) => {
    const [batch, kvHeads, , headDim] = k.shape;
    const kept = rw.kvCache({ batch, kvHeads, headDim, valueDim: v.shape[3] });
    try {
      const pieces = chunks.map((count) => {
        const [queries, keys, values] = [q, k, v].map((x) => tokensOf(x, kept.length, count));
        return kept.append(keys, values).attend(queries).out;
      });
      return { out: joined(pieces) };
    } finally {
      kept.dispose();
    }
  }),
};
