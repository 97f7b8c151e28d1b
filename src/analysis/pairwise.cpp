#include "analysis/pairwise.h"

#include <algorithm>
#include <cmath>

namespace ropewalk {
namespace {

double dot(const float* a, const float* b, size_t dim) {
  double sum = 0;
  for (size_t d = 0; d < dim; ++d) sum += static_cast<double>(a[d]) * static_cast<double>(b[d]);
  return sum;
}

double cosine(const float* a, const float* b, size_t dim) {
  const double norms = std::sqrt(dot(a, a, dim)) * std::sqrt(dot(b, b, dim));
  return norms == 0 ? 0 : dot(a, b, dim) / norms;
}

double euclidean(const float* a, const float* b, size_t dim) {
  double sum = 0;
  for (size_t d = 0; d < dim; ++d) {
    const double step = static_cast<double>(a[d]) - static_cast<double>(b[d]);
    sum += step * step;
  }
  return std::sqrt(sum);
}

double hamming(const float* a, const float* b, size_t dim) {
  size_t count = 0;
  for (size_t d = 0; d < dim; ++d) count += a[d] != b[d] ? 1 : 0;
  return static_cast<double>(count);
}

// Indexed by Measure.
constexpr double (*kMeasures[])(const float*, const float*, size_t) = {dot, cosine, euclidean, hamming};

}  // namespace

Status pairwise(Measure measure, const float* x, size_t rows, size_t dim, float* out) {
  const auto kind = static_cast<size_t>(measure);
  if (kind >= sizeof(kMeasures) / sizeof(kMeasures[0])) return Status::kInvalidArgument;
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      out[i * rows + j] = out[j * rows + i] =
          static_cast<float>(kMeasures[kind](x + i * dim, x + j * dim, dim));
    }
  }
  return Status::kOk;
}

bool firstDuplicate(const float* x, size_t rows, size_t dim, size_t* first, size_t* second) {
  for (size_t j = 1; j < rows; ++j) {
    for (size_t i = 0; i < j; ++i) {
      if (!std::equal(x + i * dim, x + (i + 1) * dim, x + j * dim)) continue;
      *first = i;
      *second = j;
      return true;
    }
  }
  return false;
}

}  // namespace ropewalk
