// Token vectors as they enter the first layer of a model: rows of tables by number, their sum, and what BERT
// and ELECTRA make of it: x = P n(scale tokens[id] + types[type] + positions[position]). Positions as wide as
// the model, where the tables are not, are added after P (OPT).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_matrix.h"
#include "layers/linear.h"
#include "layers/norm_layer.h"
#include "status.h"

namespace ropewalk {

// E is the width of the tables, M that of the model. What has no rows, and a norm of kNone, is left out.
struct TokenTables {
  PackedMatrix tokens;     // [vocabulary, E]
  PackedMatrix types;      // [types, E]
  PackedMatrix positions;  // [positions, E], or [positions, M]
  NormLayer norm;          // n, of E numbers
  Linear projection;       // P [M, E]; without it M is E
};

// Numbers of rows, [B, T] each.
struct TokenIds {
  size_t batch = 0;
  size_t tokens = 0;
  const int64_t* ids = nullptr;
  const int64_t* types = nullptr;      // null: all 0
  const int64_t* positions = nullptr;  // null: 0, 1, 2, ... in every batch entry
};

class TokenVectors {
 public:
  // Takes ownership of the tables. Token vectors are multiplied by `scale`: Gemma's sqrt(M), 1 elsewhere.
  // kInvalidShape: tables that do not fit each other; then the vectors are as they were, the tables are
  // undefined.
  Status create(float scale, TokenTables&& tables);

  size_t bytes() const;
  // The token table, which a head may share.
  const PackedMatrix& tokens() const { return tables_.tokens; }

  // out [B, T, M]. kPositionOutOfRange: a number that its table does not have; then out is undefined. Types
  // and positions without such a table are not read.
  Status embed(float* out, const TokenIds& at) const;

 private:
  Status sumRows(float* out, const TokenIds& at) const;
  Status addPositions(float* out, const TokenIds& at) const;

  float scale_ = 1;
  TokenTables tables_;
};

}  // namespace ropewalk
