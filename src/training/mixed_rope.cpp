#include "training/mixed_rope.h"

#include <cmath>
#include <limits>

#include "angles/inverse_frequencies.h"
#include "angles/phase.h"
#include "memory.h"
#include "training/model_parts.h"

namespace ropewalk::training {
namespace {

template <class T>
bool turnsOf(T radians, Turns* turns) {
  if (!(std::fabs(radians) < static_cast<T>(kMaxFrequency))) return false;
  *turns = turnsFromRadians(static_cast<double>(radians));
  return true;
}

}  // namespace

template <class T>
void mixedTables(T* out, MixedFrequencies<const T> frequencies, const MixedShape& shape) {
  const size_t pairs = shape.pairs;
  const size_t n = shape.tokens * pairs;
  for (size_t f = 0; f < shape.heads * pairs; ++f) {
    Turns x = 0;
    Turns y = 0;
    const bool turn = turnsOf(frequencies.x[f], &x) && turnsOf(frequencies.y[f], &y);
    T* const cos = out + f / pairs * 2 * n + f % pairs;
    for (size_t t = 0; t < shape.tokens; ++t) {
      const auto column = static_cast<int64_t>(t % shape.columns);
      const auto row = static_cast<int64_t>(t / shape.columns);
      const SinCos angle = sinCosOf(phaseAt(x, column) + phaseAt(y, row));
      constexpr T kNone = std::numeric_limits<T>::quiet_NaN();
      cos[t * pairs] = turn ? static_cast<T>(angle.cos) : kNone;
      cos[n + t * pairs] = turn ? static_cast<T>(angle.sin) : kNone;
    }
  }
}

template <class T>
void mixedBackward(MixedFrequencies<T> gradients, const T* turned, const T* dturned, size_t stride,
                   const MixedShape& shape, Pairing pairing) {
  const bool halves = pairing == Pairing::kHalf;
  for (size_t t = 0; t < shape.tokens; ++t) {
    const auto column = static_cast<T>(t % shape.columns);
    const size_t y = t / shape.columns;
    const auto row = static_cast<T>(y);
    const T* const x = turned + t * stride;
    const T* const dx = dturned + t * stride;
    for (size_t p = 0; p < shape.pairs; ++p) {
      const size_t a = halves ? p : 2 * p;
      const size_t b = halves ? shape.pairs + p : 2 * p + 1;
      const T by_angle = dx[b] * x[a] - dx[a] * x[b];
      gradients.x[p] += column * by_angle;
      gradients.y[p] += row * by_angle;
    }
  }
}

template <class T>
Status startMixed(const ModelOptions& options, const ParameterLayout& layout, T* parameters) {
  const size_t pairs = options.headDim() / 2;
  const size_t half = (pairs + 1) / 2;
  Buffer<Real> sizes;
  if (sizes.allocate(half) != Status::kOk) return Status::kOutOfMemory;
  const Status status =
      geometricFrequencies(options.position.base, static_cast<double>(2 * half), half, sizes.data());
  for (size_t l = 0; status == Status::kOk && l < options.layers; ++l) {
    const LayerParts<T> parts = layerParts(layout, parameters, l);
    for (size_t h = 0; h < options.heads; ++h) {
      T* const x = parts.mixed.x + h * pairs;
      T* const y = parts.mixed.y + h * pairs;
      const double length = std::sqrt(static_cast<double>(x[0]) * static_cast<double>(x[0]) +
                                      static_cast<double>(y[0]) * static_cast<double>(y[0]));
      const double cos = static_cast<double>(x[0]) / length;
      const double sin = static_cast<double>(y[0]) / length;
      for (size_t p = 0; p < pairs; ++p) {
        const double size = sizes[p % half].toDouble();
        x[p] = static_cast<T>(size * (p < half ? cos : -sin));
        y[p] = static_cast<T>(size * (p < half ? sin : cos));
      }
    }
  }
  return status;
}

template void mixedTables(float*, MixedFrequencies<const float>, const MixedShape&);
template void mixedTables(double*, MixedFrequencies<const double>, const MixedShape&);
template void mixedBackward(MixedFrequencies<float>, const float*, const float*, size_t, const MixedShape&,
                            Pairing);
template void mixedBackward(MixedFrequencies<double>, const double*, const double*, size_t, const MixedShape&,
                            Pairing);
template Status startMixed(const ModelOptions&, const ParameterLayout&, float*);
template Status startMixed(const ModelOptions&, const ParameterLayout&, double*);

}  // namespace ropewalk::training
