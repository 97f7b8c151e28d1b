// Attention with linear biases (ALiBi): head h adds -slope_h * |distance| to its scores.
// Press, Smith and Lewis, arXiv:2108.12409.
#pragma once

#include <cstddef>
#include <cstdint>

#include "status.h"

namespace ropewalk {

// The forms in use. For the keys up to a query, the first three differ by a number per query, which the
// softmax does not depend on, but raw scores do. The numbers cross the wasm boundary: add at the end, never
// renumber.
enum class AlibiVariant : int {
  kSymmetric = 0,  // -slope |i - j|
  kBloom = 1,      // slope j                     Hugging Face Bloom
  kMpt = 2,        // slope (j - (keys - 1))      Hugging Face MPT
  kFalcon = 3      // as kBloom with the slope rounded to bfloat16
};

// slopes [heads], any number of heads: 2^(-8 (h + 1) / n) for a power of two n; else those of the next lower
// power P, then the 1st, 3rd, 5th ... of 2 P.
Status alibiSlopes(size_t heads, double* out);

struct AlibiOptions {
  size_t heads = 0;
  size_t queries = 0;
  size_t keys = 0;
  int64_t query_offset = 0;  // the position of query i is i + query_offset, of key j j
  AlibiVariant variant = AlibiVariant::kSymmetric;
};

// out [heads, queries, keys].
Status alibiBias(const AlibiOptions& options, float* out);

}  // namespace ropewalk
