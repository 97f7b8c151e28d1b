// Sandwich: the products of sinusoidal vectors as a bias, which falls with the distance as ALiBi's does, by
// about its logarithm.
//   b_h(i, j) = 1 / r_h sum_{k < dim / 2} cos((i - j) base^(-2k/dim)), r_h = 8 (h + 1) / heads
// Chi, Fan, Rudnicky and Ramadge, ACL 2023, arXiv:2212.10356.
#pragma once

#include <cstddef>
#include <cstdint>

#include "status.h"

namespace ropewalk {

struct SandwichOptions {
  size_t heads = 0;
  size_t dim = 128;  // of the sinusoidal vectors, even; the paper's for any size of heads
  double base = 10000;
  size_t queries = 0;
  size_t keys = 0;
  int64_t query_offset = 0;  // the position of query i is i + query_offset, of key j j
};

// out [heads, queries, keys]. kInvalidShape: dim 0 or odd; kInvalidArgument: base.
Status sandwichBias(const SandwichOptions& options, float* out);

}  // namespace ropewalk
