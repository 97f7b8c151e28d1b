#include "layers/embedding.h"

#include <algorithm>

#include "kernels/weight_format.h"
#include "memory.h"

namespace ropewalk {
namespace {

bool allWithin(const int64_t* ids, size_t n, size_t rows) {
  return std::all_of(ids, ids + n,
                     [rows](int64_t id) { return id >= 0 && static_cast<uint64_t>(id) < rows; });
}

}  // namespace

Status embed(float* out, WeightType type, const void* table, size_t rows, size_t dim, const int64_t* ids,
             size_t n, float scale) {
  if (!allWithin(ids, n, rows)) return Status::kPositionOutOfRange;
  const size_t row_bytes = formatOf(type).rowBytes(dim);
  for (size_t i = 0; i < n; ++i, out += dim) {
    widen(type, static_cast<const unsigned char*>(table) + static_cast<size_t>(ids[i]) * row_bytes, dim, out);
    for (size_t d = 0; d < dim; ++d) out[d] *= scale;
  }
  return Status::kOk;
}

Status embed(float* out, const PackedMatrix& table, const int64_t* ids, size_t n, float scale,
             bool accumulate) {
  if (!allWithin(ids, n, table.rows())) return Status::kPositionOutOfRange;
  const size_t dim = table.columns();
  Buffer<float> row;
  if (accumulate && row.allocate(dim) != Status::kOk) return Status::kOutOfMemory;
  for (size_t i = 0; i < n; ++i, out += dim) {
    float* to = accumulate ? row.data() : out;
    table.row(static_cast<size_t>(ids[i]), to);
    for (size_t d = 0; d < dim; ++d) out[d] = accumulate ? out[d] + scale * to[d] : scale * to[d];
  }
  return Status::kOk;
}

}  // namespace ropewalk
