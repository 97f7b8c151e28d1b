// f32x4 and f64x2 on WebAssembly simd128. The relaxed build replaces mulAdd and its kin by the relaxed
// instructions, which an engine may round once (fused) or twice.
#pragma once

#include <wasm_simd128.h>

#include <cstddef>
#include <cstdint>

namespace ropewalk::simd {
#if defined(__wasm_relaxed_simd__)
inline namespace wasm_relaxed {
inline constexpr const char* kBackend = "wasm-relaxed";
inline constexpr bool kMulAddIsOne = true;
#else
inline namespace wasm_simd128 {
inline constexpr const char* kBackend = "wasm-simd128";
inline constexpr bool kMulAddIsOne = false;
#endif

using f32x4 = v128_t;

inline f32x4 load(const float* p) {
  return wasm_v128_load(p);
}
inline f32x4 loadWords(const unsigned char* p) {
  return wasm_v128_load(p);
}
inline void storeWords(unsigned char* p, f32x4 words) {
  wasm_v128_store(p, words);
}
inline f32x4 loadBf16(const uint16_t* p) {
  return wasm_i32x4_shl(wasm_u32x4_load16x4(p), 16);
}
inline void loadBf16Split(const uint16_t* p, f32x4 mask, f32x4 (&out)[2]) {
  const v128_t bits = wasm_v128_load(p);
  out[0] = wasm_i32x4_shl(bits, 16);
  out[1] = wasm_v128_and(bits, mask);
}
inline f32x4 loadSmallF16(const uint16_t* p, f32x4 mask) {
  return wasm_v128_and(wasm_i32x4_shl(wasm_i32x4_load16x4(p), 13), mask);
}
inline f32x4 withBitsFrom(f32x4 x, f32x4 end, f32x4 bits) {
  return wasm_v128_or(x, wasm_v128_and(wasm_f32x4_ge(wasm_f32x4_abs(x), end), bits));
}
inline void loadI8(const int8_t* p, f32x4 (&out)[4]) {
  const v128_t low = wasm_i16x8_load8x8(p);
  const v128_t high = wasm_i16x8_load8x8(p + 8);
  out[0] = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(low));
  out[1] = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(low));
  out[2] = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(high));
  out[3] = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(high));
}
inline void store(float* p, f32x4 a) {
  wasm_v128_store(p, a);
}
inline f32x4 splat(float v) {
  return wasm_f32x4_splat(v);
}
inline f32x4 add(f32x4 a, f32x4 b) {
  return wasm_f32x4_add(a, b);
}
inline f32x4 sub(f32x4 a, f32x4 b) {
  return wasm_f32x4_sub(a, b);
}
inline f32x4 mul(f32x4 a, f32x4 b) {
  return wasm_f32x4_mul(a, b);
}
inline f32x4 div(f32x4 a, f32x4 b) {
  return wasm_f32x4_div(a, b);
}
inline f32x4 sqrt(f32x4 a) {
  return wasm_f32x4_sqrt(a);
}
// pmin(y, x) is x < y ? x : y: the arguments change places to agree with SSE.
inline f32x4 min(f32x4 a, f32x4 b) {
  return wasm_f32x4_pmin(b, a);
}
inline f32x4 max(f32x4 a, f32x4 b) {
  return wasm_f32x4_pmax(b, a);
}

#if defined(__wasm_relaxed_simd__)
inline f32x4 mulAdd(f32x4 a, f32x4 b, f32x4 c) {
  return wasm_f32x4_relaxed_madd(a, b, c);
}
inline f32x4 negMulAdd(f32x4 a, f32x4 b, f32x4 c) {
  return wasm_f32x4_relaxed_nmadd(a, b, c);
}
#else
inline f32x4 mulAdd(f32x4 a, f32x4 b, f32x4 c) {
  return add(mul(a, b), c);
}
inline f32x4 negMulAdd(f32x4 a, f32x4 b, f32x4 c) {
  return sub(c, mul(a, b));
}
#endif

inline f32x4 lessThan(f32x4 a, f32x4 b) {
  return wasm_f32x4_lt(a, b);
}
inline f32x4 select(f32x4 mask, f32x4 a, f32x4 b) {
  return wasm_v128_bitselect(a, b, mask);
}
inline f32x4 swapHalves(f32x4 a) {
  return wasm_i32x4_shuffle(a, a, 2, 3, 0, 1);
}
inline f32x4 swapNeighbours(f32x4 a) {
  return wasm_i32x4_shuffle(a, a, 1, 0, 3, 2);
}
inline f32x4 evens(f32x4 a, f32x4 b) {
  return wasm_i32x4_shuffle(a, b, 0, 2, 4, 6);
}
inline f32x4 odds(f32x4 a, f32x4 b) {
  return wasm_i32x4_shuffle(a, b, 1, 3, 5, 7);
}
inline f32x4 zipLow(f32x4 a, f32x4 b) {
  return wasm_i32x4_shuffle(a, b, 0, 4, 1, 5);
}
inline f32x4 zipHigh(f32x4 a, f32x4 b) {
  return wasm_i32x4_shuffle(a, b, 2, 6, 3, 7);
}
inline float lane0(f32x4 a) {
  return wasm_f32x4_extract_lane(a, 0);
}
inline float lane1(f32x4 a) {
  return wasm_f32x4_extract_lane(a, 1);
}

inline f32x4 exp2Shifted(f32x4 a) {
  return wasm_i32x4_shl(a, 23);
}

// A type of its own, so that overloads of add(a, b) differ.
struct f64x2 {
  v128_t v;
};

inline f64x2 load(const double* p) {
  return {wasm_v128_load(p)};
}
inline f64x2 splatDouble(double v) {
  return {wasm_f64x2_splat(v)};
}
inline f64x2 add(f64x2 a, f64x2 b) {
  return {wasm_f64x2_add(a.v, b.v)};
}
inline f64x2 sub(f64x2 a, f64x2 b) {
  return {wasm_f64x2_sub(a.v, b.v)};
}
inline f64x2 mul(f64x2 a, f64x2 b) {
  return {wasm_f64x2_mul(a.v, b.v)};
}
inline f32x4 narrow(f64x2 a, f64x2 b) {
  return wasm_i32x4_shuffle(wasm_f32x4_demote_f64x2_zero(a.v), wasm_f32x4_demote_f64x2_zero(b.v), 0, 1, 4, 5);
}

}  // inline namespace
}  // namespace ropewalk::simd
