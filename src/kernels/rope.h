// Rotation of the pairs of rows: (a, b) -> (a cos - b sin, a sin + b cos).
// The two pairings of the field are two ways to load and store the same pairs.
#pragma once

#include <cstddef>
#include <type_traits>

#include "simd.h"

namespace ropewalk {

// Four pairs, or what they are to be multiplied by: cosines and sines.
struct PairBlock {
  simd::f32x4 a;
  simd::f32x4 b;
};

inline PairBlock turned(PairBlock x, PairBlock by) {
  using namespace simd;
  return {negMulAdd(x.b, by.b, mul(x.a, by.a)), mulAdd(x.a, by.b, mul(x.b, by.a))};
}

// Pair j is (x[j], x[pairs + j]): GPT-NeoX, Hugging Face LLaMA.
struct HalfPairs {
  static PairBlock load(const float* x, size_t j, size_t pairs) {
    return {simd::load(x + j), simd::load(x + pairs + j)};
  }
  static void store(float* x, size_t j, size_t pairs, PairBlock p) {
    simd::store(x + j, p.a);
    simd::store(x + pairs + j, p.b);
  }
  // Pairs j .. j + 3 of Rows rows, `stride` floats apart.
  template <size_t Rows>
  static void turn(float* x, size_t stride, size_t j, size_t pairs, PairBlock by) {
    for (size_t r = 0; r < Rows; ++r)
      store(x + r * stride, j, pairs, turned(load(x + r * stride, j, pairs), by));
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
  // The pairs stay as they lie, which is worth it from the second row on: x cos + (b, a) (-sin, sin).
  template <size_t Rows>
  static void turn(float* x, size_t stride, size_t j, size_t, PairBlock by) {
    using namespace simd;
    const f32x4 opposite = sub(splat(-0.0f), by.b);
    const f32x4 cos[] = {zipLow(by.a, by.a), zipHigh(by.a, by.a)};
    const f32x4 sin[] = {zipLow(opposite, by.b), zipHigh(opposite, by.b)};
    for (size_t r = 0; r < Rows; ++r) {
      for (size_t v = 0; v < 2; ++v) {
        float* const p = x + r * stride + 2 * j + v * kLanes;
        const f32x4 two = simd::load(p);
        simd::store(p, mulAdd(swapNeighbours(two), sin[v], mul(two, cos[v])));
      }
    }
  }
  static size_t first(size_t j, size_t) { return 2 * j; }
  static size_t second(size_t j, size_t) { return 2 * j + 1; }
};

// 4 * Vectors pairs of Rows rows, `stride` floats apart, from the one that out and in begin with. Several
// rows are turned in place.
template <class From, class To, size_t Rows, size_t Vectors>
inline void turnVectors(float* out, const float* in, size_t stride, const float* cos, const float* sin,
                        size_t pairs) {
  static_assert(Rows == 1 || std::is_same_v<From, To>);
  using namespace simd;
  for (size_t j = 0; j < Vectors * kLanes; j += kLanes) {
    const PairBlock by = {load(cos + j), load(sin + j)};
    if constexpr (Rows == 1) {
      To::store(out, j, pairs, turned(From::load(in, j, pairs), by));
    } else {
      To::template turn<Rows>(out, stride, j, pairs, by);
    }
  }
}

// Inlined, so that rows turned in place have one address and not two.
template <class From, class To, size_t Rows>
[[gnu::always_inline]] inline void turnRows(float* out, const float* in, size_t stride, const float* cos,
                                            const float* sin, size_t pairs) {
  // Compilers for wasm do not unroll on their own. Another pairing is rarely asked for.
  constexpr size_t kVectors = std::is_same_v<From, To> ? 4 : 1;
  size_t j = 0;
  for (; j + kVectors * simd::kLanes <= pairs; j += kVectors * simd::kLanes) {
    turnVectors<From, To, Rows, kVectors>(out + To::first(j, pairs), in + From::first(j, pairs), stride,
                                          cos + j, sin + j, pairs);
  }
  for (; kVectors > 1 && j + simd::kLanes <= pairs; j += simd::kLanes) {
    turnVectors<From, To, Rows, 1>(out + To::first(j, pairs), in + From::first(j, pairs), stride, cos + j,
                                   sin + j, pairs);
  }
  for (; j < pairs; ++j) {
    for (size_t r = 0; r < Rows; ++r) {
      const float a = in[r * stride + From::first(j, pairs)];
      const float b = in[r * stride + From::second(j, pairs)];
      out[r * stride + To::first(j, pairs)] = a * cos[j] - b * sin[j];
      out[r * stride + To::second(j, pairs)] = a * sin[j] + b * cos[j];
    }
  }
}

// out, in: 2 * pairs floats, read as From pairs them and written as To does; the same array only if those
// agree. cos, sin: pairs floats. Any number of pairs, including 0.
template <class From, class To>
[[gnu::noinline]] void rotatePairs(float* out, const float* in, const float* cos, const float* sin,
                                   size_t pairs) {
  turnRows<From, To, 1>(out, in, 0, cos, sin, pairs);
}

// The same in place for Rows rows, `stride` floats apart, which read their tables once.
template <class Pairs, size_t Rows>
[[gnu::noinline]] void rotateRows(float* x, size_t stride, const float* cos, const float* sin, size_t pairs) {
  turnRows<Pairs, Pairs, Rows>(x, x, stride, cos, sin, pairs);
}

// Heads of a token that are turned together, by one reading of its row of the tables: more take more
// registers than there are.
inline constexpr size_t kHeadsTogether = 4;

// f(first head, their number), the number as a constant, Together or 1.
template <size_t Together = kHeadsTogether, class F>
inline void forHeads(size_t heads, F f) {
  size_t h = 0;
  for (; h + Together <= heads; h += Together) f(h, std::integral_constant<size_t, Together>());
  for (; h < heads; ++h) f(h, std::integral_constant<size_t, 1>());
}

}  // namespace ropewalk
