// KERPLE: biases that fall with the distance as a kernel does, with two learned numbers for each head.
// Chi, Fan, Ramadge and Rudnicky, NeurIPS 2022, arXiv:2205.09921.
#pragma once

#include <cstddef>
#include <cstdint>

#include "status.h"

namespace ropewalk {

// The numbers cross the wasm boundary: add at the end, never renumber.
enum class KerpleKind : int {
  kLogarithmic = 0,  // -r1 ln(1 + r2 |i - j|)
  kPower = 1         // -r1 |i - j|^r2, r2 at most 2
};

struct KerpleOptions {
  KerpleKind kind = KerpleKind::kLogarithmic;
  size_t heads = 0;
  size_t queries = 0;
  size_t keys = 0;
  int64_t query_offset = 0;  // the position of query i is i + query_offset, of key j j
};

// r1, r2 [heads], both above 0 -> out [heads, queries, keys]. kInvalidArgument: a number out of range.
Status kerpleBias(const KerpleOptions& options, const float* r1, const float* r2, float* out);

}  // namespace ropewalk
