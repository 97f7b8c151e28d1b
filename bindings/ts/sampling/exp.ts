// e^x in doubles by sums and products only: unlike Math.exp, it gives the same bits on every engine.

// ln 2 in two parts; n times the first is exact for every n that occurs.
const ln2High = 0.6931471803691238;
const ln2Low = 1.9082149292705877e-10;
const leastPower = -1021; // 2^n below is not a normal number

const halves = new Float64Array(1 - leastPower);
for (let n = 0, power = 1; n < halves.length; ++n, power /= 2) halves[n] = power;

/** e^x for x ≤ 0 within 2 units in the last place; 0 below e^-707. @internal */
export function expOfNegative(x: number): number {
  const n = Math.round(x * Math.LOG2E);
  if (!(n >= leastPower)) return 0;
  const r = x - n * ln2High - n * ln2Low; // |r| ≤ ln(2) / 2: 13 terms leave 2e-18
  let sum = 1 / 6227020800;
  sum = sum * r + 1 / 479001600;
  sum = sum * r + 1 / 39916800;
  sum = sum * r + 1 / 3628800;
  sum = sum * r + 1 / 362880;
  sum = sum * r + 1 / 40320;
  sum = sum * r + 1 / 5040;
  sum = sum * r + 1 / 720;
  sum = sum * r + 1 / 120;
  sum = sum * r + 1 / 24;
  sum = sum * r + 1 / 6;
  sum = sum * r + 0.5;
  sum = sum * r + 1;
  return (sum * r + 1) * (halves[-n] as number);
}
