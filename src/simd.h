// The only door to vector instructions: f32x4, four floats, and f64x2, two doubles, with one backend per
// build.
//   wasm simd128     simd/wasm.h     (with relaxed SIMD where the build enables it: mulAdd alone differs)
//   SSE2             simd/sse2.h     native builds
//   scalar           simd/scalar.h   everything else, and on request (ROPEWALK_SCALAR)
// Every backend gives the same operations with the same names. All round each operation once, except
// mulAdd, which may round a*b+c once or twice: nothing may depend on which. kMulAddIsOne tells whether it is
// one instruction, which needs no register for the product.
#pragma once

#include <bit>

#if defined(ROPEWALK_SCALAR)
#include "simd/scalar.h"
#elif defined(__wasm_simd128__)
#include "simd/wasm.h"
#elif defined(__SSE2__)
#include "simd/sse2.h"
#else
#include "simd/scalar.h"
#endif

// Before a loop that is to stay one step long: unrolled, it would need more registers than there are.
#if defined(__clang__)
#define ROPEWALK_KEEP_LOOP _Pragma("clang loop unroll(disable)")
#else
#define ROPEWALK_KEEP_LOOP
#endif

namespace ropewalk::simd {

inline constexpr size_t kLanes = 4;

// Added to |a| < 2^22 it leaves the nearest integer, plus 127, in the lowest bits: see exp2Shifted.
inline constexpr float kExp2Shift = 12582912 + 127;  // 1.5 * 2^23, so that no bits are left behind the point

// The same pointer, to constants that the compiler can no longer fold: V8 makes a constant vector anew at
// each use, in three steps, and one that is loaded takes one or stays in its register.
template <class T>
inline const T* hidden(const T* p) {
  asm("" : "+r"(p));
  return p;
}

// c[0] x^(N - 1) + .. + c[N - 1]
template <size_t N>
inline f32x4 polynomial(const float (&c)[N], f32x4 x) {
  f32x4 sum = splat(c[0]);
  for (size_t i = 1; i < N; ++i) sum = mulAdd(sum, x, splat(c[i]));
  return sum;
}

// What loads of float16 numbers need: sign and mantissa where a float has them; what makes up for the
// exponent; and from where on the exponent has ones alone, as that of infinity and NaN.
inline constexpr float kF16Constants[] = {std::bit_cast<float>(0x8fffe000), 0x1p112f, 0x1p16f,
                                          std::bit_cast<float>(0x7f800000)};

struct F16Constants {
  f32x4 mask = splat(hidden(kF16Constants)[0]);
  f32x4 scale = splat(hidden(kF16Constants)[1]);
  f32x4 end = splat(hidden(kF16Constants)[2]);
  f32x4 infinity = splat(hidden(kF16Constants)[3]);
};

// Four float16 numbers, as bits, widened: exact for every number, subnormal, infinity and NaN.
inline f32x4 loadF16(const uint16_t* p, const F16Constants& c) {
  return withBitsFrom(mul(loadSmallF16(p, c.mask), c.scale), c.end, c.infinity);
}

// The mask of loadBf16Split.
inline constexpr float kUpperHalf = std::bit_cast<float>(0xffff0000);
inline f32x4 upperHalves() {
  return splat(*hidden(&kUpperHalf));
}

// Sum of the lanes as (0 + 2) + (1 + 3), the same tree in every backend.
inline float sum(f32x4 a) {
  const f32x4 pairs = add(a, swapHalves(a));
  return lane0(pairs) + lane1(pairs);
}

inline float maxLane(f32x4 a) {
  const f32x4 pairs = max(a, swapHalves(a));
  const float x = lane0(pairs);
  const float y = lane1(pairs);
  return x > y ? x : y;
}

// n floats (n < 4) from p, the remaining lanes zero. Reads nothing past p + n.
inline f32x4 loadN(const float* p, size_t n) {
  float lanes[kLanes] = {0, 0, 0, 0};
  for (size_t i = 0; i < n; ++i) lanes[i] = p[i];
  return load(lanes);
}

// The first n lanes (n < 4) to p. Writes nothing past p + n.
inline void storeN(float* p, f32x4 a, size_t n) {
  float lanes[kLanes];
  store(lanes, a);
  for (size_t i = 0; i < n; ++i) p[i] = lanes[i];
}

}  // namespace ropewalk::simd
