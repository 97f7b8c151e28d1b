#include "kernels/transpose.h"

#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

// columns[i] = number i of four rows at p, stride apart.
void loadTransposed(f32x4 (&columns)[kLanes], const float* p, size_t stride) {
  const f32x4 a = simd::load(p);
  const f32x4 b = simd::load(p + stride);
  const f32x4 c = simd::load(p + 2 * stride);
  const f32x4 d = simd::load(p + 3 * stride);
  const f32x4 ac_low = simd::zipLow(a, c);
  const f32x4 ac_high = simd::zipHigh(a, c);
  const f32x4 bd_low = simd::zipLow(b, d);
  const f32x4 bd_high = simd::zipHigh(b, d);
  columns[0] = simd::zipLow(ac_low, bd_low);
  columns[1] = simd::zipHigh(ac_low, bd_low);
  columns[2] = simd::zipLow(ac_high, bd_high);
  columns[3] = simd::zipHigh(ac_high, bd_high);
}

}  // namespace

void transpose(float* out, size_t out_stride, const float* in, size_t in_stride, size_t rows,
               size_t columns) {
  size_t r = 0;
  for (; r + kLanes <= rows; r += kLanes) {
    const float* const from = in + r * in_stride;
    size_t c = 0;
    ROPEWALK_KEEP_LOOP
    for (; c + kLanes <= columns; c += kLanes) {
      f32x4 x[kLanes];
      loadTransposed(x, from + c, in_stride);
      for (size_t i = 0; i < kLanes; ++i) simd::store(out + (c + i) * out_stride + r, x[i]);
    }
    for (; c < columns; ++c) {
      for (size_t i = 0; i < kLanes; ++i) out[c * out_stride + r + i] = from[i * in_stride + c];
    }
  }
  for (; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) out[c * out_stride + r] = in[r * in_stride + c];
  }
}

}  // namespace ropewalk
