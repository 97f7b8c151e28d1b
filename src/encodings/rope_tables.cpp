#include "encodings/rope_tables.h"

#include <algorithm>

#include "kernels/rope.h"

namespace ropewalk {

Status rotateByTables(HeadView<float> x, const RotaryTables& tables, const int64_t* rows, Pairing pairing) {
  if (tables.pairs > x.dim / 2) return Status::kInvalidShape;
  const auto in_table = [&](int64_t row) { return row >= 0 && static_cast<uint64_t>(row) < tables.rows; };
  if (!std::all_of(rows, rows + x.batch * x.tokens, in_table)) return Status::kPositionOutOfRange;
  const auto kernel = pairing == Pairing::kHalf ? rotatePairs<HalfPairs, HalfPairs>
                                                : rotatePairs<InterleavedPairs, InterleavedPairs>;
  for (size_t b = 0; b < x.batch; ++b) {
    for (size_t h = 0; h < x.heads; ++h) {
      for (size_t t = 0; t < x.tokens; ++t) {
        const size_t from = static_cast<size_t>(rows[b * x.tokens + t]) * tables.pairs;
        float* head = x.row(b, h, t);
        kernel(head, head, tables.cos + from, tables.sin + from, tables.pairs);
      }
    }
  }
  return Status::kOk;
}

}  // namespace ropewalk
