#include "encodings/learned.h"

#include <algorithm>

namespace ropewalk {

Status learnedPositions(LearnedMode mode, const LearnedTable& table, const float* x, size_t x_dim,
                        const int64_t* positions, size_t rows, float* out) {
  if (mode != LearnedMode::kConcatenate && x_dim != table.dim) return Status::kInvalidShape;
  for (size_t r = 0; r < rows; ++r) {
    if (positions[r] < 0 || static_cast<uint64_t>(positions[r]) >= table.positions) {
      return Status::kPositionOutOfRange;
    }
  }
  for (size_t r = 0; r < rows; ++r) {
    const float* token = x + r * x_dim;
    const float* row = table.data + static_cast<size_t>(positions[r]) * table.dim;
    if (mode == LearnedMode::kConcatenate) {
      out = std::copy_n(row, table.dim, std::copy_n(token, x_dim, out));
      continue;
    }
    for (size_t d = 0; d < x_dim; ++d) {
      *out++ = mode == LearnedMode::kAdd ? token[d] + row[d] : token[d] * row[d];
    }
  }
  return Status::kOk;
}

Status extendLearned(const LearnedTable& table, double alpha, size_t rows, float* out) {
  const size_t n = table.positions;
  if (n == 0 || (rows != 0 && (rows - 1) / n >= n)) return Status::kInvalidShape;
  if (!(alpha > 0 && alpha < 1) || alpha == 0.5) return Status::kInvalidArgument;
  const auto u = [&](size_t row, size_t d) {
    return (static_cast<double>(table.data[row * table.dim + d]) -
            alpha * static_cast<double>(table.data[d])) /
           (1 - alpha);
  };
  for (size_t p = 0; p < rows; ++p) {
    for (size_t d = 0; d < table.dim; ++d) {
      const double value = alpha * u(p / n, d) + (1 - alpha) * u(p % n, d);
      out[p * table.dim + d] = p < n ? table.data[p * table.dim + d] : static_cast<float>(value);
    }
  }
  return Status::kOk;
}

}  // namespace ropewalk
