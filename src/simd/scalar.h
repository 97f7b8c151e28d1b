// f32x4 and f64x2 as plain numbers: the reference that the vector backends are compared with.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ropewalk::simd {
inline namespace scalar {

inline constexpr const char* kBackend = "scalar";
inline constexpr bool kMulAddIsOne = false;

struct f32x4 {
  float lane[4];
};

inline f32x4 load(const float* p) {
  return {{p[0], p[1], p[2], p[3]}};
}
// Four words of four bytes, whatever they hold, at any address.
inline f32x4 loadWords(const unsigned char* p) {
  f32x4 words;
  std::memcpy(&words, p, sizeof words);
  return words;
}
inline void storeWords(unsigned char* p, const f32x4& words) {
  std::memcpy(p, &words, sizeof words);
}
// Four bfloat16 numbers, as bits, widened: exact.
inline f32x4 loadBf16(const uint16_t* p) {
  f32x4 out;
  for (int i = 0; i < 4; ++i) out.lane[i] = std::bit_cast<float>(uint32_t{p[i]} << 16);
  return out;
}
// Eight of them: numbers 0, 2, 4, 6 and 1, 3, 5, 7. mask is upperHalves().
inline void loadBf16Split(const uint16_t* p, f32x4 mask, f32x4 (&out)[2]) {
  for (int i = 0; i < 4; ++i) {
    const uint32_t bits = uint32_t{p[2 * i + 1]} << 16;
    out[0].lane[i] = std::bit_cast<float>(uint32_t{p[2 * i]} << 16);
    out[1].lane[i] = std::bit_cast<float>(bits & std::bit_cast<uint32_t>(mask.lane[i]));
  }
}
// Four float16 numbers, as bits, times 2^-112, as if an exponent of ones were one more; mask is that of
// F16Constants.
inline f32x4 loadSmallF16(const uint16_t* p, f32x4 mask) {
  f32x4 out;
  for (int i = 0; i < 4; ++i) {
    const auto placed = static_cast<uint32_t>(static_cast<int32_t>(uint32_t{p[i]} << 16) >> 3);
    out.lane[i] = std::bit_cast<float>(placed & std::bit_cast<uint32_t>(mask.lane[i]));
  }
  return out;
}
// x, with these bits as well where |x| >= end.
inline f32x4 withBitsFrom(f32x4 x, f32x4 end, f32x4 bits) {
  for (int i = 0; i < 4; ++i) {
    const uint32_t more = std::fabs(x.lane[i]) >= end.lane[i] ? std::bit_cast<uint32_t>(bits.lane[i]) : 0;
    x.lane[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(x.lane[i]) | more);
  }
  return x;
}
// Sixteen signed bytes as numbers.
inline void loadI8(const int8_t* p, f32x4 (&out)[4]) {
  for (int i = 0; i < 16; ++i) out[i / 4].lane[i % 4] = p[i];
}
inline void store(float* p, f32x4 a) {
  for (int i = 0; i < 4; ++i) p[i] = a.lane[i];
}
inline f32x4 splat(float v) {
  return {{v, v, v, v}};
}

template <class F>
inline f32x4 each(f32x4 a, f32x4 b, F f) {
  return {
      {f(a.lane[0], b.lane[0]), f(a.lane[1], b.lane[1]), f(a.lane[2], b.lane[2]), f(a.lane[3], b.lane[3])}};
}

inline f32x4 add(f32x4 a, f32x4 b) {
  return each(a, b, [](float x, float y) { return x + y; });
}
inline f32x4 sub(f32x4 a, f32x4 b) {
  return each(a, b, [](float x, float y) { return x - y; });
}
inline f32x4 mul(f32x4 a, f32x4 b) {
  return each(a, b, [](float x, float y) { return x * y; });
}
inline f32x4 div(f32x4 a, f32x4 b) {
  return each(a, b, [](float x, float y) { return x / y; });
}
inline f32x4 sqrt(f32x4 a) {
  return each(a, a, [](float x, float) { return std::sqrt(x); });
}
// The second operand where the comparison fails, so also where either is NaN (as pmin and SSE do).
inline f32x4 min(f32x4 a, f32x4 b) {
  return each(a, b, [](float x, float y) { return x < y ? x : y; });
}
inline f32x4 max(f32x4 a, f32x4 b) {
  return each(a, b, [](float x, float y) { return x > y ? x : y; });
}
inline f32x4 mulAdd(f32x4 a, f32x4 b, f32x4 c) {
  return add(mul(a, b), c);
}
inline f32x4 negMulAdd(f32x4 a, f32x4 b, f32x4 c) {
  return sub(c, mul(a, b));
}

// All bits set where a < b, none elsewhere and where either is NaN.
inline f32x4 lessThan(f32x4 a, f32x4 b) {
  return each(a, b, [](float x, float y) { return std::bit_cast<float>(x < y ? 0xffffffffu : 0u); });
}
// a where the mask is set, else b.
inline f32x4 select(f32x4 mask, f32x4 a, f32x4 b) {
  f32x4 out;
  for (int i = 0; i < 4; ++i)
    out.lane[i] = std::bit_cast<uint32_t>(mask.lane[i]) != 0 ? a.lane[i] : b.lane[i];
  return out;
}

// (a0 a1 a2 a3) -> (a2 a3 a0 a1)
inline f32x4 swapHalves(f32x4 a) {
  return {{a.lane[2], a.lane[3], a.lane[0], a.lane[1]}};
}
inline f32x4 swapNeighbours(f32x4 a) {
  return {{a.lane[1], a.lane[0], a.lane[3], a.lane[2]}};
}
// (a0 a1 a2 a3), (b0 b1 b2 b3) -> (a0 a2 b0 b2)
inline f32x4 evens(f32x4 a, f32x4 b) {
  return {{a.lane[0], a.lane[2], b.lane[0], b.lane[2]}};
}
// ... -> (a1 a3 b1 b3)
inline f32x4 odds(f32x4 a, f32x4 b) {
  return {{a.lane[1], a.lane[3], b.lane[1], b.lane[3]}};
}
// ... -> (a0 b0 a1 b1)
inline f32x4 zipLow(f32x4 a, f32x4 b) {
  return {{a.lane[0], b.lane[0], a.lane[1], b.lane[1]}};
}
// ... -> (a2 b2 a3 b3)
inline f32x4 zipHigh(f32x4 a, f32x4 b) {
  return {{a.lane[2], b.lane[2], a.lane[3], b.lane[3]}};
}
inline float lane0(f32x4 a) {
  return a.lane[0];
}
inline float lane1(f32x4 a) {
  return a.lane[1];
}

// 2^n for lanes that hold n + kExp2Shift, n an integer in [-126, 127], and 0 for n = -127: the sum's lowest
// bits are then the exponent.
inline f32x4 exp2Shifted(f32x4 a) {
  f32x4 out;
  for (int i = 0; i < 4; ++i) out.lane[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(a.lane[i]) << 23);
  return out;
}

struct f64x2 {
  double lane[2];
};

inline f64x2 load(const double* p) {
  return {{p[0], p[1]}};
}
inline f64x2 splatDouble(double v) {
  return {{v, v}};
}
inline f64x2 add(f64x2 a, f64x2 b) {
  return {{a.lane[0] + b.lane[0], a.lane[1] + b.lane[1]}};
}
inline f64x2 sub(f64x2 a, f64x2 b) {
  return {{a.lane[0] - b.lane[0], a.lane[1] - b.lane[1]}};
}
inline f64x2 mul(f64x2 a, f64x2 b) {
  return {{a.lane[0] * b.lane[0], a.lane[1] * b.lane[1]}};
}
// (a0 a1), (b0 b1) -> (a0 a1 b0 b1), rounded to nearest.
inline f32x4 narrow(f64x2 a, f64x2 b) {
  return {{static_cast<float>(a.lane[0]), static_cast<float>(a.lane[1]), static_cast<float>(b.lane[0]),
           static_cast<float>(b.lane[1])}};
}

}  // namespace scalar
}  // namespace ropewalk::simd
