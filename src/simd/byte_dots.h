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

using Codes = v128_t;

inline Codes loadCodes(const uint32_t* words) {
  return wasm_v128_load(words);
}
// The four bits from `shift` on of each byte; mask: fourBits().
inline Codes loadFourBits(const uint32_t* words, unsigned shift, Codes mask) {
  return wasm_v128_and(wasm_u32x4_shr(wasm_v128_load(words), shift), mask);
}
inline constexpr uint32_t kFourBits = 0x0f0f0f0f;
inline Codes fourBits() {
  return wasm_v128_load32_splat(hidden(&kFourBits));
}

#if defined(__wasm_relaxed_simd__)
inline namespace wasm_relaxed {

// The relaxed dot product is defined where the bytes of its second operand are 0 to 127. Codes without a sign
// are that operand. For signed ones it is the magnitude of the inputs: w a = (w ^ s) |a| + (|a| where a < 0),
// s = -1 where a < 0.
inline constexpr bool kDotsTakeSigns = true;

template <bool SignsApart>
class ByteDots {
 public:
  static constexpr size_t kVectors = 1;  // of sums
  struct Inputs {
    v128_t bytes;
    v128_t signs;
  };
  static Inputs inputs(const int8_t* bytes, const int8_t* signs) {
    return {wasm_v128_load32_splat(bytes), SignsApart ? wasm_v128_load32_splat(signs) : v128_t()};
  }

  ByteDots() = default;
  explicit ByteDots(int32_t start) : sums_(wasm_i32x4_splat(start)) {}
  void add(const Inputs& a, Codes w) {
    sums_ = SignsApart ? wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_v128_xor(w, a.signs), a.bytes, sums_)
                       : wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a.bytes, w, sums_);
  }
  f32x4 floats() const { return wasm_f32x4_convert_i32x4(sums_); }

 private:
  v128_t sums_;
};
#else
inline namespace wasm_simd128 {

inline constexpr bool kDotsTakeSigns = false;

template <bool SignsApart>
class ByteDots {
 public:
  static constexpr size_t kVectors = 2;
  struct Inputs {
    v128_t pairs;
  };
  static Inputs inputs(const int8_t* bytes, const int8_t*) {
    return {wasm_i16x8_extend_low_i8x16(wasm_v128_load32_splat(bytes))};
  }

  ByteDots() = default;
  explicit ByteDots(int32_t start)
      : low_(wasm_i32x4_make(start, 0, start, 0)), high_(wasm_i32x4_make(start, 0, start, 0)) {}
  void add(const Inputs& a, Codes w) {
    low_ = wasm_i32x4_add(low_, wasm_i32x4_dot_i16x8(a.pairs, wasm_i16x8_extend_low_i8x16(w)));
    high_ = wasm_i32x4_add(high_, wasm_i32x4_dot_i16x8(a.pairs, wasm_i16x8_extend_high_i8x16(w)));
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
#endif
#else
inline namespace native {

inline constexpr bool kDotsTakeSigns = false;

struct Codes {
  uint32_t words[4];
};

inline Codes loadCodes(const uint32_t* words) {
  return {{words[0], words[1], words[2], words[3]}};
}
inline Codes fourBits() {
  return {};
}
inline Codes loadFourBits(const uint32_t* words, unsigned shift, const Codes&) {
  Codes codes;
  for (size_t r = 0; r < 4; ++r) codes.words[r] = words[r] >> shift & 0x0f0f0f0f;
  return codes;
}

template <bool SignsApart>
class ByteDots {
 public:
  static constexpr size_t kVectors = 1;
  struct Inputs {
    const int8_t* bytes;
  };
  static Inputs inputs(const int8_t* bytes, const int8_t*) { return {bytes}; }

  ByteDots() = default;
  explicit ByteDots(int32_t start) : sums_{start, start, start, start} {}
  void add(const Inputs& a, const Codes& w) {
    for (size_t r = 0; r < 4; ++r) {
      int8_t bytes[4];
      std::memcpy(bytes, w.words + r, sizeof bytes);
      for (size_t i = 0; i < 4; ++i) sums_[r] += a.bytes[i] * bytes[i];
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
