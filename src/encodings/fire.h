// FIRE: biases that a small network learns from the distance, as a share of how far the query can look back.
//   b_h(i, j) = f_h(psi(|i - j|) / psi(max(L, i))), psi(x) = ln(1 + c x)
//   f_h(t) = out_bias_h + sum_w out_weights_hw relu(hidden_weights_w t + hidden_bias_w)
// Li et al., ICLR 2024, arXiv:2310.04418. The share lies in [0, 1] for the keys up to a query.
#pragma once

#include <cstddef>
#include <cstdint>

#include "status.h"

namespace ropewalk {

// Parameters; all heads share the hidden layer.
struct FireTerms {
  double c = 0;                           // above 0
  double threshold = 0;                   // L, above 0: queries before it are normalized as one at it
  size_t width = 0;                       // W, of the hidden layer
  const float* hidden_weights = nullptr;  // [W]
  const float* hidden_bias = nullptr;     // [W]
  const float* out_weights = nullptr;     // [heads, W]
  const float* out_bias = nullptr;        // [heads]; null: no FIRE
};

struct FireOptions {
  FireTerms terms;
  size_t heads = 0;
  size_t queries = 0;
  size_t keys = 0;
  int64_t query_offset = 0;  // the position of query i is i + query_offset, of key j j
};

// psi of every distance, from the last query and the first key on: out [queries + keys - 1].
// kInvalidArgument: c or threshold out of range, or psi(threshold) less than a normal float.
Status fireDistances(const FireOptions& options, float* out);

// Adds the biases of head h and of a query at `position` to x [n], by psi of the distances. Any n.
void addFire(float* x, const float* psi, size_t n, const FireTerms& terms, size_t h, int64_t position);

// out [heads, queries, keys].
Status fireBias(const FireOptions& options, float* out);

}  // namespace ropewalk
