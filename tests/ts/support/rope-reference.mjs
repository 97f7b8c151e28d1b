// Naive rotary and sinusoidal encodings in float64 on exact angles.
import { angle, geometric } from './fixed.mjs';

/** Exact frequencies base^(-2i / dim), in the fixed point of fixed.mjs. */
export const frequencies = (dim, base = 10000) => geometric(base, dim, dim / 2);

/** cos and sin of every pair at every position, [positions, pairs], as doubles. */
export function tables(frequencies, positions) {
  const angles = positions.flatMap((p) => frequencies.map((w) => angle(p, w)));
  return { cos: Float64Array.from(angles, Math.cos), sin: Float64Array.from(angles, Math.sin) };
}

/** The two coordinates of pair j. */
const pairsOf = {
  half: (j, pairs) => [j, j + pairs],
  interleaved: (j) => [2 * j, 2 * j + 1],
};

/**
 * x [B, H, T, D] rotated at positions [B][T]; with `back`, rotated back and divided by the factor. Gives
 * { data, bound }: the float64 result and a bound on the error of float32.
 */
export function rotate({ data, shape }, { frequencies, positions, pairing = 'half', factor = 1, back = false }) {
  const [batch, heads, tokens, dim] = shape;
  const pairs = frequencies.length;
  const result = Float64Array.from(data);
  const bound = new Float64Array(data.length);
  for (let b = 0; b < batch; ++b) {
    const { cos, sin } = tables(frequencies, positions[b]);
    for (let h = 0; h < heads; ++h) {
      for (let t = 0; t < tokens; ++t) {
        const row = ((b * heads + h) * tokens + t) * dim;
        for (let j = 0; j < pairs; ++j) {
          const [first, second] = pairsOf[pairing](j, pairs).map((i) => row + i);
          const scale = back ? 1 / factor : factor;
          const c = cos[t * pairs + j] * scale;
          const s = sin[t * pairs + j] * scale * (back ? -1 : 1);
          const [x, y] = [data[first], data[second]];
          result[first] = x * c - y * s;
          result[second] = x * s + y * c;
          // cos and sin rounded, two products and a sum: 3.5 roundings of at most scale (|x| + |y|).
          bound[first] = 4 * 2 ** -24 * scale * (Math.abs(x) + Math.abs(y));
          bound[second] = bound[first];
        }
      }
    }
  }
  return { data: result, bound };
}
