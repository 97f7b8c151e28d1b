#include "models/token_vectors.h"

#include <algorithm>
#include <utility>

#include "layers/embedding.h"
#include "memory.h"

namespace ropewalk {
namespace {

bool hasWidth(const PackedMatrix& table, size_t width) {
  return table.rows() == 0 || table.columns() == width;
}

// Adds rows of a table that may be absent; `numberAt` names the row of token i.
template <class NumberAt>
Status addRows(float* out, const PackedMatrix& table, size_t rows, Buffer<int64_t>* numbers,
               const int64_t* given, NumberAt numberAt) {
  if (table.rows() == 0) return Status::kOk;
  if (given == nullptr) {
    if (numbers->size() != rows && numbers->allocate(rows) != Status::kOk) return Status::kOutOfMemory;
    for (size_t i = 0; i < rows; ++i) (*numbers)[i] = numberAt(i);
    given = numbers->data();
  }
  return embed(out, table, given, rows, 1, true);
}

}  // namespace

Status TokenVectors::create(float scale, TokenTables&& tables) {
  const size_t width = tables.tokens.columns();
  const NormLayer& norm = tables.norm;
  const PackedMatrix& projection = tables.projection.weight();
  const size_t model = projection.rows() == 0 ? width : projection.rows();
  if (tables.tokens.rows() == 0 || !hasWidth(tables.types, width) ||
      (!hasWidth(tables.positions, width) && !hasWidth(tables.positions, model)) ||
      (norm.kind() != NormKind::kNone && norm.size() != width) || !hasWidth(projection, width)) {
    return Status::kInvalidShape;
  }
  scale_ = scale;
  tables_ = std::move(tables);
  return Status::kOk;
}

size_t TokenVectors::bytes() const {
  return tables_.tokens.bytes() + tables_.types.bytes() + tables_.positions.bytes() + tables_.norm.bytes() +
         tables_.projection.bytes();
}

Status TokenVectors::sumRows(float* out, const TokenIds& at) const {
  const size_t rows = at.batch * at.tokens;
  Buffer<int64_t> numbers;
  Status status = ropewalk::embed(out, tables_.tokens, at.ids, rows, scale_);
  if (status == Status::kOk) {
    status = addRows(out, tables_.types, rows, &numbers, at.types, [](size_t) { return 0; });
  }
  const bool with_positions = status == Status::kOk && hasWidth(tables_.positions, tables_.tokens.columns());
  return with_positions ? addPositions(out, at) : status;
}

Status TokenVectors::addPositions(float* out, const TokenIds& at) const {
  Buffer<int64_t> numbers;
  return addRows(out, tables_.positions, at.batch * at.tokens, &numbers, at.positions,
                 [&](size_t i) { return static_cast<int64_t>(i % at.tokens); });
}

Status TokenVectors::embed(float* out, const TokenIds& at) const {
  const size_t rows = at.batch * at.tokens;
  const size_t width = tables_.tokens.columns();
  const bool projects = tables_.projection.weight().rows() != 0;
  Buffer<float> memory;
  float* sum = out;
  if (projects) {
    size_t cells = 0;
    if (!multiply(rows, width, &cells)) return Status::kInvalidShape;
    if (memory.allocate(cells) != Status::kOk) return Status::kOutOfMemory;
    sum = memory.data();
  }
  const Status status = sumRows(sum, at);
  if (status != Status::kOk) return status;
  if (tables_.norm.kind() != NormKind::kNone) tables_.norm.apply(sum, sum, rows);
  if (projects) tables_.projection.apply(out, sum, rows);
  return hasWidth(tables_.positions, width) ? Status::kOk : addPositions(out, at);
}

}  // namespace ropewalk
