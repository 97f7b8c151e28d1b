// Naive ALiBi slopes, T5 buckets and clipped distances.

/** Press et al.: a power of two P of heads gets 2^(-8h / P); the heads beyond it every second slope of 2P. */
export function slopes(heads) {
  const power = 2 ** Math.floor(Math.log2(heads));
  const all = (n) => Array.from({ length: n }, (_, h) => 2 ** ((-8 * (h + 1)) / n));
  const odd = all(2 * power).filter((_, h) => h % 2 === 0);
  return [...all(power), ...odd].slice(0, heads);
}

/** Raffel et al.: the bucket of key minus query; compares logarithms exactly, as powers of integers. */
export function bucket(relative, { bidirectional = true, numBuckets = 32, maxDistance = 128 } = {}) {
  const half = bidirectional ? numBuckets / 2 : numBuckets;
  const first = bidirectional && relative > 0 ? half : 0;
  const n = bidirectional ? Math.abs(relative) : Math.max(-relative, 0);
  const exact = Math.floor(half / 2);
  if (n < exact) return first + n;
  const far = half - exact;
  // ln(n / exact) / ln(max / exact) * far >= step
  const reaches = (step) =>
    BigInt(n) ** BigInt(far) * BigInt(exact) ** BigInt(step) >=
    BigInt(maxDistance) ** BigInt(step) * BigInt(exact) ** BigInt(far);
  let step = 0;
  while (step < far - 1 && reaches(step + 1)) ++step;
  return first + exact + step;
}

/** The row for a distance in a table [2 limit + 1, D]. */
export const clip = (distance, limit) => Math.min(Math.max(distance, -limit), limit) + limit;

/** f(h, i, j) for every head, query and key, in the order [H, Tq, Tk]. */
export const grid = (heads, queries, keys, f) =>
  Array.from({ length: heads * queries * keys }, (_, n) =>
    f(Math.floor(n / (queries * keys)), Math.floor(n / keys) % queries, n % keys),
  );
