#include "training/norm.h"

#include <cmath>

#include "parallel.h"
#include "training/lanes.h"
#include "training/parts.h"

namespace ropewalk::training {
namespace {

constexpr size_t kWork = 16;  // of a number, in multiplications

// Of a row whose squares are beyond the type. Not a number where a number of the row is none.
template <class T>
T inverseOfLong(const T* x, size_t n) {
  double largest = 0;
  for (size_t i = 0; i < n; ++i) largest = std::fabs(x[i]) > largest ? std::fabs(x[i]) : largest;
  double squares = 0;
  for (size_t i = 0; i < n; ++i) squares += (x[i] / largest) * (x[i] / largest);
  return static_cast<T>(1 / (std::sqrt(squares / static_cast<double>(n)) * largest));
}

}  // namespace

template <class T>
void normForward(T* all_out, NormMoments<T> moments, const T* all_x, NormParts<const T> parts, T eps,
                 size_t rows, size_t n) {
  const bool centered = parts.bias != nullptr;
  const T count = static_cast<T>(n);
  parallelFor(rows, grainOf(kWork, n), [&](const Share& share) {
    for (size_t r = share.first; r < share.end; ++r) {
      const T* const x = all_x + r * n;
      T* const out = all_out + r * n;
      const T mean = centered ? sum(x, n) / count : T{0};
      for (size_t i = 0; i < n; ++i) out[i] = x[i] - mean;
      const T squares = dot(out, out, n) / count;
      const T inverse = std::isfinite(squares) ? 1 / std::sqrt(squares + eps) : inverseOfLong(out, n);
      for (size_t i = 0; i < n; ++i) out[i] *= inverse * parts.weight[i];
      if (centered) addScaled(out, T{1}, parts.bias, n);
      moments.mean[r] = mean;
      moments.inverse[r] = inverse;
    }
  });
}

template <class T>
void normBackward(T* all_dx, NormParts<T> gradients, const T* all_dout, const T* all_x,
                  NormMoments<const T> moments, NormParts<const T> parts, size_t rows, size_t n) {
  using L = Lanes<T>;
  const bool centered = parts.bias != nullptr;
  const T count = static_cast<T>(n);
  parallelFor(rows, grainOf(kWork, n), [&](const Share& share) {
    for (size_t r = share.first; r < share.end; ++r) {
      const T* const x = all_x + r * n;
      const T* const dout = all_dout + r * n;
      T* const dx = all_dx + r * n;
      const T mean = moments.mean[r];
      const T inverse = moments.inverse[r];
      // With g = dout weight and xhat = (x - mean) inverse:
      // dx = inverse (g - mean of g (layer norm only) - xhat mean of g xhat).
      auto products = L::splat(0);
      auto sums = L::splat(0);
      size_t i = 0;
      for (; i + L::kCount <= n; i += L::kCount) {
        const auto d = L::load(dout + i);
        const auto g = L::mul(d, L::load(parts.weight + i));
        const auto xhat = L::mul(L::sub(L::load(x + i), L::splat(mean)), L::splat(inverse));
        products = L::mulAdd(g, xhat, products);
        sums = L::add(sums, g);
      }
      T along = L::sum(products);
      T total = L::sum(sums);
      for (; i < n; ++i) {
        const T xhat = (x[i] - mean) * inverse;
        along += dout[i] * parts.weight[i] * xhat;
        total += dout[i] * parts.weight[i];
      }
      along /= count;
      total = centered ? total / count : T{0};
      for (i = 0; i < n; ++i) {
        const T xhat = (x[i] - mean) * inverse;
        dx[i] += inverse * (dout[i] * parts.weight[i] - total - xhat * along);
      }
    }
  });
  // Those of the parts are sums over rows: by columns.
  eachPart(n, rows * kCopyWork, [&](size_t begin, size_t end) {
    for (size_t r = 0; r < rows; ++r) {
      const T* const x = all_x + r * n;
      const T* const dout = all_dout + r * n;
      const T mean = moments.mean[r];
      const T inverse = moments.inverse[r];
      size_t i = begin;
      for (; i + L::kCount <= end; i += L::kCount) {
        const auto xhat = L::mul(L::sub(L::load(x + i), L::splat(mean)), L::splat(inverse));
        L::store(gradients.weight + i, L::mulAdd(L::load(dout + i), xhat, L::load(gradients.weight + i)));
      }
      for (; i < end; ++i) gradients.weight[i] += dout[i] * ((x[i] - mean) * inverse);
      if (centered) addScaled(gradients.bias + begin, T{1}, dout + begin, end - begin);
    }
  });
}

template void normForward(float*, NormMoments<float>, const float*, NormParts<const float>, float, size_t,
                          size_t);
template void normForward(double*, NormMoments<double>, const double*, NormParts<const double>, double,
                          size_t, size_t);
template void normBackward(float*, NormParts<float>, const float*, const float*, NormMoments<const float>,
                           NormParts<const float>, size_t, size_t);
template void normBackward(double*, NormParts<double>, const double*, const double*,
                           NormMoments<const double>, NormParts<const double>, size_t, size_t);

}  // namespace ropewalk::training
