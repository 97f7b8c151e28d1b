// Biases of scores that depend on the head and the distance: ALiBi, T5 and KERPLE, with the gradients of
// their parameters.
#pragma once

#include <cstddef>

#include "encodings/t5.h"
#include "training/distances.h"

namespace ropewalk::training {

enum class BiasKind {
  kAlibi,  // -slope_h |j - i|; first [H]: the slopes
  kT5,     // table[bucket(j - i)][h]; first [buckets, H]: the table
  kKerple  // -r1_h ln(1 + r2_h |j - i|); first [H]: r1, second [H]: r2
};

// Parameters, or their gradients.
template <class T>
struct BiasParts {
  T* first = nullptr;
  T* second = nullptr;
};

struct BiasShape {
  BiasKind kind = BiasKind::kAlibi;
  size_t heads = 0;
  const T5Buckets* buckets = nullptr;
  Distances distances;
};

// out [H, distances].
template <class T>
void distanceBias(T* out, const BiasShape& shape, BiasParts<const T> parts);

// Adds to the gradients of the parts, from those of the biases [H, distances].
template <class T>
void distanceBiasBackward(BiasParts<T> gradients, const T* dbias, const BiasShape& shape,
                          BiasParts<const T> parts);

}  // namespace ropewalk::training
