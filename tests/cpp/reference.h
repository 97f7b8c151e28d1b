// Shared by the tests: seeded data that is the same on every platform, and measures of error.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <vector>

namespace ropewalk::test {

inline constexpr double kUnit = 0x1p-24;  // what one float32 rounding may add, relative
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Every size around the vector widths and the unrolled loops, and one large.
inline std::vector<size_t> kernelSizes() {
  std::vector<size_t> sizes(68);
  for (size_t n = 0; n < sizes.size(); ++n) sizes[n] = n;
  sizes.push_back(1021);
  return sizes;
}

// SplitMix64 (Steele, Lea and Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53);
  }

  // Both ends included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits() % static_cast<uint64_t>(high - low + 1));
  }

  // An array of exactly n, so that the sanitizer sees the first step beyond it.
  std::vector<float> floats(size_t n, double bound = 1) {
    std::vector<float> x(n);
    for (float& v : x) v = static_cast<float>(uniform(-bound, bound));
    return x;
  }

 private:
  uint64_t state_;
};

// Collects errors as shares of what is tolerated; 1 is the most that passes.
class Worst {
 public:
  void add(double actual, double expected, double tolerance) {
    if (actual == expected) return;  // infinities too
    const double share = std::fabs(actual - expected) / tolerance;
    worst_ = std::isnan(share) ? std::numeric_limits<double>::infinity() : std::max(worst_, share);
  }
  double share() const { return worst_; }

 private:
  double worst_ = 0;
};

// The largest distance of two entries: infinite where one is NaN, or where the arrays are not equally long.
template <class A, class B>
double largestDifference(const std::vector<A>& a, const std::vector<B>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  Worst worst;
  for (size_t i = 0; i < a.size(); ++i) worst.add(a[i], b[i], 1);
  return worst.share();
}

// How far `actual` may be from a result of this size that was rounded once, in units in the last place.
inline double ulpOfFloat(double x) {
  return std::ldexp(1.0, std::max(std::ilogb(x), -126) - 23);
}

template <class T>
bool sameBits(const T* a, const T* b, size_t n) {
  return n == 0 || std::memcmp(a, b, n * sizeof(T)) == 0;
}

template <class T>
bool sameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && sameBits(a.data(), b.data(), a.size());
}

}  // namespace ropewalk::test
