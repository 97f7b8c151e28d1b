#include "training/rotation.h"

#include <cmath>

#include "kernels/rope.h"

namespace ropewalk::training {
namespace {

template <class Pairs, class T>
void turnPairs(T* x, size_t stride, size_t tokens, const AngleTables<T>& tables, T sign) {
  const size_t pairs = tables.angles;
  for (size_t t = 0; t < tokens; ++t) {
    T* const row = x + t * stride;
    const T* const cos = tables.cos + t * pairs;
    const T* const sin = tables.sin + t * pairs;
    for (size_t j = 0; j < pairs; ++j) {
      const T a = row[Pairs::first(j, pairs)];
      const T b = row[Pairs::second(j, pairs)];
      const T s = sign * sin[j];
      row[Pairs::first(j, pairs)] = a * cos[j] - b * s;
      row[Pairs::second(j, pairs)] = a * s + b * cos[j];
    }
  }
}

// Cosine and sine of an angle of the tables plus a phase.
template <class T>
struct Direction {
  T cos;
  T sin;

  Direction(const AngleTables<T>& tables, size_t t, size_t c, const T* phases) {
    const T cos_t = tables.cos[t * tables.angles + c];
    const T sin_t = tables.sin[t * tables.angles + c];
    const T cos_p = phases == nullptr ? 1 : std::cos(phases[c]);
    const T sin_p = phases == nullptr ? 0 : std::sin(phases[c]);
    cos = cos_t * cos_p - sin_t * sin_p;
    sin = sin_t * cos_p + cos_t * sin_p;
  }
};

// ln(1 + e^x) without overflow.
template <class T>
T softplus(T x) {
  return (x > 0 ? x : T{0}) + std::log1p(std::exp(-std::fabs(x)));
}

}  // namespace

template <class T>
void turnRows(T* x, size_t stride, size_t tokens, const AngleTables<T>& tables, Pairing pairing, Turn turn) {
  const T sign = turn == Turn::kForward ? 1 : -1;
  if (pairing == Pairing::kHalf) {
    turnPairs<HalfPairs>(x, stride, tokens, tables, sign);
  } else {
    turnPairs<InterleavedPairs>(x, stride, tokens, tables, sign);
  }
}

template <class T>
void popeForward(T* out, const T* x, size_t stride, size_t tokens, const AngleTables<T>& tables,
                 const T* phases) {
  const size_t dim = tables.angles;
  for (size_t t = 0; t < tokens; ++t, out += 2 * dim) {
    for (size_t c = 0; c < dim; ++c) {
      const Direction<T> direction(tables, t, c, phases);
      const T magnitude = softplus(x[t * stride + c]);
      out[c] = magnitude * direction.cos;
      out[dim + c] = magnitude * direction.sin;
    }
  }
}

template <class T>
void popeBackward(T* dx, T* dphases, const T* dout, const T* x, size_t stride, size_t tokens,
                  const AngleTables<T>& tables, const T* phases) {
  const size_t dim = tables.angles;
  for (size_t t = 0; t < tokens; ++t, dout += 2 * dim) {
    for (size_t c = 0; c < dim; ++c) {
      const Direction<T> direction(tables, t, c, phases);
      const T value = x[t * stride + c];
      const T along = dout[c] * direction.cos + dout[dim + c] * direction.sin;
      const T across = dout[dim + c] * direction.cos - dout[c] * direction.sin;
      dx[t * stride + c] = along / (1 + std::exp(-value));
      if (dphases != nullptr) dphases[c] += across * softplus(value);
    }
  }
}

template void turnRows(float*, size_t, size_t, const AngleTables<float>&, Pairing, Turn);
template void turnRows(double*, size_t, size_t, const AngleTables<double>&, Pairing, Turn);
template void popeForward(float*, const float*, size_t, size_t, const AngleTables<float>&, const float*);
template void popeForward(double*, const double*, size_t, size_t, const AngleTables<double>&, const double*);
template void popeBackward(float*, float*, const float*, const float*, size_t, size_t,
                           const AngleTables<float>&, const float*);
template void popeBackward(double*, double*, const double*, const double*, size_t, size_t,
                           const AngleTables<double>&, const double*);

}  // namespace ropewalk::training
