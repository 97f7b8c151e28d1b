// Sums of products of bytes for four rows at once: the inner loop of products with coded weights. Bytes lie
// four to a word, the lowest first, and lane r of a vector of codes has those of row r. For many rows of
// inputs there are pairs of int16 numbers instead: lane r has two of row r. Every backend gives the same
// integers.
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
inline void storeCodes(uint32_t* words, Codes codes) {
  wasm_v128_store(words, codes);
}
// `word` in every lane, as a variable: it is made before a loop, not in every step.
inline Codes splatCodes(const uint32_t& word) {
  return wasm_v128_load32_splat(hidden(&word));
}
template <unsigned Bits>
Codes shiftedDown(Codes codes) {
  return wasm_u32x4_shr(codes, Bits);
}
// The bits of a mask, after a shift down by Shift, or up where it is negative.
template <int Shift>
Codes bitsOf(Codes codes, Codes mask) {
  if constexpr (Shift < 0) {
    return wasm_v128_and(wasm_i32x4_shl(codes, -Shift), mask);
  } else {
    return wasm_v128_and(Shift == 0 ? codes : wasm_u32x4_shr(codes, Shift), mask);
  }
}
inline Codes either(Codes a, Codes b) {
  return wasm_v128_or(a, b);
}
inline f32x4 floatsOf(Codes numbers) {
  return wasm_f32x4_convert_i32x4(numbers);
}
// Of one byte of each word, with its sign.
inline f32x4 floatsOfByte(Codes words, size_t byte) {
  const v128_t above = wasm_i32x4_shl(words, static_cast<uint32_t>(24 - 8 * byte));
  return wasm_f32x4_convert_i32x4(wasm_i32x4_shr(above, 24));
}
// As loadSmallF16 has it, of the lower or the upper halves of words.
inline f32x4 lowerSmallF16(const uint32_t* words, f32x4 mask) {
  return wasm_v128_and(wasm_i32x4_shr(wasm_i32x4_shl(wasm_v128_load(words), 16), 3), mask);
}
inline f32x4 upperSmallF16(const uint32_t* words, f32x4 mask) {
  return wasm_v128_and(wasm_i32x4_shr(wasm_v128_load(words), 3), mask);
}

// to = the first and third bytes of each word, with their signs and less an offset; to + stride = the others.
inline void storePairs(int16_t* to, size_t stride, Codes words, Codes offsets) {
  const v128_t even = wasm_i16x8_shr(wasm_i16x8_shl(words, 8), 8);
  wasm_v128_store(to, wasm_i16x8_sub(even, offsets));
  wasm_v128_store(to + stride, wasm_i16x8_sub(wasm_i16x8_shr(words, 8), offsets));
}

class PairDots {
 public:
  using Pairs = v128_t;
  static Pairs weights(const int16_t* pairs) { return wasm_v128_load(pairs); }
  static Pairs inputs(const int16_t* pair) { return wasm_v128_load32_splat(pair); }

  void add(Pairs a, Pairs w) { sums_ = wasm_i32x4_add(sums_, wasm_i32x4_dot_i16x8(a, w)); }
  f32x4 floats() const { return wasm_f32x4_convert_i32x4(sums_); }

 private:
  v128_t sums_ = wasm_i32x4_const_splat(0);
};

#if defined(__wasm_relaxed_simd__)
inline namespace wasm_relaxed {

// Whether the relaxed dot product of four bytes is several instructions. Those add two products in 16 bits
// and saturate. Where it is one instruction, the sum below is 4 * 127 * 255 on x86 and -4 * 127 on Arm.
inline bool dotsAreSlow() {
  static constexpr uint32_t kLargest[] = {0x7f7f7f7f, 0xffffffff};
  const v128_t sums = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(splatCodes(kLargest[0]), splatCodes(kLargest[1]),
                                                             wasm_i32x4_const_splat(0));
  return wasm_i32x4_extract_lane(sums, 0) == 2 * 32767;
}

// Whether products of pairs are faster than those of bytes.
inline bool pairsAreFaster(bool is_signed) {
  return is_signed && dotsAreSlow();
}

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
  void add(const ByteDots& other) { sums_ = wasm_i32x4_add(sums_, other.sums_); }
  f32x4 floats() const { return wasm_f32x4_convert_i32x4(sums_); }

 private:
  v128_t sums_;
};

// Of codes from 0 to 15, where dotsAreSlow: sums of at most eight vectors in 16 bits, by the relaxed dot
// product of two bytes, which is one instruction. One sum has bytes 0 and 1 of words, the other bytes 2 and
// 3; each begins with half of the start. From 0 they come to at most 16 * 127 * 15 = 30480. From -8 times the
// sum of all inputs they do as well: 15 - 4 times the inputs above 0 of a sum and 4 times the size of those
// below, and 4 times those of the other sum. What overflows on the way wraps around, and back.
class NibbleDots {
 public:
  static constexpr size_t kVectors = 1;
  using Inputs = ByteDots<false>::Inputs;
  static Inputs inputs(const int8_t* bytes, const int8_t* signs) {
    return ByteDots<false>::inputs(bytes, signs);
  }

