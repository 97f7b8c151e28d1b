// Round numbers for an axis.

/** Multiples of 1, 2 or 5 times a power of ten, three to seven of them, that reach from below `min` to above `max`. */
export function evenTicks(min: number, max: number): number[] {
  const span = max - min || 1;
  const power = 10 ** Math.floor(Math.log10(span / 3));
  const step = [1, 2, 5, 10].map((times) => times * power).find((step) => span / step <= 5) ?? 10 * power;
  const [first, last] = [Math.floor(min / step + 1e-9), Math.ceil(max / step - 1e-9)];
  // As a quotient where the step is a fraction: 3 * 0.1 would print as 0.30000000000000004.
  return Array.from({ length: Math.max(last - first, 1) + 1 }, (_, i) =>
    step < 1 ? (first + i) / Math.round(1 / step) : (first + i) * step,
  );
}
