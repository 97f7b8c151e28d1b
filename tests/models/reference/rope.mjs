// Rotary encodings: the frequencies of a config.json, and the rotation of rows of heads.

/** Frequency of each pair: base^(-2i / dim) per position. */
const plain = (dim, base) => Float64Array.from({ length: dim / 2 }, (_, i) => base ** ((-2 * i) / dim));

// Each kind gives { frequencies, factor }; the factor multiplies cosine and sine.
const kinds = {
  default: (w) => ({ frequencies: w, factor: 1 }),

  linear: (w, p) => ({ frequencies: w.map((each) => each / p.factor), factor: 1 }),

  // The base grows with the sequence, once it is longer than those of training.
  dynamic(_, p, { dim, base, tokens, maxPositions }) {
    const times = (p.factor * Math.max(tokens, maxPositions)) / maxPositions - (p.factor - 1);
    return { frequencies: plain(dim, base * times ** (dim / (dim - 2))), factor: 1 };
  },

  // Long waves are stretched by the factor, short ones are left, those between are mixed.
  llama3(w, p) {
    const length = p.original_max_position_embeddings;
    const frequencies = w.map((each) => {
      const wave = (2 * Math.PI) / each;
      if (wave < length / p.high_freq_factor) return each;
      if (wave > length / p.low_freq_factor) return each / p.factor;
      const part = (length / wave - p.low_freq_factor) / (p.high_freq_factor - p.low_freq_factor);
      return (1 - part) * (each / p.factor) + part * each;
    });
    return { frequencies, factor: 1 };
  },

  // The ramp runs over pairs, its ends are where a pair makes beta turns in the original length.
  yarn(w, p, { dim, base }) {
    const length = p.original_max_position_embeddings;
    const pairOf = (turns) => (dim * Math.log(length / (turns * 2 * Math.PI))) / (2 * Math.log(base));
    const low = Math.max(0, Math.floor(pairOf(p.beta_fast ?? 32)));
    const high = Math.min(dim - 1, Math.ceil(pairOf(p.beta_slow ?? 1)));
    const width = high === low ? 0.001 : high - low;
    const frequencies = w.map((each, i) => {
      const ramp = Math.min(1, Math.max(0, (i - low) / width));
      return (each / p.factor) * ramp + each * (1 - ramp);
    });
    return { frequencies, factor: p.attention_factor ?? (p.factor <= 1 ? 1 : 0.1 * Math.log(p.factor) + 1) };
  },

  // One divisor for each pair, of two sets: one up to the original length, one above it.
  longrope(w, p, { tokens, maxPositions, originalPositions }) {
    const original = p.original_max_position_embeddings ?? originalPositions;
    const divisors = tokens > original ? p.long_factor : p.short_factor;
    const ratio = p.factor ?? maxPositions / original;
    const factor = ratio <= 1 ? 1 : Math.sqrt(1 + Math.log(ratio) / Math.log(original));
    return { frequencies: w.map((each, i) => each / divisors[i]), factor: p.attention_factor ?? factor };
  },
};

/**
 * Frequencies and attention factor for heads with `dim` rotated coordinates.
 *
 * @param parameters Hugging Face's parameters, with rope_theta, and rope_type or type.
 * @param context tokens, the number of positions in use; maxPositions and originalPositions of the config.
 */
export function ropeOf(dim, parameters, context = {}) {
  const base = parameters.rope_theta;
  const kind = parameters.rope_type ?? parameters.type ?? 'default';
  return kinds[kind](plain(dim, base), parameters, { dim, base, ...context });
}

// Coordinates of pair j.
const pairs = {
  half: (j, count) => [j, j + count],
  interleaved: (j) => [2 * j, 2 * j + 1],
};

/** x [T][heads * headDim] with the first coordinates of each head rotated at its token's position. */
export function rotate(f, x, { frequencies, factor, pairing, positions, headDim }) {
  return x.map((each, t) => {
    const turned = Float64Array.from(each);
    for (let j = 0; j < frequencies.length; ++j) {
      const angle = positions[t] * frequencies[j];
      const [c, s] = [f(f(Math.cos(angle)) * f(factor)), f(f(Math.sin(angle)) * f(factor))];
      for (let head = 0; head < each.length; head += headDim) {
        const [a, b] = pairs[pairing](j, frequencies.length).map((i) => head + i);
        turned[a] = f(f(each[a] * c) - f(each[b] * s));
        turned[b] = f(f(each[a] * s) + f(each[b] * c));
      }
    }
    return turned;
  });
}
