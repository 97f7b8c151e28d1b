// The numbers of the formats of weights, how a float is narrowed to 16 bits (to nearest, ties to even), and
// how a float16 is widened.
#pragma once

#include <bit>
#include <cstdint>

namespace ropewalk {

// The numbers cross the wasm boundary: add at the end, never renumber.
enum class WeightType : int {
  kFloat32 = 0,
  kFloat16 = 1,
  kBfloat16 = 2,
  kInt8 = 3,  // a signed byte times a float32 scale of its row
  // Blocks of GGUF files.
  kQ4_0 = 4,
  kQ4_1 = 5,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ4_K = 9,
  kQ5_K = 10,
  kQ6_K = 11
};

// The number that the bits of a float16 stand for; NaN stays NaN.
inline float widenFloat16(uint16_t bits) {
  // Sign and mantissa in place; the exponent is 112 too small, which a product makes up for exactly.
  const uint32_t placed = (bits & 0x8000u) << 16 | (bits & 0x7fffu) << 13;
  const float wide = std::bit_cast<float>(placed) * 0x1p112f;
  const uint32_t special = (bits & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(wide) | special);
}

// The bits of the nearest float16. From 65520 on that is infinity; NaN stays NaN.
inline uint16_t narrowToFloat16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | (bits >> 13 & 0x3ff));
  if (bits >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (bits < 0x38800000) {  // below 2^-14: next to 0.5 a float counts in float16's smallest step, 2^-24
    const float counted = std::bit_cast<float>(bits) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(counted) - 0x3f000000));
  }
  bits += 0xfff + (bits >> 13 & 1);
  return static_cast<uint16_t>(sign | (bits - 0x38000000) >> 13);
}

// The bits of the nearest bfloat16; NaN stays NaN.
inline uint16_t narrowToBfloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace ropewalk
