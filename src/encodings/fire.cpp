#include "encodings/fire.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "memory.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

float psiOf(const FireTerms& terms, double distance) {
  return static_cast<float>(std::log1p(terms.c * distance));
}

f32x4 network(f32x4 share, const FireTerms& terms, size_t h) {
  f32x4 sum = simd::splat(terms.out_bias[h]);
  for (size_t w = 0; w < terms.width; ++w) {
    const f32x4 hidden =
        simd::mulAdd(simd::splat(terms.hidden_weights[w]), share, simd::splat(terms.hidden_bias[w]));
    const f32x4 kept = simd::max(simd::splat(0), hidden);  // in this order NaN stays NaN
    sum = simd::mulAdd(simd::splat(terms.out_weights[h * terms.width + w]), kept, sum);
  }
  return sum;
}

}  // namespace

Status fireDistances(const FireOptions& options, float* out) {
  const FireTerms& terms = options.terms;
  const bool in_range = terms.c > 0 && std::isfinite(terms.c) && terms.threshold > 0 &&
                        std::isfinite(terms.threshold) &&
                        psiOf(terms, terms.threshold) >= std::numeric_limits<float>::min();
  if (!in_range) return Status::kInvalidArgument;
  if (options.queries == 0 || options.keys == 0) return Status::kOk;
  const int64_t first = -options.query_offset - static_cast<int64_t>(options.queries - 1);
  for (size_t n = 0; n < options.queries + options.keys - 1; ++n)
    out[n] = psiOf(terms, std::fabs(static_cast<double>(first + static_cast<int64_t>(n))));
  return Status::kOk;
}

void addFire(float* x, const float* psi, size_t n, const FireTerms& terms, size_t h, int64_t position) {
  const f32x4 normalizer =
      simd::splat(psiOf(terms, std::max(terms.threshold, static_cast<double>(position))));
  for (; n >= kLanes; n -= kLanes, x += kLanes, psi += kLanes)
    simd::store(x, simd::add(simd::load(x), network(simd::div(simd::load(psi), normalizer), terms, h)));
  const f32x4 bias = network(simd::div(simd::loadN(psi, n), normalizer), terms, h);
  simd::storeN(x, simd::add(simd::loadN(x, n), bias), n);
}

Status fireBias(const FireOptions& options, float* out) {
  const auto [terms, heads, queries, keys, offset] = options;
  Buffer<float> psi;
  if (psi.allocate(queries + keys) != Status::kOk) return Status::kOutOfMemory;
  const Status status = fireDistances(options, psi.data());
  if (status != Status::kOk) return status;
  std::fill_n(out, heads * queries * keys, 0.0f);
  for (size_t h = 0; h < heads; ++h) {
    for (size_t i = 0; i < queries; ++i, out += keys)
      addFire(out, psi.data() + queries - 1 - i, keys, terms, h, static_cast<int64_t>(i) + offset);
  }
  return Status::kOk;
}

}  // namespace ropewalk
