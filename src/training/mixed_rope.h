// RoPE-Mixed (Heo et al., arXiv:2403.13298): token t stands at column x = t % C and row y = t / C of a grid,
// and pair p of head h turns by x fx + y fy, both learned.
#pragma once

#include <cstddef>

#include "encodings/rope.h"
#include "status.h"
#include "training/options.h"
#include "training/parameters.h"
#include "training/rotation.h"

namespace ropewalk::training {

// Of a layer, [H, pairs] each, or their gradients.
template <class T>
struct MixedFrequencies {
  T* x = nullptr;
  T* y = nullptr;
};

struct MixedShape {
  size_t tokens = 0;
  size_t columns = 0;  // C
  size_t heads = 0;
  size_t pairs = 0;

  // Numbers of all tables.
  size_t size() const { return 2 * heads * tokens * pairs; }
};

// out [H][2][tokens, pairs]: cosines and sines of each head. NaN where a frequency is not finite, or 2^60 or
// more.
template <class T>
void mixedTables(T* out, MixedFrequencies<const T> frequencies, const MixedShape& shape);

template <class T>
AngleTables<T> mixedTablesOf(const T* tables, size_t head, const MixedShape& shape) {
  const size_t n = shape.tokens * shape.pairs;
  return {tables + 2 * head * n, tables + (2 * head + 1) * n, shape.pairs};
}

// Adds to the gradients of a head's frequencies [pairs], from turned rows [tokens] and their gradients,
// `stride` apart.
template <class T>
void mixedBackward(MixedFrequencies<T> gradients, const T* turned, const T* dturned, size_t stride,
                   const MixedShape& shape, Pairing pairing);

// Frequencies to begin with, for parameters that are normally distributed: base^(-i / n) for i < n = pairs /
// 2, rounded up, along the direction in which the first numbers of a head point, then the same along the one
// at a right angle to it.
template <class T>
Status startMixed(const ModelOptions& options, const ParameterLayout& layout, T* parameters);

}  // namespace ropewalk::training
