// A softmax whose scores come block by block: the largest so far and the sum of e^(x - largest). What was
// summed before a larger score came is to be multiplied by a factor that each step gives (Milakov and
// Gimelshein, arXiv:1805.02867).
#pragma once

#include <cstddef>
#include <limits>

#include "kernels/exp.h"
#include "kernels/tile.h"
#include "simd.h"

namespace ropewalk {

class OnlineSoftmax {
 public:
  // With a score that has no value to give; -infinity: none.
  void start(float sink) {
    max_ = sink;
    sum_ = sink == kNone ? 0 : 1 + static_cast<double>(sink - sink);  // NaN for an infinite sink
  }

  // x[i] = e^(scale (x[i] - largest so far)), n a multiple of kTileColumns; gives the factor. exp_of is of
  // the same scale at each step. -infinity gives exactly 0, so that it is the same whether or not a row's
  // hidden scores are handed in.
  float add(float* x, size_t n, const ScaledExp& exp_of) {
    const float new_max = largestWith(x, n);
    const float shift = shiftOf(new_max);
    float factor = 1;
    if (new_max != max_) factor = max_ == kNone ? 0 : simd::lane0(exp_of(simd::splat(max_ - shift)));
    max_ = new_max;
    sum_ = sum_ * static_cast<double>(factor) + static_cast<double>(exponentials(x, n, shift, exp_of));
    return factor;
  }

  // e^(x - shift()) * inverse() is the probability of score x.
  float shift() const { return shiftOf(max_); }
  // 0 where there was no score.
  float inverse() const { return sum_ == 0 ? 0 : static_cast<float>(1 / sum_); }

 private:
  static constexpr float kNone = -std::numeric_limits<float>::infinity();

  // The largest of the scores and those before. NaN is passed by, in the order of the operands; one that is
  // the sink's stays.
  float largestWith(const float* x, size_t n) const {
    simd::f32x4 one = simd::splat(max_);
    simd::f32x4 other = simd::splat(kNone);
    for (size_t i = 0; i < n; i += 2 * simd::kLanes) {
      one = simd::max(simd::load(x + i), one);
      other = simd::max(simd::load(x + i + simd::kLanes), other);
    }
    return simd::maxLane(simd::max(other, one));
  }

  static float exponentials(float* x, size_t n, float shift, ScaledExp exp_of) {
    const simd::f32x4 shifts = simd::splat(shift);
    simd::f32x4 sums = simd::splat(0);
    for (size_t i = 0; i < n; i += simd::kLanes) {
      const simd::f32x4 e = exp_of(simd::sub(simd::load(x + i), shifts));
      simd::store(x + i, e);
      sums = simd::add(sums, e);
    }
    return simd::sum(sums);
  }

  static float shiftOf(float max) { return max == kNone ? 0 : max; }

  float max_ = kNone;
  double sum_ = 0;
};

}  // namespace ropewalk
