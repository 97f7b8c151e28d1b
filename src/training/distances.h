// Distances of keys from queries in a sequence of T tokens, j - i, as places in an array: what positions add
// to scores depends on the distance alone, and the keys of query i lie there in a row.
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

// out [T, count]: entry (i, j) of x [T, T] at the place of its distance, zeros elsewhere.
template <class T>
void byDistanceOfQuery(T* out, const T* x, Distances d) {
  std::fill_n(out, d.tokens * d.count(), T{0});
  for (size_t i = 0; i < d.tokens; ++i)
    std::copy_n(x + i * d.tokens, d.keys(i), out + i * d.count() + d.first(i));
}

// The same with a row for each key: entry (i, j) is in row j.
template <class T>
void byDistanceOfKey(T* out, const T* x, Distances d) {
  std::fill_n(out, d.tokens * d.count(), T{0});
  for (size_t i = 0; i < d.tokens; ++i) {
    for (size_t j = 0; j < d.keys(i); ++j) out[j * d.count() + d.first(i) + j] = x[i * d.tokens + j];
  }
}

}  // namespace ropewalk::training
