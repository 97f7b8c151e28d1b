#include "layers/embedding.h"

#include <algorithm>

#include "kernels/weight_format.h"
#include "memory.h"
#include "parallel.h"

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
  parallelFor(n, grainOf(dim), [&](const Share& share) {
    float* to = out + share.first * dim;
    for (size_t i = share.first; i < share.end; ++i, to += dim) {
      const size_t at = static_cast<size_t>(ids[i]) * row_bytes;
      widen(type, static_cast<const unsigned char*>(table) + at, dim, to);
      for (size_t d = 0; d < dim; ++d) to[d] *= scale;
    }
  });
  return Status::kOk;
}

Status embed(float* out, const PackedMatrix& table, const int64_t* ids, size_t n, float scale,
             bool accumulate) {
  if (!allWithin(ids, n, table.rows())) return Status::kPositionOutOfRange;
  const size_t dim = table.columns();
  const size_t grain = grainOf(kPanel, dim);  // as many are widened
  Buffer<float> rows;
  if (accumulate && rows.allocate(threadsFor(n, grain), dim) != Status::kOk) return Status::kOutOfMemory;
  parallelFor(n, grain, [&](const Share& share) {
    for (size_t i = share.first; i < share.end; ++i) {
      float* const sum = out + i * dim;
      float* const row = accumulate ? rows.data() + share.thread * dim : sum;
      table.row(static_cast<size_t>(ids[i]), row);
      for (size_t d = 0; d < dim; ++d) sum[d] = accumulate ? sum[d] + scale * row[d] : scale * row[d];
    }
  });
  return Status::kOk;
}

}  // namespace ropewalk