  NibbleDots() = default;
  explicit NibbleDots(int32_t start) : sums_(wasm_i16x8_splat(static_cast<int16_t>(start / 2))) {}
  void add(const Inputs& a, Codes w) {
    sums_ = wasm_i16x8_add(sums_, wasm_i16x8_relaxed_dot_i8x16_i7x16(a.bytes, w));
  }
  void add(const NibbleDots& other) { sums_ = wasm_i16x8_add(sums_, other.sums_); }
  f32x4 floats() const { return wasm_f32x4_convert_i32x4(wasm_i32x4_extadd_pairwise_i16x8(sums_)); }

 private:
  v128_t sums_;
};
#else
inline namespace wasm_simd128 {

constexpr bool dotsAreSlow() {
  return false;
}
constexpr bool pairsAreFaster(bool) {
  return true;
}

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

using NibbleDots = ByteDots<false>;
#endif
#else
inline namespace native {

// Tests change these, so that what other machines take runs with their sanitizers as well.
inline bool dots_are_slow = false;
inline bool pairs_are_faster = true;
inline bool dotsAreSlow() {
  return dots_are_slow;
}
inline bool pairsAreFaster(bool) {
  return pairs_are_faster;
}

inline constexpr bool kDotsTakeSigns = false;

struct Codes {
  uint32_t words[4];
};

inline Codes loadCodes(const uint32_t* words) {
  return {{words[0], words[1], words[2], words[3]}};
}
inline void storeCodes(uint32_t* words, const Codes& codes) {
  std::memcpy(words, codes.words, sizeof codes.words);
}
inline Codes splatCodes(const uint32_t& word) {
  return {{word, word, word, word}};
}
template <unsigned Bits>
Codes shiftedDown(const Codes& codes) {
  return {{codes.words[0] >> Bits, codes.words[1] >> Bits, codes.words[2] >> Bits, codes.words[3] >> Bits}};
}
template <int Shift>
Codes bitsOf(Codes codes, const Codes& mask) {
  for (size_t r = 0; r < 4; ++r) {
    if constexpr (Shift < 0) {
      codes.words[r] = codes.words[r] << -Shift & mask.words[r];
    } else {
      codes.words[r] = codes.words[r] >> Shift & mask.words[r];
    }
  }
  return codes;
}
inline Codes either(Codes a, const Codes& b) {
  for (size_t r = 0; r < 4; ++r) a.words[r] |= b.words[r];
  return a;
}
inline f32x4 floatsOf(const Codes& numbers) {
  float floats[4];
  for (size_t r = 0; r < 4; ++r) floats[r] = static_cast<float>(numbers.words[r]);
  return load(floats);
}
inline f32x4 floatsOfByte(const Codes& words, size_t byte) {
  float floats[4];
  for (size_t r = 0; r < 4; ++r) floats[r] = static_cast<int8_t>(words.words[r] >> 8 * byte);
  return load(floats);
}
inline f32x4 lowerSmallF16(const uint32_t* words, f32x4 mask) {
  uint16_t halves[4];
  for (size_t r = 0; r < 4; ++r) halves[r] = static_cast<uint16_t>(words[r]);
  return loadSmallF16(halves, mask);
}
inline f32x4 upperSmallF16(const uint32_t* words, f32x4 mask) {
  uint16_t halves[4];
  for (size_t r = 0; r < 4; ++r) halves[r] = static_cast<uint16_t>(words[r] >> 16);
  return loadSmallF16(halves, mask);
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
  void add(const ByteDots& other) {
    for (size_t r = 0; r < 4; ++r) sums_[r] += other.sums_[r];
  }
  f32x4 floats() const {
    const float floats[4] = {static_cast<float>(sums_[0]), static_cast<float>(sums_[1]),
                             static_cast<float>(sums_[2]), static_cast<float>(sums_[3])};
    return load(floats);
  }

 private:
  int32_t sums_[4];
};

using NibbleDots = ByteDots<false>;

inline void storePairs(int16_t* to, size_t stride, const Codes& words, const Codes& offsets) {
  for (size_t r = 0; r < 4; ++r) {
    int8_t bytes[4];
    std::memcpy(bytes, words.words + r, sizeof bytes);
    const auto offset = static_cast<int16_t>(offsets.words[r]);
    for (size_t i = 0; i < 4; ++i)
      to[i % 2 * stride + 2 * r + i / 2] = static_cast<int16_t>(bytes[i] - offset);
  }
}

class PairDots {
 public:
  using Pairs = const int16_t*;
  static Pairs weights(const int16_t* pairs) { return pairs; }
  static Pairs inputs(const int16_t* pair) { return pair; }

  void add(Pairs a, Pairs w) {
    for (size_t r = 0; r < 4; ++r) sums_[r] += a[0] * w[2 * r] + a[1] * w[2 * r + 1];
  }
  f32x4 floats() const {
    const float floats[4] = {static_cast<float>(sums_[0]), static_cast<float>(sums_[1]),
                             static_cast<float>(sums_[2]), static_cast<float>(sums_[3])};
    return load(floats);
  }

 private:
  int32_t sums_[4] = {};
};
#endif

}  // inline namespace
}  // namespace ropewalk::simd
