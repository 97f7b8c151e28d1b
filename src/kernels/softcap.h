// A row bounded smoothly: x[i] = cap tanh(x[i] / cap), as Gemma 2 has it for scores and logits. Any size,
// including 0; no alignment asked. NaN stays NaN, infinities become +-cap.
#pragma once

#include <cstddef>

#include "kernels/map_row.h"
#include "kernels/tanh.h"
#include "simd.h"

namespace ropewalk {

// cap above 0.
inline void softcapRow(float* x, size_t n, float cap) {
  const simd::f32x4 caps = simd::splat(cap);
  mapRow(x, x, n, [caps](simd::f32x4 v) { return simd::mul(caps, tanh(simd::div(v, caps))); });
}

}  // namespace ropewalk
