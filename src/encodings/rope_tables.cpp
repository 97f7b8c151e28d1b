#include "encodings/rope_tables.h"

#include <algorithm>

#include "kernels/rope.h"

namespace ropewalk {

namespace {

// rows: [batch, tokens], which of the tables' each token turns by.
template <class Pairs>
void turnAll(HeadView<float> x, const RotaryTables& tables, const int64_t* rows) {
  for (size_t b = 0; b < x.batch; ++b) {
    forHeads(x.heads, [&](size_t h, auto heads) {
      for (size_t t = 0; t < x.tokens; ++t) {
        const size_t from = static_cast<size_t>(rows[b * x.tokens + t]) * tables.pairs;
        rotateRows<Pairs, heads>(x.row(b, h, t), x.head_stride, tables.cos + from, tables.sin + from,
                                 tables.pairs);
      }
    });
  }
}

}  // namespace

Status rotateByTables(HeadView<float> x, const RotaryTables& tables, const int64_t* rows, Pairing pairing) {
  if (tables.pairs > x.dim / 2) return Status::kInvalidShape;
  const auto in_table = [&](int64_t row) { return row >= 0 && static_cast<uint64_t>(row) < tables.rows; };
  if (!std::all_of(rows, rows + x.batch * x.tokens, in_table)) return Status::kPositionOutOfRange;
  if (pairing == Pairing::kHalf) {
    turnAll<HalfPairs>(x, tables, rows);
  } else {
    turnAll<InterleavedPairs>(x, tables, rows);
  }
  return Status::kOk;
}

}  // namespace ropewalk
