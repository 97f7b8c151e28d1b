// The algebra of sinusoidal encodings: a shift is a rotation, PE(p + k) = M_k PE(p), and so the dot product
// PE(p) . PE(p + k) depends on k only (and not on its sign).
#pragma once

#include <cstddef>
#include <cstdint>

#include "encodings/sinusoidal.h"
#include "status.h"

namespace ropewalk {

// M_k as [dim, dim] row major, for PE a column: blocks [[cos k w, sin k w], [-sin k w, cos k w]] at each
// pair. dim even; layouts kInterleaved and kConcatenated. kPositionOutOfRange: |k| > 2^53 - 1.
Status shiftMatrix(size_t dim, double base, SinusoidLayout layout, int64_t k, float* out);

// out[n] = sum_i cos(distances[n] w_i), i < dim / 2: the dot product of two rows that far apart.
Status dotCurve(size_t dim, double base, const int64_t* distances, size_t n, double* out);

// Su's decay curve of RoPE: out[n] = (2 / dim) sum_j |S_j| with S_j = sum_{i < j} e^(I distances[n] w_i), j =
// 1 .. dim / 2. The mean of the |S_j| that bound a score's size at that distance (arXiv:2104.09864, 3.4.3):
// an upper bound's shape, not the score itself.
Status decayCurve(size_t dim, double base, const int64_t* distances, size_t n, double* out);

// The bound itself for one query and key: max_i |h_(i+1) - h_i| sum_j |S_j|, where h_i = q_i conj(k_i) are
// the pairs as complex numbers, [dim / 2] each of two doubles, and h_(dim/2) = 0.
Status decayBound(size_t dim, double base, const double* h, const int64_t* distances, size_t n, double* out);

}  // namespace ropewalk
