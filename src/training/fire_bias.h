// FIRE (Li et al., arXiv:2310.04418) as a trained bias, with the gradients of its parameters.
//   b_h(i, d) = out_bias_h + sum_w out_hw relu(hidden_w t + hidden_bias_w),  t = psi(|d|) / psi(max(L, i))
//   psi(x) = ln(1 + |c| x),  L = |l| threshold
#pragma once

#include "training/distance_bias.h"

namespace ropewalk::training {

// The parameters one after the other: c, l (fire.threshold_factor), hidden [W], hidden_bias [W], out [H, W],
// out_bias [H].
inline size_t fireSize(size_t heads, size_t width) {
  return 2 + 2 * width + heads * width + heads;
}

// Of which queries and heads biases are wanted.
struct FirePart {
  QueryBlock queries;
  size_t head;  // head .. end - 1
  size_t end;
};

// out [heads, rows, distances], for all queries and heads the first part of distanceBias() for kFire.
template <class T>
void fireBias(T* out, const BiasShape& shape, const T* parameters, const FirePart& part);

// Adds to the gradients of the parameters, from those of the biases.
template <class T>
void fireBiasBackward(T* gradients, const T* dbias, const BiasShape& shape, const T* parameters,
                      const FirePart& part);

}  // namespace ropewalk::training
