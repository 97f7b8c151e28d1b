// Distances of keys from queries in a sequence of T tokens, j - i, as places in an array: what positions add
// to scores depends on the distance alone, and the keys of query i lie there in a row. And blocks of queries,
// so that what is T long for each query need not be there for all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ropewalk::training {

inline constexpr size_t kMostTokens = size_t{1}
                                      << 14;  // of a sequence: three times its square fits into 32 bits

struct Distances {
  size_t tokens = 0;
  bool causal = false;

  // Distances that occur, from -(T - 1) on.
  size_t count() const { return tokens == 0 ? 0 : causal ? tokens : 2 * tokens - 1; }
  int64_t at(size_t place) const { return static_cast<int64_t>(place) - static_cast<int64_t>(tokens) + 1; }
  // The place of query i and key 0; key j's is j further.
  size_t first(size_t i) const { return tokens - 1 - i; }
  // Keys that query i sees.
  size_t keys(size_t i) const { return causal ? i + 1 : tokens; }
};

inline constexpr size_t kBlockQueries = 128;  // the depth of products, so that sums over queries are the same

// Queries begin .. end - 1 of a sequence, the keys that they see and the distances between them, which are
// some of the sequence's in a row. Rows and places count from the first of the block.
struct QueryBlock {
  Distances all;
  size_t begin = 0;
  size_t end = 0;

  size_t rows() const { return end - begin; }
  // Keys that any of them sees.
  size_t keys() const { return all.causal ? end : all.tokens; }
  size_t keys(size_t row) const { return all.keys(begin + row); }
  // Distances that occur, from the sequence's place `offset` on.
  size_t count() const { return rows() == 0 ? 0 : keys() + (all.causal ? 0 : rows() - 1); }
  size_t offset() const { return all.tokens - end; }
  size_t first(size_t row) const { return rows() - 1 - row; }
};

inline QueryBlock allQueries(Distances d) {
  return {d, 0, d.tokens};
}

// f(block) for each of a sequence, in order.
template <class F>
void eachBlock(Distances d, F f) {
  for (size_t begin = 0; begin < d.tokens; begin += kBlockQueries)
    f(QueryBlock{d, begin, std::min(begin + kBlockQueries, d.tokens)});
}

// Queries of the largest block.
inline size_t blockRows(size_t tokens) {
  return std::min(tokens, kBlockQueries);
}

// out [rows, count]: entry (i, j) of x [rows, T] at the place of its distance, zeros elsewhere.
template <class T>
void byDistance(T* out, const T* x, const QueryBlock& b) {
  std::fill_n(out, b.rows() * b.count(), T{0});
  for (size_t i = 0; i < b.rows(); ++i)
    std::copy_n(x + i * b.all.tokens, b.keys(i), out + i * b.count() + b.first(i));
}

}  // namespace ropewalk::training
