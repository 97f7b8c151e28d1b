// Filters of sampling, over the numbers of a whole vocabulary: they count in buckets and sort only the bucket in which
// the border lies.

/** Maps the bits of a float32 to an unsigned integer in the same order; -0 and 0 give the same. @internal */
export function orderOf(bits: number): number {
  if (bits === 0x80000000) return bits;
  return (bits & 0x80000000 ? ~bits : bits | 0x80000000) >>> 0;
}

const buckets = 2 ** 16; // by the upper half of the order

/** The order of the k-th largest number, for the bits of all of them. @internal */
export function orderOfTopK(bits: Uint32Array, k: number): number {
  if (k >= bits.length) return 0;
  const counts = new Uint32Array(buckets);
  for (let i = 0; i < bits.length; ++i) {
    const bucket = orderOf(bits[i] as number) >>> 16;
    counts[bucket] = (counts[bucket] as number) + 1;
  }
  let bucket = buckets - 1;
  let above = 0;
  for (; above + (counts[bucket] as number) < k; --bucket) above += counts[bucket] as number;
  const within = new Uint32Array(counts[bucket] as number);
  let found = 0;
  for (let i = 0; i < bits.length; ++i) {
    const order = orderOf(bits[i] as number);
    if (order >>> 16 === bucket) within[found++] = order;
  }
  return within.sort()[found - (k - above)] as number;
}

/**
 * Keeps tokens in descending order, by id among equal ones, until their weights sum to `share` of all; at least one.
 * The weights of the others become 0, except those of the last one's equals where `keepsEquals`.
 * @internal
 */
export function keepShare(order: (id: number) => number, weights: Float64Array, share: number, keepsEquals = false) {
  const masses = new Float64Array(buckets);
  let total = 0;
  for (let id = 0; id < weights.length; ++id) {
    const weight = weights[id] as number;
    if (weight === 0) continue;
    const bucket = order(id) >>> 16;
    masses[bucket] = (masses[bucket] as number) + weight;
    total += weight;
  }
  const wanted = share * total;
  let bucket = buckets - 1;
  let sum = 0;
  while (bucket > 0 && (masses[bucket] === 0 || sum + (masses[bucket] as number) < wanted)) {
    sum += masses[bucket--] as number;
  }
  const within: { readonly id: number; readonly order: number }[] = [];
  for (let id = 0; id < weights.length; ++id) {
    if (weights[id] === 0) continue;
    const at = order(id);
    if (at >>> 16 < bucket) weights[id] = 0;
    else if (at >>> 16 === bucket) within.push({ id, order: at });
  }
  within.sort((a, b) => b.order - a.order || a.id - b.id);
  let kept = 0;
  for (; kept < within.length && (kept === 0 || sum < wanted); ++kept) sum += weights[within[kept]?.id ?? 0] as number;
  const last = within[kept - 1]?.order;
  while (keepsEquals && kept < within.length && within[kept]?.order === last) ++kept;
  for (const { id } of within.slice(kept)) weights[id] = 0;
}

/**
 * Keeps the tokens whose information, -ln p, is nearest to its mean, the entropy, until their probabilities sum to
 * `mass`, and those as near as the last (Meister et al., arXiv 2202.00666). `scaled(id)` is ln p up to a constant, which
 * cancels.
 * @internal
 */
export function keepTypical(scaled: (id: number) => number, weights: Float64Array, mass: number): void {
  let [total, mean] = [0, 0];
  for (let id = 0; id < weights.length; ++id) {
    const weight = weights[id] as number;
    if (weight === 0) continue;
    total += weight;
    mean += weight * scaled(id);
  }
  mean /= total;
  const distances = new Float32Array(weights.length);
  for (let id = 0; id < weights.length; ++id) if (weights[id] !== 0) distances[id] = Math.abs(scaled(id) - mean);
  const bits = new Uint32Array(distances.buffer);
  keepShare((id) => 0xffffffff - (bits[id] as number), weights, mass, true);
}
