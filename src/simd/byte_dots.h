// Sums of products of bytes for four rows at once: the inner loop of products with coded weights. Bytes lie
// four to a word, the lowest first, and lane r of a vector of codes has those of row r. Every backend gives
// the same integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd.h"

namespace ropewalk::simd {
#if defined(__wasm_simd128__) && !defined(ROPEWALK_SCALAR)
#if defined(__wasm_relaxed_simd__)
inline namespace wasm_relaxed {
#else
inline namespace wasm_simd128 {
#endif

// The relaxed dot product of bytes is not used: engines have given different integers for it before and
// after they optimized a function (V8 11.3).
class ByteDots {
 public:
  ByteDots() = default;
  explicit ByteDots(int32_t start)
      : low_(wasm_i32x4_make(start, 0, start, 0)), high_(wasm_i32x4_make(start, 0, start, 0)) {}
  // += four inputs times codes, all from -128 to 127.
  void add(const int8_t* inputs, const uint32_t* codes) {
    const v128_t a = wasm_i16x8_extend_low_i8x16(wasm_v128_load32_splat(inputs));
    const v128_t w = wasm_v128_load(codes);
    low_ = wasm_i32x4_add(low_, wasm_i32x4_dot_i16x8(a, wasm_i16x8_extend_low_i8x16(w)));
    high_ = wasm_i32x4_add(high_, wasm_i32x4_dot_i16x8(a, wasm_i16x8_extend_high_i8x16(w)));
  }
  f32x4 floats() const {
    const v128_t sums = wasm_i32x4_add(wasm_i32x4_shuffle(low_, high_, 0, 2, 4, 6),
                                       wasm_i32x4_shuffle(low_, high_, 1, 3, 5, 7));
    return wasm_f32x4_convert_i32x4(sums);
  }

 private:
  v128_t low_;
  v128_t high_;
};
#else
inline namespace native {

class ByteDots {
 public:
  ByteDots() = default;
  explicit ByteDots(int32_t start) : sums_{start, start, start, start} {}
  void add(const int8_t* inputs, const uint32_t* codes) {
    for (size_t r = 0; r < 4; ++r) {
      int8_t bytes[4];
      std::memcpy(bytes, codes + r, sizeof bytes);
      for (size_t i = 0; i < 4; ++i) sums_[r] += inputs[i] * bytes[i];
    }
  }
  f32x4 floats() const {
    const float floats[4] = {static_cast<float>(sums_[0]), static_cast<float>(sums_[1]),
                             static_cast<float>(sums_[2]), static_cast<float>(sums_[3])};
    return load(floats);
  }

 private:
  int32_t sums_[4];
};
#endif

}  // inline namespace
}  // namespace ropewalk::simd
