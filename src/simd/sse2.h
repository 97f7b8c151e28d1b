// f32x4 and f64x2 on x86-64. Only SSE2 is needed; a build with -msse4.1 compiles the same source.
#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ropewalk::simd {
inline namespace sse2 {

inline constexpr const char* kBackend = "sse2";
inline constexpr bool kMulAddIsOne = false;

using f32x4 = __m128;

inline f32x4 load(const float* p) {
  return _mm_loadu_ps(p);
}
inline f32x4 loadWords(const unsigned char* p) {
  return _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline void storeWords(unsigned char* p, f32x4 words) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_castps_si128(words));
}
inline f32x4 loadBf16(const uint16_t* p) {
  const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return _mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), bits));
}
inline void loadBf16Split(const uint16_t* p, f32x4 mask, f32x4 (&out)[2]) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  out[0] = _mm_castsi128_ps(_mm_slli_epi32(bits, 16));
  out[1] = _mm_and_ps(_mm_castsi128_ps(bits), mask);
}
inline f32x4 loadSmallF16(const uint16_t* p, f32x4 mask) {
  const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m128i placed = _mm_srai_epi32(_mm_unpacklo_epi16(_mm_setzero_si128(), bits), 3);
  return _mm_and_ps(_mm_castsi128_ps(placed), mask);
}
inline f32x4 withBitsFrom(f32x4 x, f32x4 end, f32x4 bits) {
  const f32x4 magnitude = _mm_andnot_ps(_mm_set1_ps(-0.0f), x);
  return _mm_or_ps(x, _mm_and_ps(_mm_cmpge_ps(magnitude, end), bits));
}
inline void loadI8(const int8_t* p, f32x4 (&out)[4]) {
  const __m128i zero = _mm_setzero_si128();
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i low = _mm_unpacklo_epi8(zero, bytes);  // each byte on top of a zero
  const __m128i high = _mm_unpackhi_epi8(zero, bytes);
  const __m128i placed[] = {_mm_unpacklo_epi16(zero, low), _mm_unpackhi_epi16(zero, low),
                            _mm_unpacklo_epi16(zero, high), _mm_unpackhi_epi16(zero, high)};
  for (int i = 0; i < 4; ++i) out[i] = _mm_cvtepi32_ps(_mm_srai_epi32(placed[i], 24));
}
inline void store(float* p, f32x4 a) {
  _mm_storeu_ps(p, a);
}
inline f32x4 splat(float v) {
  return _mm_set1_ps(v);
}
inline f32x4 add(f32x4 a, f32x4 b) {
  return _mm_add_ps(a, b);
}
inline f32x4 sub(f32x4 a, f32x4 b) {
  return _mm_sub_ps(a, b);
}
inline f32x4 mul(f32x4 a, f32x4 b) {
  return _mm_mul_ps(a, b);
}
inline f32x4 div(f32x4 a, f32x4 b) {
  return _mm_div_ps(a, b);
}
inline f32x4 sqrt(f32x4 a) {
  return _mm_sqrt_ps(a);
}
inline f32x4 min(f32x4 a, f32x4 b) {
  return _mm_min_ps(a, b);
}
inline f32x4 max(f32x4 a, f32x4 b) {
  return _mm_max_ps(a, b);
}
inline f32x4 mulAdd(f32x4 a, f32x4 b, f32x4 c) {
  return add(mul(a, b), c);
}
inline f32x4 negMulAdd(f32x4 a, f32x4 b, f32x4 c) {
  return sub(c, mul(a, b));
}
inline f32x4 lessThan(f32x4 a, f32x4 b) {
  return _mm_cmplt_ps(a, b);
}
inline f32x4 select(f32x4 mask, f32x4 a, f32x4 b) {
  return _mm_or_ps(_mm_and_ps(mask, a), _mm_andnot_ps(mask, b));
}
inline f32x4 swapHalves(f32x4 a) {
  return _mm_shuffle_ps(a, a, _MM_SHUFFLE(1, 0, 3, 2));
}
inline f32x4 swapNeighbours(f32x4 a) {
  return _mm_shuffle_ps(a, a, _MM_SHUFFLE(2, 3, 0, 1));
}
inline f32x4 evens(f32x4 a, f32x4 b) {
  return _mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0));
}
inline f32x4 odds(f32x4 a, f32x4 b) {
  return _mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1));
}
inline f32x4 zipLow(f32x4 a, f32x4 b) {
  return _mm_unpacklo_ps(a, b);
}
inline f32x4 zipHigh(f32x4 a, f32x4 b) {
  return _mm_unpackhi_ps(a, b);
}
inline float lane0(f32x4 a) {
  return _mm_cvtss_f32(a);
}
inline float lane1(f32x4 a) {
  return _mm_cvtss_f32(_mm_shuffle_ps(a, a, 1));
}

inline f32x4 exp2Shifted(f32x4 a) {
  return _mm_castsi128_ps(_mm_slli_epi32(_mm_castps_si128(a), 23));
}

using f64x2 = __m128d;

inline f64x2 load(const double* p) {
  return _mm_loadu_pd(p);
}
inline f64x2 splatDouble(double v) {
  return _mm_set1_pd(v);
}
inline f64x2 add(f64x2 a, f64x2 b) {
  return _mm_add_pd(a, b);
}
inline f64x2 sub(f64x2 a, f64x2 b) {
  return _mm_sub_pd(a, b);
}
inline f64x2 mul(f64x2 a, f64x2 b) {
  return _mm_mul_pd(a, b);
}
inline f32x4 narrow(f64x2 a, f64x2 b) {
  return _mm_movelh_ps(_mm_cvtpd_ps(a), _mm_cvtpd_ps(b));
}

}  // namespace sse2
}  // namespace ropewalk::simd
