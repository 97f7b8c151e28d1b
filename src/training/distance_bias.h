// Biases of scores that depend on the head and the distance: ALiBi, T5, KERPLE, FIRE and Sandwich, with the
// gradients of their parameters.
#pragma once

#include <cstddef>

#include "encodings/t5.h"
#include "training/distances.h"

namespace ropewalk::training {

enum class BiasKind {
  kAlibi,    // -slope_h |j - i|; first [H]: the slopes
  kT5,       // table[bucket(j - i)][h]; first [buckets, H]: the table
  kKerple,   // -r1_h ln(1 + r2_h |j - i|); first [H]: r1, second [H]: r2
  kFire,     // as in training/fire_bias.h; first: its parameters
  kSandwich  // sums[|j - i|] / (8 (h + 1) / H); no parameters
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
  size_t width = 0;              // kFire: of the hidden layer
  double threshold = 0;          // kFire: L before it is trained
  double* room = nullptr;        // kFire: FireTables::room() numbers
  const double* sums = nullptr;  // kSandwich: [tokens], by |j - i|, of cosines (encodings/sandwich.h)

  // FIRE's depends on the query too; the others are the same for all.
  size_t rows() const { return kind == BiasKind::kFire ? distances.tokens : 1; }
  // Of one head.
  size_t size() const { return rows() * distances.count(); }
};

// out [H, rows, distances].
template <class T>
void distanceBias(T* out, const BiasShape& shape, BiasParts<const T> parts);

// Adds to the gradients of the parts, from those of the biases [H, rows, distances].
template <class T>
void distanceBiasBackward(BiasParts<T> gradients, const T* dbias, const BiasShape& shape,
                          BiasParts<const T> parts);

}  // namespace ropewalk::training
