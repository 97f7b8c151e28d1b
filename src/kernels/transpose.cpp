#include "kernels/transpose.h"

#include <cstring>

#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

constexpr size_t kWord = sizeof(float);

// columns[i] = word i of four rows at p, stride bytes apart.
void loadTransposed(f32x4 (&columns)[kLanes], const unsigned char* p, size_t stride) {
  const f32x4 a = simd::loadWords(p);
  const f32x4 b = simd::loadWords(p + stride);
  const f32x4 c = simd::loadWords(p + 2 * stride);
  const f32x4 d = simd::loadWords(p + 3 * stride);
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

void transposeWords(unsigned char* out, size_t out_stride, const unsigned char* in, size_t in_stride,
                    size_t rows, size_t columns) {
  size_t r = 0;
  for (; r + kLanes <= rows; r += kLanes) {
    const unsigned char* const from = in + r * in_stride;
    unsigned char* const to = out + r * kWord;
    size_t c = 0;
    ROPEWALK_KEEP_LOOP
    for (; c + kLanes <= columns; c += kLanes) {
      f32x4 x[kLanes];
      loadTransposed(x, from + c * kWord, in_stride);
      for (size_t i = 0; i < kLanes; ++i) simd::storeWords(to + (c + i) * out_stride, x[i]);
    }
    for (; c < columns; ++c) {
      for (size_t i = 0; i < kLanes; ++i)
        std::memcpy(to + c * out_stride + i * kWord, from + i * in_stride + c * kWord, kWord);
    }
  }
  for (; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c)
      std::memcpy(out + c * out_stride + r * kWord, in + r * in_stride + c * kWord, kWord);
  }
}

}  // namespace ropewalk
