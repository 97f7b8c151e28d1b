// Linear attention of one head of one sequence, by its weights, which a map of the head shows: kept or
// computed again, as those of training/attention.h.
//   out_i = sum_j w_ij v_j,  w_ij = a_i . b_j / den_i
// with a, b the features of queries and keys. den_i is the sum of the same products over the keys that query
// i sees, or that of features before RoPE (Su et al., arXiv:2104.09864, equation 19). A row whose denominator
// is 0 has no weights, as in attention/linear_attention.h.
#pragma once

#include <cstddef>

#include "attention/linear_features.h"
#include "training/attention.h"
#include "training/rotation.h"

namespace ropewalk::training {

// What RoPE turns. The numbers cross the wasm boundary: add at the end, never renumber.
enum class LinearRotation : int {
  kNone = 0,
  kNumerator = 1,  // the features of the numerators alone
  kBoth = 2        // and those of the denominators
};

template <class T>
struct LinearHead {
  HeadInput<T> head;  // x as projected; scale, biases, forget_sums and relative are not read
  LinearKernel kernel = LinearKernel::kElu1;  // all but kProduct
  LinearRotation rotation = LinearRotation::kNone;
  AngleTables<T> angles;
  Pairing pairing = Pairing::kHalf;
};

inline size_t linearAttentionRoom(Distances d, size_t head_dim) {
  return d.tokens * (blockRows(d.tokens) + 6 * head_dim + 1) + head_dim;
}

// weights: zeros where no key is seen; denominators [T]; out [tokens, value_dim].
template <class T>
void linearAttentionForward(HeadWeights<T> weights, T* denominators, T* out, size_t out_stride,
                            const LinearHead<T>& input, T* room);

// Writes dx, adds to dv.
template <class T>
void linearAttentionBackward(const HeadGradients<T>& gradients, const T* dout, size_t dout_stride,
                             HeadWeights<T> weights, const T* denominators, const LinearHead<T>& input,
                             T* room);

}  // namespace ropewalk::training
