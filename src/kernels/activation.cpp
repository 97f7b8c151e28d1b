#include "kernels/activation.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/exp.h"
#include "kernels/gelu.h"
#include "kernels/map_row.h"
#include "kernels/tanh.h"
#include "parallel.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

constexpr size_t kElementWork = 32;  // multiplications that take as long as one number

// x / (1 + e^-u). Only the exponential of -|u| is asked for, which cannot overflow.
f32x4 timesSigmoid(f32x4 x, f32x4 u) {
  const f32x4 zero = simd::splat(0);
  const f32x4 negative = simd::lessThan(u, zero);
  const f32x4 e = exp(simd::select(negative, u, simd::sub(zero, u)));
  // Where e is 0, -infinity must not meet it; in this order NaN stays NaN.
  const f32x4 lowest = simd::splat(std::numeric_limits<float>::lowest());
  const f32x4 numerator = simd::select(negative, simd::mul(simd::max(lowest, x), e), x);
  return simd::div(numerator, simd::add(simd::splat(1), e));
}

struct Gelu {
  f32x4 operator()(f32x4 x) const { return gelu(x); }
};

struct GeluTanh {
  f32x4 operator()(f32x4 x) const {
    // (1 + tanh u) / 2 = 1 / (1 + e^-2u), which loses nothing left of 0.
    constexpr float kScale = 1.59576912f;  // 2 sqrt(2 / pi)
    const f32x4 square = simd::mul(x, x);
    const f32x4 inner = simd::mulAdd(square, simd::splat(0.044715f * kScale), simd::splat(kScale));
    return timesSigmoid(x, simd::mul(x, inner));
  }
};

struct Silu {
  f32x4 operator()(f32x4 x) const { return timesSigmoid(x, x); }
};

struct Relu {
  f32x4 operator()(f32x4 x) const { return simd::max(simd::splat(0), x); }  // in this order NaN stays NaN
};

struct Tanh {
  f32x4 operator()(f32x4 x) const { return tanh(x); }
};

// Calls work with the function object of f.
template <class Work>
void with(Activation f, Work work) {
  switch (f) {
    case Activation::kGelu:
      return work(Gelu{});
    case Activation::kGeluTanh:
      return work(GeluTanh{});
    case Activation::kSilu:
      return work(Silu{});
    case Activation::kRelu:
      return work(Relu{});
    case Activation::kTanh:
      return work(Tanh{});
  }
}

}  // namespace

void activate(Activation f, float* out, const float* x, size_t n) {
  parallelFor(n, grainOf(kElementWork), [&](const Share& share) {
    with(f, [&](auto function) {
      mapRow(out + share.first, x + share.first, share.end - share.first, function);
    });
  });
}

void activateGated(Activation f, float* out, const float* gate, const float* up, size_t n) {
  parallelFor(n, grainOf(kElementWork), [&](const Share& share) {
    // Piece by piece, by the function's one loop.
    constexpr size_t kPiece = 256;
    float piece[kPiece];
    for (size_t i = share.first; i < share.end; i += kPiece) {
      const size_t count = std::min(kPiece, share.end - i);
      activate(f, piece, gate + i, count);
      size_t j = 0;
      for (; j + kLanes <= count; j += kLanes) {
        simd::store(out + i + j, simd::mul(simd::load(piece + j), simd::load(up + i + j)));
      }
      if (j < count) {
        simd::storeN(out + i + j, simd::mul(simd::load(piece + j), simd::loadN(up + i + j, count - j)),
                     count - j);
      }
    }
  });
}

}  // namespace ropewalk
