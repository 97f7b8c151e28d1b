// Relative position terms of attention scores: learned tables indexed by the distance of key and query.
// Shaw et al., arXiv:1803.02155; Huang et al., arXiv:2009.13658 (BERT's relative_key, relative_key_query and
// M3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ropewalk {

// Which row of a table [rows(), D] belongs to the distance of a key from a query.
struct RelativeRows {
  int64_t limit = 0;            // the largest distance with a row of its own
  bool key_minus_query = true;  // Shaw: j - i; BERT: i - j
  // [2 limit + 1]: the row of each distance, from -limit on, never descending; null: 0, 1, ...
  const int32_t* buckets = nullptr;

  size_t rows() const { return bucket(2 * static_cast<size_t>(limit)) + 1; }

  // distance: the key's position minus the query's. Distances beyond the limit share the outermost rows.
  size_t row(int64_t distance) const {
    const int64_t signed_distance = key_minus_query ? distance : -distance;
    return bucket(static_cast<size_t>(std::clamp(signed_distance, -limit, limit) + limit));
  }

  size_t bucket(size_t n) const { return buckets == nullptr ? n : static_cast<size_t>(buckets[n]); }
};

// out [queries, keys]: the row for query i, at position i + query_offset, and key j. Doubles, which hold
// it exactly.
void relativeRows(const RelativeRows& rows, size_t queries, size_t keys, int64_t query_offset, double* out);

// Tables; null: no such term. The scores are scale * (everything).
struct RelativeTerms {
  RelativeRows rows;
  const float* query_table = nullptr;    // adds q_i . table[row]           Shaw, relative_key
  const float* key_table = nullptr;      // adds k_j . table[row]           relative_key_query, with the above
  const float* product_table = nullptr;  // q_i . k_j becomes sum_d q_i[d] k_j[d] table[row][d]     M3
  const float* value_table = nullptr;    // v_j becomes v_j + table[row]    Shaw; [rows, Dv]
  // The first two are [rows, G, D], a table for each key head; otherwise all share them.
  bool own_tables = false;
};

}  // namespace ropewalk
