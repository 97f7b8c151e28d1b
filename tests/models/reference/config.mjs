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
export function ropeOfConfig(c, tokens, { type, parameters = ropeParameters(c, type), fraction = 1 } = {}) {
  const [maxPositions, originalPositions] = [c.max_position_embeddings, c.original_max_position_embeddings];
  const dim = Math.floor(headDimOf(c) * fraction);
  return { ...ropeOf(dim, parameters, { tokens, maxPositions, originalPositions }), pairing: 'half' };
}
