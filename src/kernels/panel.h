// Panels: kPanel rows of a weight matrix that lie together, in the order in which a product reads them.
#pragma once

#include <cstddef>

#include "simd.h"

namespace ropewalk {

inline constexpr size_t kPanel = 16;
inline constexpr size_t kPanelVectors = kPanel / simd::kLanes;

// The weights of one input, in registers.
using PanelRow = simd::f32x4[kPanelVectors];

// Panels first ... end - 1 of a matrix.
struct PanelRange {
  size_t first;
  size_t end;
};

// Sums run over the inputs in order in blocks of this many, and the blocks add up in order: long sums lose
// less, and a row's bits do not depend on the other rows, on m, on strides, or on which product is called.
inline constexpr size_t kGemmDepth = 256;

}  // namespace ropewalk
