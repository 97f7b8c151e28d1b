// Seeded normal numbers, and the three types in which checkpoints store them.

/** Seeded integers below 2^32 (xorshift32). */
export function bits(seed) {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/** A seed from a text and a number (FNV-1a). */
export function seedOf(text, seed) {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0), 0x01000193) >>> 0;
  return hash;
}

/** Normal numbers with mean 0 and standard deviation 1 (Box-Muller). */
export function normals(length, seed) {
  const next = bits(seed);
  for (let i = 0; i < 8; ++i) next();
  return Float64Array.from({ length }, () => {
    const radius = Math.sqrt(-2 * Math.log((next() + 0.5) / 2 ** 32));
    return radius * Math.cos((2 * Math.PI * next()) / 2 ** 32);
  });
}

const word = new DataView(new ArrayBuffer(4));

// The upper half of a float32, to nearest, ties to even.
function bfloat16(value) {
  word.setFloat32(0, value);
  const all = word.getUint32(0);
  return (all + 0x7fff + ((all >>> 16) & 1)) >>> 16;
}

function fromBfloat16(half) {
  word.setUint32(0, half << 16);
  return word.getFloat32(0);
}

// To nearest, ties to even; steps of 2^-24 below 2^-14.
function float16(value) {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  const exponent = Math.max(-14, Math.floor(Math.log2(size)));
  const steps = size / 2 ** (exponent - 10);
  const below = Math.floor(steps);
  const rest = steps - below;
  const rounded = below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
  // A mantissa that rounds up to 2048 carries into the exponent by itself.
  return sign | (rounded < 1024 ? rounded : ((exponent + 14) << 10) + rounded);
}

function fromFloat16(half) {
  const exponent = (half >> 10) & 31;
  const mantissa = half & 1023;
  const size = exponent === 0 ? mantissa * 2 ** -24 : (1024 + mantissa) * 2 ** (exponent - 25);
  return half & 0x8000 ? -size : size;
}

const stored = {
  F32: { array: Float32Array, encode: Math.fround, decode: (x) => x },
  F16: { array: Uint16Array, encode: float16, decode: fromFloat16 },
  BF16: { array: Uint16Array, encode: bfloat16, decode: fromBfloat16 },
};

/** Finite numbers in the range of the type, as the typed array whose bytes are stored in a file. */
export const encode = (dtype, values) => stored[dtype].array.from(values, stored[dtype].encode);

/** The numbers of a stored array, as doubles. */
export const decode = (dtype, data) => Float64Array.from(data, stored[dtype].decode);
