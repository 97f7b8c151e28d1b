// Real numbers as BigInt with 256 fractional bits, which leave 200 for an angle of 2^53 turns.

const bits = 256n;
const one = 1n << bits;

const mul = (a, b) => (a * b) >> bits;
const div = (a, b) => (a << bits) / b;

// atanh(x) or, with alternating signs, atan(x); for small x.
function arc(x, sign) {
  const square = mul(x, x);
  let power = x;
  let sum = x;
  for (let n = 3n; power !== 0n; n += 2n) {
    power = sign * mul(power, square);
    sum += power / n;
  }
  return sum;
}

const ln2 = 2n * arc(one / 3n, 1n);

/** Pi, by Machin's formula. */
export const pi = 4n * (4n * arc(one / 5n, -1n) - arc(one / 239n, -1n));

/** The exact value of a double. */
export function fixed(value) {
  let scaled = value;
  let shift = 0;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    ++shift;
  }
  return (BigInt(scaled) << bits) >> BigInt(shift);
}

/** The value as a double, within about one unit in the last place. */
export function toNumber(x) {
  const excess = BigInt(Math.max(0, (x < 0n ? -x : x).toString(2).length - 64));
  return Number(x >> excess) * 2 ** (Number(excess) - Number(bits));
}

export function ln(x) {
  let mantissa = x;
  let exponent = 0n;
  while (mantissa >= 2n * one) {
    mantissa >>= 1n;
    ++exponent;
  }
  while (mantissa < one) {
    mantissa <<= 1n;
    --exponent;
  }
  return exponent * ln2 + 2n * arc(div(mantissa - one, mantissa + one), 1n);
}

export function exp(x) {
  let turns = x / ln2;
  if (x < 0n) --turns;
  const rest = (x - turns * ln2) >> 16n;
  let term = one;
  let sum = one;
  for (let n = 1n; term !== 0n; ++n) {
    term = mul(term, rest) / n;
    sum += term;
  }
  for (let i = 0; i < 16; ++i) sum = mul(sum, sum);
  return turns < 0n ? sum >> -turns : sum << turns;
}

/** base^(-2i / divisor) for i < count. */
export function geometric(base, divisor, count) {
  const step = (-2n * ln(fixed(base))) / BigInt(divisor);
  return Array.from({ length: count }, (_, i) => exp(BigInt(i) * step));
}

/** position * frequency without whole turns, as a double. */
export function angle(position, frequency) {
  const radians = BigInt(position) * frequency;
  const rest = radians % (2n * pi);
  return toNumber(rest);
}
