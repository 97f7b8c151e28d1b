// Memory of an instance: what is in use, and how much a call of attention takes for itself.

/** What `rw.memory()` tells of now. The peak tells of the past. */
export function inUse(rw) {
  const { peak, ...now } = rw.memory();
  return now;
}

/** Bytes in use at once beside q, k, v and the result, each [1, heads, tokens, dim]. */
export function extraBytes(rw, tokens, heads, dim, options = {}) {
  const shape = [1, heads, tokens, dim];
  const inputs = ['q', 'k', 'v'].map(() => rw.tensor(shape));
  rw.resetPeak();
  const { out } = rw.attention(...inputs, { causal: true, ...options });
  const extra = rw.memory().peak - rw.memory().usedBytes;
  for (const tensor of [...inputs, out]) tensor.dispose();
  return extra;
}
