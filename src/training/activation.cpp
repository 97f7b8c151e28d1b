#include "training/activation.h"

#include <cmath>

#include "kernels/exp.h"
#include "kernels/gelu.h"
#include "simd.h"
#include "training/parts.h"

namespace ropewalk::training {
namespace {

using simd::f32x4;
using simd::kLanes;

template <class T>
struct ValueAndSlope {
  T value;
  T slope;
};

constexpr size_t kWork = 64;                            // of a number, in multiplications
constexpr double kInverseRoot2Pi = 0.3989422804014327;  // 1 / sqrt(2 pi)

// x Phi(x), and Phi(x) + x phi(x).
struct Gelu {
  ValueAndSlope<f32x4> operator()(f32x4 x) const {
    using namespace simd;
    const GeluConstants& c = *hidden(&kGeluConstants);
    const f32x4 zero = splat(0);
    const f32x4 one = splat(1);
    const f32x4 magnitude = min(splat(c.largest), max(x, sub(zero, x)));
    const f32x4 is_near = lessThan(magnitude, one);
    const f32x4 near_phi = mulAdd(x, polynomial(c.near_zero, mul(x, x)), splat(c.half));
    const f32x4 tail = geluTail(magnitude, c);
    const f32x4 below = div(tail, max(magnitude, one));  // Phi(-|x|) where |x| >= 1
    const f32x4 far_phi = select(lessThan(x, zero), below, sub(one, below));
    const f32x4 far_value = sub(max(zero, x), tail);  // in this order NaN stays NaN
    const f32x4 phi = select(is_near, near_phi, far_phi);
    const f32x4 density = mul(exp(mul(mul(magnitude, magnitude), splat(c.minus_half))),
                              splat(static_cast<float>(kInverseRoot2Pi)));
    return {select(is_near, mul(x, near_phi), far_value), mulAdd(x, density, phi)};
  }
  ValueAndSlope<double> operator()(double x) const {
    const double phi = 0.5 * std::erfc(-x * 0.7071067811865476);
    return {x * phi, phi + x * kInverseRoot2Pi * std::exp(-0.5 * x * x)};
  }
};

// With s = 1 / (1 + e^-x): x s, and s (1 + x (1 - s)).
struct Silu {
  ValueAndSlope<f32x4> operator()(f32x4 x) const {
    using namespace simd;
    const f32x4 zero = splat(0);
    const f32x4 one = splat(1);
    const f32x4 negative = lessThan(x, zero);
    const f32x4 e = exp(select(negative, x, sub(zero, x)));
    const f32x4 s = div(select(negative, e, one), add(one, e));
    return {mul(x, s), mul(s, mulAdd(x, sub(one, s), one))};
  }
  ValueAndSlope<double> operator()(double x) const {
    const double s = 1 / (1 + std::exp(-x));
    return {x * s, s * (1 + x * (1 - s))};
  }
};

template <class F>
void apply(F f, float* out, float* slope, const float* x, size_t n) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const ValueAndSlope<f32x4> y = f(simd::load(x + i));
    simd::store(out + i, y.value);
    simd::store(slope + i, y.slope);
  }
  const ValueAndSlope<f32x4> y = f(simd::loadN(x + i, n - i));
  simd::storeN(out + i, y.value, n - i);
  simd::storeN(slope + i, y.slope, n - i);
}

template <class F>
void apply(F f, double* out, double* slope, const double* x, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const ValueAndSlope<double> y = f(x[i]);
    out[i] = y.value;
    slope[i] = y.slope;
  }
}

}  // namespace

template <class T>
void activateWithSlope(Activation f, T* out, T* slope, const T* x, size_t n) {
  eachPart(n, kWork, [&](size_t begin, size_t end) {
    if (f == Activation::kSilu) {
      apply(Silu{}, out + begin, slope + begin, x + begin, end - begin);
    } else {
      apply(Gelu{}, out + begin, slope + begin, x + begin, end - begin);
    }
  });
}

template void activateWithSlope(Activation, float*, float*, const float*, size_t);
template void activateWithSlope(Activation, double*, double*, const double*, size_t);

}  // namespace ropewalk::training
