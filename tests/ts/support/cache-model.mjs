// A KV cache as plain arrays: every token with its numbers and its position, and attention computed from scratch in
// float64.

const angle = (position, pair, { base, rotaryDim, factor = 1 }) =>
  (position * base ** ((-2 * pair) / rotaryDim)) / factor;

/** x (one head) rotated at a position; half pairing, as `rw.rope` with linear scaling by `factor`. */
export function turned(x, position, plan) {
  if (plan === undefined) return Float64Array.from(x);
  const out = Float64Array.from(x);
  const pairs = plan.rotaryDim / 2;
  for (let j = 0; j < pairs; ++j) {
    const [c, s] = [Math.cos(angle(position, j, plan)), Math.sin(angle(position, j, plan))];
    out[j] = x[j] * c - x[j + pairs] * s;
    out[j + pairs] = x[j] * s + x[j + pairs] * c;
  }
  return out;
}

/** Tokens are { k: [G][D], v: [G][Dv], position }. */
export class CacheModel {
  tokens = [];
  gone = Number.NEGATIVE_INFINITY; // where the last token that left the window would stand

  constructor({ plan, window, capacity = Number.POSITIVE_INFINITY }) {
    this.plan = plan;
    this.window = window;
    this.capacity = capacity;
  }

  get next() {
    return (this.tokens.at(-1)?.position ?? -1) + 1;
  }

  /** The tokens that a window keeps when others follow from `position`: { tokens, by: their shift, gone }. */
  staying(position) {
    if (!this.window) return { tokens: this.tokens, by: 0, gone: this.gone };
    const { size, sinkTokens: sinks = 0, positions } = this.window;
    const leaves = (token, i) => i >= sinks && token.position <= position - size;
    const left = this.tokens.filter(leaves);
    const stay = this.tokens.filter((token, i) => !leaves(token, i));
    if (left.length === 0) return { tokens: stay, by: 0, gone: this.gone };
    const by = positions === 'rebased' ? left[0].position - (stay[sinks]?.position ?? position) : 0;
    const moved = stay.map((token, i) => (i < sinks ? token : { ...token, position: token.position + by }));
    return { tokens: moved, by, gone: left.at(-1).position + by };
  }

  /** Appends tokens; gives false if there is no room. */
  add(tokens) {
    if (tokens.length === 0) return true;
    const { tokens: stay, by, gone } = this.staying(tokens[0].position);
    if (stay.length + tokens.length > this.capacity) return false;
    this.tokens = [...stay, ...tokens.map((token) => ({ ...token, position: token.position + by }))];
    this.gone = gone;
    return true;
  }

  misses(position) {
    return this.window !== undefined && this.gone > position - this.window.size;
  }

  /** Attention of queries [H][Tq][D] at positions from `first`; gives [H][Tq][Dv]. */
  attend(queries, first) {
    return queries.map((head, h) =>
      head.map((q, i) => {
        const position = first + i;
        const query = turned(q, position, this.plan);
        const seen = this.tokens.filter((token, j) => {
          const far =
            this.window && j >= (this.window.sinkTokens ?? 0) && token.position <= position - this.window.size;
          return token.position <= position && !far;
        });
        const group = (token) => Math.floor(h / (queries.length / token.k.length));
        const logits = seen.map((token) => {
          const key = turned(token.k[group(token)], token.position, this.plan);
          return query.reduce((sum, x, d) => sum + x * key[d], 0) / Math.sqrt(q.length);
        });
        const max = Math.max(...logits);
        const weights = logits.map((logit) => Math.exp(logit - max));
        const total = weights.reduce((a, b) => a + b, 0);
        const width = this.tokens[0]?.v[0].length ?? 0;
        return Array.from({ length: width }, (_, d) =>
          seen.reduce((sum, token, n) => sum + (weights[n] / total) * token.v[group(token)][d], 0),
        );
      }),
    );
  }
}
