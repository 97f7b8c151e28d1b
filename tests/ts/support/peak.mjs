// Memory of an instance: the amount in use, and the additional memory of a call of attention.

/** `rw.memory()` without the peak, which depends on earlier calls. */
export function inUse(rw) {
  const { peak, ...now } = rw.memory();
  return now;
}

/** Peak bytes in use besides q, k, v and the result, each [1, heads, tokens, dim]. */
export function extraBytes(rw, tokens, heads, dim, options = {}) {
  const shape = [1, heads, tokens, dim];
  const inputs = ['q', 'k', 'v'].map(() => rw.tensor(shape));
  rw.resetPeak();
  const { out } = rw.attention(...inputs, { causal: true, ...options });
  const extra = rw.memory().peak - rw.memory().usedBytes;
  for (const tensor of [...inputs, out]) tensor.dispose();
  return extra;
}
