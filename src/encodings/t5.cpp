#include "encodings/t5.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "angles/real.h"

namespace ropewalk {
namespace {

// Whether ln(n / exact) / ln(max / exact) * buckets >= step. Doubles decide unless they are too near to tell,
// since the logarithms of 256 bits take milliseconds for a table. Equality happens where n is a whole power,
// and those then agree to all but the last few of their bits.
bool reaches(int64_t n, int64_t exact, int64_t max, size_t buckets, size_t step) {
  const auto rough = [&](int64_t x) {
    return std::log1p(static_cast<double>(x - exact) / static_cast<double>(exact));
  };
  const double far = rough(n) * static_cast<double>(buckets);
  const double edge = rough(max) * static_cast<double>(step);
  if (std::abs(far - edge) >= 1e-12 * (far + edge)) return far >= edge;
  const auto ratio = [&](int64_t x) {
    return log(Real(static_cast<double>(x)) / static_cast<double>(exact));
  };
  const Real difference = ratio(n) * static_cast<double>(buckets) - ratio(max) * static_cast<double>(step);
  return !(difference < -0x1p-200);
}

}  // namespace

Status T5Buckets::create(const T5Options& options) {
  const size_t half = options.bidirectional ? options.num_buckets / 2 : options.num_buckets;
  const size_t exact = half / 2;
  if (half < 2 || (options.bidirectional && options.num_buckets % 2 != 0)) return Status::kInvalidArgument;
  if (options.max_distance <= static_cast<int64_t>(exact)) return Status::kInvalidArgument;

  const size_t far = half - exact;
  T5Buckets made;
  if (made.starts_.allocate(far) != Status::kOk) return Status::kOutOfMemory;
  for (size_t step = 0; step < far; ++step) {
    int64_t low = static_cast<int64_t>(exact);
    int64_t high = options.max_distance;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (reaches(middle, static_cast<int64_t>(exact), options.max_distance, far, step)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    made.starts_[step] = low;
  }
  made.options_ = options;
  made.half_ = half;
  *this = std::move(made);
  return Status::kOk;
}

size_t T5Buckets::bucket(int64_t relative) const {
  const bool after = relative > 0;
  const size_t first = options_.bidirectional && after ? half_ : 0;
  const int64_t distance = options_.bidirectional ? (after ? relative : -relative) : after ? 0 : -relative;
  const size_t exact = half_ / 2;
  if (distance < static_cast<int64_t>(exact)) return first + static_cast<size_t>(distance);
  const int64_t* end = starts_.data() + starts_.size();
  const auto step = static_cast<size_t>(std::upper_bound(starts_.data(), end, distance) - starts_.data());
  return first + exact + step - 1;
}

void T5Buckets::bias(const float* table, size_t heads, size_t queries, size_t keys, int64_t query_offset,
                     float* out) const {
  for (size_t i = 0; i < queries; ++i) {
    for (size_t j = 0; j < keys; ++j) {
      const size_t row = bucket(static_cast<int64_t>(j) - static_cast<int64_t>(i) - query_offset);
      for (size_t h = 0; h < heads; ++h) out[(h * queries + i) * keys + j] = table[row * heads + h];
    }
  }
}

}  // namespace ropewalk
