// Vectors of floats, and single doubles under the same names: every loop of training is written once, runs on
// vectors in float, and is compared with central differences in double.
#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/add_scaled.h"
#include "simd.h"

namespace ropewalk::training {

template <class T>
struct Lanes;

template <>
struct Lanes<float> {
  using Vector = simd::f32x4;
  static constexpr size_t kCount = simd::kLanes;
  static Vector load(const float* p) { return simd::load(p); }
  static void store(float* p, Vector a) { simd::store(p, a); }
  static Vector splat(float v) { return simd::splat(v); }
  static Vector add(Vector a, Vector b) { return simd::add(a, b); }
  static Vector sub(Vector a, Vector b) { return simd::sub(a, b); }
  static Vector mul(Vector a, Vector b) { return simd::mul(a, b); }
  static Vector div(Vector a, Vector b) { return simd::div(a, b); }
  static Vector sqrt(Vector a) { return simd::sqrt(a); }
  static Vector mulAdd(Vector a, Vector b, Vector c) { return simd::mulAdd(a, b, c); }
  static float sum(Vector a) { return simd::sum(a); }
};

template <>
struct Lanes<double> {
  using Vector = double;
  static constexpr size_t kCount = 1;
  static Vector load(const double* p) { return *p; }
  static void store(double* p, Vector a) { *p = a; }
  static Vector splat(double v) { return v; }
  static Vector add(Vector a, Vector b) { return a + b; }
  static Vector sub(Vector a, Vector b) { return a - b; }
  static Vector mul(Vector a, Vector b) { return a * b; }
  static Vector div(Vector a, Vector b) { return a / b; }
  static Vector sqrt(Vector a) { return std::sqrt(a); }
  static Vector mulAdd(Vector a, Vector b, Vector c) { return a * b + c; }
  static double sum(Vector a) { return a; }
};

// sum_i a[i] b[i]
template <class T>
T dot(const T* a, const T* b, size_t n) {
  using L = Lanes<T>;
  typename L::Vector sums = L::splat(0);
  size_t i = 0;
  for (; i + L::kCount <= n; i += L::kCount) sums = L::mulAdd(L::load(a + i), L::load(b + i), sums);
  T total = L::sum(sums);
  for (; i < n; ++i) total += a[i] * b[i];
  return total;
}

// out[i] *= x[i]
template <class T>
void multiplyBy(T* out, const T* x, size_t n) {
  using L = Lanes<T>;
  size_t i = 0;
  for (; i + L::kCount <= n; i += L::kCount) L::store(out + i, L::mul(L::load(out + i), L::load(x + i)));
  for (; i < n; ++i) out[i] *= x[i];
}

// sum_i a[i]
template <class T>
T sum(const T* a, size_t n) {
  using L = Lanes<T>;
  typename L::Vector sums = L::splat(0);
  size_t i = 0;
  for (; i + L::kCount <= n; i += L::kCount) sums = L::add(sums, L::load(a + i));
  T total = L::sum(sums);
  for (; i < n; ++i) total += a[i];
  return total;
}

// Whether no number of a is infinite or NaN: 0 times one of those is NaN.
template <class T>
bool allFinite(const T* a, size_t n) {
  using L = Lanes<T>;
  typename L::Vector sums = L::splat(0);
  size_t i = 0;
  for (; i + L::kCount <= n; i += L::kCount) sums = L::mulAdd(L::load(a + i), L::splat(0), sums);
  T total = L::sum(sums);
  for (; i < n; ++i) total += a[i] * 0;
  return total == 0;
}

using ropewalk::addScaled;
inline void addScaled(double* out, double s, const double* x, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] += s * x[i];
}

}  // namespace ropewalk::training
