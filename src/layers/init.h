// Reproducible weights for layers that were never trained.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ropewalk {

inline constexpr uint64_t kUniformStep = 0x9e3779b97f4a7c15;

// n numbers uniform in [-bound, bound), the same for the same seed (below 2^53) and stream (below 2^11) on
// every platform (SplitMix64; Steele, Lea and Flood 2014). In stream 0, seed + i kUniformStep gives the
// numbers that follow the first i.
inline void fillUniform(uint64_t seed, unsigned stream, float bound, float* out, size_t n) {
  seed |= uint64_t{stream} << 53;
  for (size_t i = 0; i < n; ++i) {
    seed += kUniformStep;
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    const float unit = static_cast<float>(z >> 40) * 0x1p-24f;  // [0, 1), 24 bits
    out[i] = bound * (2 * unit - 1);
  }
}

}  // namespace ropewalk
