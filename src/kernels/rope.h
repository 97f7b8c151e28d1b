// Rotation of the pairs of one row: (a, b) -> (a cos - b sin, a sin + b cos).
// The two pairings of the field are two ways to load and store the same pairs.
#pragma once

#include <cstddef>

#include "simd.h"

namespace ropewalk {

struct PairBlock {
  simd::f32x4 a;
  simd::f32x4 b;
};

// Pair j is (x[j], x[pairs + j]): GPT-NeoX, Hugging Face LLaMA.
struct HalfPairs {
  static PairBlock load(const float* x, size_t j, size_t pairs) {
    return {simd::load(x + j), simd::load(x + pairs + j)};
  }
  static void store(float* x, size_t j, size_t pairs, PairBlock p) {
    simd::store(x + j, p.a);
    simd::store(x + pairs + j, p.b);
  }
  static size_t first(size_t j, size_t) { return j; }
  static size_t second(size_t j, size_t pairs) { return pairs + j; }
};

// Pair j is (x[2 j], x[2 j + 1]): RoFormer, GPT-J, Meta LLaMA.
struct InterleavedPairs {
  static PairBlock load(const float* x, size_t j, size_t) {
    const simd::f32x4 low = simd::load(x + 2 * j);
    const simd::f32x4 high = simd::load(x + 2 * j + 4);
    return {simd::evens(low, high), simd::odds(low, high)};
  }
  static void store(float* x, size_t j, size_t, PairBlock p) {
    simd::store(x + 2 * j, simd::zipLow(p.a, p.b));
    simd::store(x + 2 * j + 4, simd::zipHigh(p.a, p.b));
  }
  static size_t first(size_t j, size_t) { return 2 * j; }
  static size_t second(size_t j, size_t) { return 2 * j + 1; }
};

// Pairs j .. j + 3.
template <class From, class To>
inline void rotateFour(float* out, const float* in, const float* cos, const float* sin, size_t j,
                       size_t pairs) {
  const PairBlock x = From::load(in, j, pairs);
  const simd::f32x4 c = simd::load(cos + j);
  const simd::f32x4 s = simd::load(sin + j);
  To::store(out, j, pairs,
            {simd::negMulAdd(x.b, s, simd::mul(x.a, c)), simd::mulAdd(x.b, c, simd::mul(x.a, s))});
}

// out, in: 2 * pairs floats, read as From pairs them and written as To does; the same array only if those
// agree. cos, sin: pairs floats. Any number of pairs, including 0.
template <class From, class To>
inline void rotatePairs(float* out, const float* in, const float* cos, const float* sin, size_t pairs) {
  constexpr size_t kStep = 4 * simd::kLanes;  // compilers for wasm do not unroll on their own
  size_t j = 0;
  for (; j + kStep <= pairs; j += kStep) {
    for (size_t k = 0; k < kStep; k += simd::kLanes) rotateFour<From, To>(out, in, cos, sin, j + k, pairs);
  }
  for (; j + simd::kLanes <= pairs; j += simd::kLanes) rotateFour<From, To>(out, in, cos, sin, j, pairs);
  for (; j < pairs; ++j) {
    const float a = in[From::first(j, pairs)];
    const float b = in[From::second(j, pairs)];
    out[To::first(j, pairs)] = a * cos[j] - b * sin[j];
    out[To::second(j, pairs)] = a * sin[j] + b * cos[j];
  }
}

}  // namespace ropewalk
