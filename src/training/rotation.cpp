#include "training/rotation.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/exp.h"
#include "kernels/rope.h"
#include "simd.h"

namespace ropewalk::training {
namespace {

template <class Pairs, class T>
void turnPairs(T* x, size_t stride, size_t tokens, const AngleTables<T>& tables, T sign) {
  const size_t pairs = tables.angles;
  for (size_t t = 0; t < tokens; ++t) {
    T* const row = x + t * stride;
    const T* const cos = tables.cos + t * pairs;
    const T* const sin = tables.sin + t * pairs;
    size_t j = 0;
    if constexpr (std::is_same_v<T, float>) {
      for (; j + simd::kLanes <= pairs; j += simd::kLanes) {
        const PairBlock by = {simd::load(cos + j), simd::mul(simd::splat(sign), simd::load(sin + j))};
        Pairs::store(row, j, pairs, turned(Pairs::load(row, j, pairs), by));
      }
    }
    for (; j < pairs; ++j) {
      const T a = row[Pairs::first(j, pairs)];
      const T b = row[Pairs::second(j, pairs)];
      const T s = sign * sin[j];
      row[Pairs::first(j, pairs)] = a * cos[j] - b * s;
      row[Pairs::second(j, pairs)] = a * s + b * cos[j];
    }
  }
}

// ln(1 + e) for e in [0, 1], as 2 artanh(s) by s = e / (2 + e) <= 1 / 3: what is left out is below 2^-29 of
// it.
simd::f32x4 log1pOfShare(simd::f32x4 e) {
  using namespace simd;
  constexpr float kTerms[] = {2.0f / 15, 2.0f / 13, 2.0f / 11, 2.0f / 9, 2.0f / 7, 2.0f / 5, 2.0f / 3, 2};
  const f32x4 s = div(e, add(splat(2), e));
  return mul(s, polynomial(kTerms, mul(s, s)));
}

// With e = e^-|x|: ln(1 + e^x) = max(0, x) + ln(1 + e), and its slope 1 / (1 + e^-x), without overflow.
void softplus(float* value, float* slope, const float* x, size_t n) {
  using namespace simd;
  const Exp exp_of;
  const f32x4 zero = splat(0);
  const f32x4 one = splat(1);
  for (size_t i = 0; i < n; i += kLanes) {
    const size_t count = n - i < kLanes ? n - i : kLanes;
    const f32x4 v = loadN(x + i, count);
    const f32x4 negative = lessThan(v, zero);
    const f32x4 e = exp_of(select(negative, v, sub(zero, v)));
    storeN(value + i, add(max(zero, v), log1pOfShare(e)), count);  // in this order NaN stays NaN
    storeN(slope + i, div(select(negative, e, one), add(one, e)), count);
  }
}

void softplus(double* value, double* slope, const double* x, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    value[i] = (x[i] > 0 ? x[i] : 0) + std::log1p(std::exp(-std::fabs(x[i])));
    slope[i] = 1 / (1 + std::exp(-x[i]));
  }
}

constexpr size_t kCoordinates = 64;  // that PoPE has at a time

// Some coordinates of a token: cosine and sine of the angles of the tables plus phases, magnitudes and their
// slopes.
template <class T>
struct PopeRow {
  T cos[kCoordinates];
  T sin[kCoordinates];
  T magnitude[kCoordinates];
  T slope[kCoordinates];
};

// f(row, token, first coordinate, their number) for all of x.
template <class T, class F>
void eachPopeRow(const T* x, size_t stride, size_t tokens, const AngleTables<T>& tables, const T* phases,
                 F f) {
  const size_t dim = tables.angles;
  for (size_t first = 0; first < dim; first += kCoordinates) {
    const size_t n = std::min(kCoordinates, dim - first);
    T cos_phase[kCoordinates];
    T sin_phase[kCoordinates];
    for (size_t c = 0; c < n; ++c) {
      cos_phase[c] = phases == nullptr ? 1 : std::cos(phases[first + c]);
      sin_phase[c] = phases == nullptr ? 0 : std::sin(phases[first + c]);
    }
    PopeRow<T> row;
    for (size_t t = 0; t < tokens; ++t) {
      const T* const cos = tables.cos + t * dim + first;
      const T* const sin = tables.sin + t * dim + first;
      for (size_t c = 0; c < n; ++c) {
        row.cos[c] = cos[c] * cos_phase[c] - sin[c] * sin_phase[c];
        row.sin[c] = sin[c] * cos_phase[c] + cos[c] * sin_phase[c];
      }
      softplus(row.magnitude, row.slope, x + t * stride + first, n);
      f(row, t, first, n);
    }
  }
}

}  // namespace

SinCos sinCosOf(Turns phase) {
  return sinCos(phase);
}

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
  eachPopeRow(x, stride, tokens, tables, phases,
              [&](const PopeRow<T>& row, size_t t, size_t first, size_t n) {
                T* const to = out + t * 2 * dim + first;
                for (size_t c = 0; c < n; ++c) to[c] = row.magnitude[c] * row.cos[c];
                for (size_t c = 0; c < n; ++c) to[dim + c] = row.magnitude[c] * row.sin[c];
              });
}

template <class T>
void popeBackward(T* dx, T* dphases, const T* dout, const T* x, size_t stride, size_t tokens,
                  const AngleTables<T>& tables, const T* phases) {
  const size_t dim = tables.angles;
  eachPopeRow(x, stride, tokens, tables, phases,
              [&](const PopeRow<T>& row, size_t t, size_t first, size_t n) {
                const T* const by_cos = dout + t * 2 * dim + first;
                const T* const by_sin = by_cos + dim;
                T* const to = dx + t * stride + first;
                for (size_t c = 0; c < n; ++c)
                  to[c] = (by_cos[c] * row.cos[c] + by_sin[c] * row.sin[c]) * row.slope[c];
                for (size_t c = 0; dphases != nullptr && c < n; ++c)
                  dphases[first + c] += (by_sin[c] * row.cos[c] - by_cos[c] * row.sin[c]) * row.magnitude[c];
              });
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
