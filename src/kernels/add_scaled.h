// A multiple of one row added to another. Any size, including 0; no alignment asked.
#pragma once

#include <cstddef>

namespace ropewalk {

// out[i] += s x[i]; out and x apart.
void addScaled(float* out, float s, const float* x, size_t n);

}  // namespace ropewalk
