// Rows of attention: dot product, softmax and weighted sum. Any size, including 0; no alignment asked.
#pragma once

#include <cstddef>

namespace ropewalk {

// sum_i a[i] b[i]
float dot(const float* a, const float* b, size_t n);

// x[i] = e^(x[i] - max x) / sum, in place. -infinity gives exactly 0. False, and zeros, if every entry is
// -infinity or n is 0: nothing may be attended to.
bool softmax(float* x, size_t n);

// softmax of each of `rows` rows of n, their strides apart; out and in are the same or apart.
void softmaxRows(float* out, size_t out_stride, const float* in, size_t in_stride, size_t rows, size_t n);

// out[i] += s x[i]; out and x apart.
void addScaled(float* out, float s, const float* x, size_t n);

}  // namespace ropewalk
