// Learned absolute positions: a table with one row per position, merged with the token vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "status.h"

namespace ropewalk {

// The numbers cross the wasm boundary: add at the end, never renumber.
enum class LearnedMode : int {
  kAdd = 0,         // x + p
  kMultiply = 1,    // x * p
  kConcatenate = 2  // [x, p]
};

struct LearnedTable {
  const float* data = nullptr;  // [positions, dim]
  size_t positions = 0;
  size_t dim = 0;
};

// x [rows, x_dim] and positions [rows] -> out [rows, x_dim], or [rows, x_dim + dim] for kConcatenate.
// kInvalidShape: x_dim is not the table's dim where it has to be; kPositionOutOfRange: no such row.
Status learnedPositions(LearnedMode mode, const LearnedTable& table, const float* x, size_t x_dim,
                        const int64_t* positions, size_t rows, float* out);

// Hierarchical extension of n rows to n^2 (Su 2020, kexue.fm 7947): with u_i = (E_i - alpha E_0) / (1 -
// alpha), row p becomes alpha u_(p div n) + (1 - alpha) u_(p mod n), so that the first n rows stay as they
// are. out [rows, dim], rows <= n^2; alpha in (0, 1), not 1/2; 0.4 is usual.
Status extendLearned(const LearnedTable& table, double alpha, size_t rows, float* out);

}  // namespace ropewalk
