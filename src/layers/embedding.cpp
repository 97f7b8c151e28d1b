#include "layers/embedding.h"

namespace ropewalk {

Status embed(float* out, const float* table, size_t rows, size_t dim, const int64_t* ids, size_t n,
             float scale) {
  for (size_t i = 0; i < n; ++i) {
    if (ids[i] < 0 || static_cast<uint64_t>(ids[i]) >= rows) return Status::kPositionOutOfRange;
  }
  for (size_t i = 0; i < n; ++i) {
    const float* row = table + static_cast<size_t>(ids[i]) * dim;
    for (size_t d = 0; d < dim; ++d) *out++ = scale * row[d];
  }
  return Status::kOk;
}

}  // namespace ropewalk
