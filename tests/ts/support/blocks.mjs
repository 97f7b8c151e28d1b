// Blocks of GGUF files, decoded by their definitions in float64.
import { encode } from '../../models/tiny/numbers.mjs';

/** Weights and bytes of a block. */
export const blockSizes = {
  ...{ q4_0: [32, 18], q4_1: [32, 20], q5_0: [32, 22], q5_1: [32, 24], q8_0: [32, 34] },
  ...{ q4_k: [256, 144], q5_k: [256, 176], q6_k: [256, 210] },
};

/** The number whose float16 bits are at a byte. */
export function halfAt(bytes, at) {
  const bits = bytes[at] | (bytes[at + 1] << 8);
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? Number.POSITIVE_INFINITY * (bits >> 15 ? -1 : 1) : Number.NaN;
  const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return bits >> 15 ? -size : size;
}

const range = (n, value) => Array.from({ length: n }, (_, i) => value(i));
const signed = (byte) => (byte << 24) >> 24;
const nibble = (byte, upper) => (upper ? byte >> 4 : byte & 15);
const bit = (bytes, at, i) => (bytes[at + (i >> 3)] >> (i & 7)) & 1;

function superBlock(b, nibbles, fifth) {
  return range(256, (l) => {
    const s = l >> 5;
    const [low, mid, high] = [b[4 + s], b[4 + s + 4], b[s]];
    const scale = s < 4 ? low & 63 : (mid & 15) | ((high >> 6) << 4);
    const min = s < 4 ? mid & 63 : (mid >> 4) | ((low >> 6) << 4);
    const code = nibble(b[nibbles + (s >> 1) * 32 + (l & 31)], s & 1);
    const more = fifth === undefined ? 0 : ((b[fifth + (l & 31)] >> s) & 1) << 4;
    return halfAt(b, 0) * scale * (code + more) - halfAt(b, 2) * min;
  });
}

const decoders = {
  q4_0: (b) => range(32, (i) => halfAt(b, 0) * (nibble(b[2 + (i % 16)], i > 15) - 8)),
  q4_1: (b) => range(32, (i) => halfAt(b, 0) * nibble(b[4 + (i % 16)], i > 15) + halfAt(b, 2)),
  q5_0: (b) => range(32, (i) => halfAt(b, 0) * (nibble(b[6 + (i % 16)], i > 15) + 16 * bit(b, 2, i) - 16)),
  q5_1: (b) => range(32, (i) => halfAt(b, 0) * (nibble(b[8 + (i % 16)], i > 15) + 16 * bit(b, 4, i)) + halfAt(b, 2)),
  q8_0: (b) => range(32, (i) => halfAt(b, 0) * signed(b[2 + i])),
  q4_k: (b) => superBlock(b, 16),
  q5_k: (b) => superBlock(b, 48, 16),
  q6_k: (b) =>
    range(256, (l) => {
      const [half, run, i] = [l >> 7, (l >> 5) & 3, l & 31];
      const low = nibble(b[half * 64 + (run & 1) * 32 + i], run > 1);
      const high = (b[128 + half * 32 + i] >> (2 * run)) & 3;
      return halfAt(b, 208) * signed(b[192 + (l >> 4)]) * (low + 16 * high - 32);
    }),
};

/** The weights of blocks, rounded once to float32. */
export function weightsOfBlocks(type, bytes) {
  const [, size] = blockSizes[type];
  const blocks = range(bytes.length / size, (i) => bytes.subarray(i * size, (i + 1) * size));
  return Float32Array.from(blocks.flatMap((block) => decoders[type](block)));
}

/** Blocks of random codes and scales of about 0.01, for `count` weights. */
export function randomBlocks(type, count, seed) {
  const [weights, size] = blockSizes[type];
  const bytes = new Uint8Array((count / weights) * size);
  let state = seed;
  for (let i = 0; i < bytes.length; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  // Upper bytes of the float16 numbers: 2^-7 to 2^-5, of either sign.
  const halves = { q4_0: [0], q5_0: [0], q8_0: [0], q6_k: [208] }[type] ?? [0, 2];
  for (let at = 0; at < bytes.length; at += size) {
    for (const half of halves) bytes[at + half + 1] = 0x20 | (bytes[at + half + 1] & 0x87);
  }
  return bytes;
}

const half = (value) => encode('F16', [value])[0];

/** Blocks of Q8_0 for numbers, as ggml's quantize_row_q8_0_ref makes them. */
export function q8(values) {
  const bytes = new Uint8Array((values.length / 32) * 34);
  for (let block = 0; block < values.length / 32; ++block) {
    const own = values.subarray(32 * block, 32 * block + 32);
    const scale = Math.fround(Math.max(...own.map(Math.abs)) / 127);
    const bits = half(scale);
    bytes.set([bits & 255, bits >> 8], 34 * block);
    own.forEach((value, i) => {
      bytes[34 * block + 2 + i] = Math.sign(value) * Math.round(Math.abs(value / scale));
    });
  }
  return bytes;
}
