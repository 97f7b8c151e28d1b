// Readers for config.json fields that most decoders share.
import { ropeOf } from './rope.mjs';

export const headDimOf = (c) => c.head_dim ?? c.hidden_size / c.num_attention_heads;
export const kvHeadsOf = (c) => c.num_key_value_heads ?? c.num_attention_heads;

// Both spellings: rope_parameters of all layers or of each type, or rope_theta beside rope_scaling.
function ropeParameters(c, type) {
  const now = c.rope_parameters;
  if (now !== undefined) return now[type] ?? now;
  return { rope_theta: c.rope_theta, ...c.rope_scaling };
}

/** Rotary encoding of a layer; rotates the first `fraction` of each head's coordinates. */
export function ropeOfConfig(
  c,
  tokens,
  { type, parameters = ropeParameters(c, type), fraction = 1, pairing = 'half' } = {},
) {
  const [maxPositions, originalPositions] = [c.max_position_embeddings, c.original_max_position_embeddings];
  const dim = Math.floor(headDimOf(c) * fraction);
  return { ...ropeOf(dim, parameters, { tokens, maxPositions, originalPositions }), pairing };
}

/** ALiBi's slope of each head by its paper's code; for other numbers than powers of 2, and m in place of 8, as MPT has it. */
export function slopesOf(heads, most = 8) {
  const power = 2 ** Math.ceil(Math.log2(heads));
  const all = Array.from({ length: power }, (_, h) => 2 ** ((-most * (h + 1)) / power));
  if (power === heads) return all;
  return [...all.filter((_, h) => h % 2 === 1), ...all.filter((_, h) => h % 2 === 0)].slice(0, heads);
}

/** -slope |i - j|. */
export const alibi = (slopes) => (h, i, j) => -slopes[h] * Math.abs(i - j);
