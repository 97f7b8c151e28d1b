// How floats are narrowed to the blocks of GGUF files: as ggml's reference quantizers choose scales and
// codes, quantize_row_*_ref of ggml-quants.c. The number of roundings and their order are theirs.
#include <algorithm>
#include <cmath>

#include "kernels/formats/q4_0.h"
#include "kernels/formats/q4_1.h"
#include "kernels/formats/q4_k.h"
#include "kernels/formats/q5_0.h"
#include "kernels/formats/q5_1.h"
#include "kernels/formats/q5_k.h"
#include "kernels/formats/q6_k.h"
#include "kernels/formats/q8_0.h"

namespace ropewalk {
namespace {

void putHalf(unsigned char* out, float x) {
  const uint16_t bits = narrowToFloat16(x);
  std::memcpy(out, &bits, sizeof bits);
}

float asHalf(float x) {
  return widenFloat16(narrowToFloat16(x));
}

// x / y, and 0 where y is so small that it is no number: the scale, as a float16, is then 0 as well.
float finiteRatio(float x, float y) {
  const float ratio = x / y;
  return std::isfinite(ratio) ? ratio : 0;
}

// The nearest integer, ties to even, within low ... high.
int nearest(float x, int low, int high) {
  const float within = std::clamp(x, static_cast<float>(low), static_cast<float>(high));
  return static_cast<int>(std::nearbyint(within));
}

// The number of largest magnitude, the first of them; 0 where all are.
float extremeOf(const float* x, size_t n) {
  float extreme = 0;
  for (size_t i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  return extreme;
}

// 32 codes as 16 bytes of four bits, and a word of the fifth bits.
uint32_t putHalves(unsigned char* out, const uint8_t (&codes)[32]) {
  uint32_t fifth = 0;
  for (size_t i = 0; i < 16; ++i)
    out[i] = static_cast<unsigned char>((codes[i] & 0xf) | (codes[i + 16] & 0xf) << 4);
  for (size_t i = 0; i < 32; ++i) fifth |= uint32_t{codes[i]} >> 4 << i;
  return fifth;
}

// Q4_0 and Q5_0: the number of largest magnitude becomes code 0, at -2^(bits - 1) times the scale.
void narrowAroundZero(const float* x, size_t n, unsigned char* out, int half, bool five_bits) {
  for (size_t l = 0; l < n; l += 32, x += 32, out += five_bits ? 22 : 18) {
    const float scale = extremeOf(x, 32) / static_cast<float>(-half);
    const float inverse = finiteRatio(1, scale);
    putHalf(out, scale);
    uint8_t codes[32];
    for (size_t i = 0; i < 32; ++i) {
      const float code = x[i] * inverse + (static_cast<float>(half) + 0.5f);
      codes[i] = static_cast<uint8_t>(std::min(static_cast<int>(code), 2 * half - 1));
    }
    const uint32_t fifth = putHalves(out + (five_bits ? 6 : 2), codes);
    if (five_bits) std::memcpy(out + 2, &fifth, sizeof fifth);
  }
}

// Q4_1 and Q5_1: codes from the smallest to the largest number.
void narrowFromMinimum(const float* x, size_t n, unsigned char* out, int largest, bool five_bits) {
  for (size_t l = 0; l < n; l += 32, x += 32, out += five_bits ? 24 : 20) {
    const auto [low, high] = std::minmax_element(x, x + 32);
    const float minimum = *low;
    const float scale = (*high - minimum) / static_cast<float>(largest);
    const float inverse = finiteRatio(1, scale);
    putHalf(out, scale);
    putHalf(out + 2, minimum);
    uint8_t codes[32];
    for (size_t i = 0; i < 32; ++i) {
      const float code = (x[i] - minimum) * inverse + 0.5f;
      codes[i] = static_cast<uint8_t>(std::min(static_cast<int>(code), largest));
    }
    const uint32_t fifth = putHalves(out + (five_bits ? 8 : 4), codes);
    if (five_bits) std::memcpy(out + 4, &fifth, sizeof fifth);
  }
}

// The scale and the min, 0 or more, of 32 numbers for codes 0 ... largest: of several ranges that are tried,
// that with the least squared error, weighted, where scale and min solve its normal equations
// (make_qkx2_quants).
struct RunSearch {
  int largest;  // code
  float first;  // range that is tried, in codes beyond the largest
  int steps;    // of 0.1 codes
};

float weightedError(const float* x, const float* weights, const uint8_t* codes, float scale, float minimum) {
  float error = 0;
  for (size_t i = 0; i < kRunInputs; ++i) {
    const float off = scale * static_cast<float>(codes[i]) + minimum - x[i];
    error += weights[i] * (off * off);
  }
  return error;
}

void searchRun(const float* x, const RunSearch& search, uint8_t* codes, float* scale, float* min) {
  float weights[kRunInputs];
  float squares = 0;
  for (size_t i = 0; i < kRunInputs; ++i) squares += x[i] * x[i];
  const float typical = std::sqrt(squares / kRunInputs);
  float sum_w = 0;
  float sum_x = 0;
  for (size_t i = 0; i < kRunInputs; ++i) {
    weights[i] = typical + std::fabs(x[i]);
    sum_w += weights[i];
    sum_x += weights[i] * x[i];
  }
  const auto [low, high] = std::minmax_element(x, x + kRunInputs);
  const float start = std::min(*low, 0.0f);
  const float range = *high - start;
  std::fill_n(codes, kRunInputs, static_cast<uint8_t>(0));
  *scale = 0;
  *min = -start;
  if (range == 0) return;

  const auto largest = static_cast<float>(search.largest);
  const auto codesOf = [&](float inverse, uint8_t* to) {
    for (size_t i = 0; i < kRunInputs; ++i)
      to[i] = static_cast<uint8_t>(nearest(inverse * (x[i] - start), 0, search.largest));
  };
  const float whole = largest / range;
  if (!std::isfinite(whole)) return;
  codesOf(whole, codes);
  *scale = 1 / whole;
  float best = weightedError(x, weights, codes, *scale, start);
  for (int step = 0; step <= search.steps; ++step) {
    const float inverse = (search.first + 0.1f * static_cast<float>(step) + largest) / range;
    if (!std::isfinite(inverse)) break;
    uint8_t tried[kRunInputs];
    codesOf(inverse, tried);
    float sum_l = 0;
    float sum_l2 = 0;
    float sum_xl = 0;
    for (size_t i = 0; i < kRunInputs; ++i) {
      const float wl = weights[i] * static_cast<float>(tried[i]);
      sum_l += wl;
      sum_l2 += wl * static_cast<float>(tried[i]);
      sum_xl += wl * x[i];
    }
    const float determinant = sum_w * sum_l2 - sum_l * sum_l;
    if (!(determinant > 0)) continue;
    float this_scale = (sum_w * sum_xl - sum_x * sum_l) / determinant;
    float this_minimum = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
    if (this_minimum > 0) {
      this_minimum = 0;
      this_scale = sum_xl / sum_l2;
    }
    const float error = weightedError(x, weights, tried, this_scale, this_minimum);
    if (!(error < best)) continue;
    std::copy_n(tried, kRunInputs, codes);
    best = error;
    *scale = this_scale;
    *min = -this_minimum;
  }
}

// d, dmin and the 12 bytes of the multiples for the scales and mins of eight runs; then the codes to those.
void narrowSuperBlock(const float* x, const RunSearch& search, unsigned char* out,
                      uint8_t (&codes)[kSuperBlock]) {
  float scales[kSuperRuns];
  float mins[kSuperRuns];
  for (size_t s = 0; s < kSuperRuns; ++s)
    searchRun(x + s * kRunInputs, search, codes + s * kRunInputs, &scales[s], &mins[s]);
  const float largest_scale = std::max(0.0f, *std::max_element(scales, scales + kSuperRuns));
  const float largest_min = std::max(0.0f, *std::max_element(mins, mins + kSuperRuns));
  const float d = largest_scale / 63;
  const float dmin = largest_min / 63;
  putHalf(out, d);
  putHalf(out + 2, dmin);
  unsigned char* bytes = out + 4;
  std::fill_n(bytes, 12, static_cast<unsigned char>(0));
  const auto multiple = [](float x_, float largest) { return nearest(finiteRatio(63, largest) * x_, 0, 63); };
  for (size_t s = 0; s < kSuperRuns; ++s) {
    const int scale = multiple(scales[s], largest_scale);
    const int min = multiple(mins[s], largest_min);
    if (s < 4) {
      bytes[s] = static_cast<unsigned char>(scale);
      bytes[s + 4] = static_cast<unsigned char>(min);
    } else {
      bytes[s + 4] = static_cast<unsigned char>((scale & 0xf) | (min & 0xf) << 4);
      bytes[s - 4] = static_cast<unsigned char>(bytes[s - 4] | scale >> 4 << 6);
      bytes[s] = static_cast<unsigned char>(bytes[s] | min >> 4 << 6);
    }
    const float step = asHalf(d) * static_cast<float>(scale);
    const float offset = asHalf(dmin) * static_cast<float>(min);
    if (step == 0) continue;
    for (size_t i = s * kRunInputs; i < (s + 1) * kRunInputs; ++i)
      codes[i] = static_cast<uint8_t>(nearest((x[i] + offset) / step, 0, search.largest));
  }
}

// Runs 2 i and 2 i + 1 share 32 bytes.
void putSuperNibbles(unsigned char* out, const uint8_t (&codes)[kSuperBlock]) {
  for (size_t i = 0; i < kSuperBlock / 2; ++i) {
    const size_t first = i / 32 * 64 + i % 32;
    out[i] = static_cast<unsigned char>((codes[first] & 0xf) | (codes[first + 32] & 0xf) << 4);
  }
}

// The scale of 16 numbers for codes -32 ... 31: of several, that with the least error, weighted by their
// squares (make_qx_quants).
float searchScale(const float* x, uint8_t* codes) {
  constexpr size_t kCount = 16;
  std::fill_n(codes, kCount, static_cast<uint8_t>(0));
  const float extreme = extremeOf(x, kCount);
  if (std::fabs(extreme) < 1e-15f) return 0;
  float scale = 0;
  float best = 0;
  // ggml tries the whole range first, then 0.9 codes less to 0.9 codes more of it.
  for (int step = -10; step <= 9; ++step) {
    if (step == 0) continue;
    const float more = step == -10 ? 0 : 0.1f * static_cast<float>(step);
    const float inverse = -(32 + more) / extreme;
    uint8_t tried[kCount];
    float sum_xl = 0;
    float sum_l2 = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const int code = nearest(inverse * x[i], -32, 31);
      tried[i] = static_cast<uint8_t>(code + 32);
      const float w = x[i] * x[i];
      sum_xl += w * x[i] * static_cast<float>(code);
      sum_l2 += w * static_cast<float>(code) * static_cast<float>(code);
    }
    const bool better = sum_l2 > 0 && sum_xl * sum_xl > best * sum_l2;
    if (step != -10 && !better) continue;
    std::copy_n(tried, kCount, codes);
    scale = sum_l2 > 0 ? sum_xl / sum_l2 : 0;
    best = scale * sum_xl;
  }
  return scale;
}

}  // namespace

void Q4_0Format::narrow(const float* x, size_t n, unsigned char* out) {
  narrowAroundZero(x, n, out, 8, false);
}

void Q5_0Format::narrow(const float* x, size_t n, unsigned char* out) {
  narrowAroundZero(x, n, out, 16, true);
}

void Q4_1Format::narrow(const float* x, size_t n, unsigned char* out) {
  narrowFromMinimum(x, n, out, 15, false);
}

void Q5_1Format::narrow(const float* x, size_t n, unsigned char* out) {
  narrowFromMinimum(x, n, out, 31, true);
}

void Q8_0Format::narrow(const float* x, size_t n, unsigned char* out) {
  for (size_t l = 0; l < n; l += kBlock, x += kBlock, out += kBlockBytes) {
    float nothing = 0;  // unless a number is not finite
    for (size_t i = 0; i < kBlock; ++i) nothing += x[i] * 0;
    const float scale = std::fabs(extremeOf(x, kBlock)) / 127 + nothing;
    const float inverse = finiteRatio(1, scale);
    putHalf(out, scale);
    for (size_t i = 0; i < kBlock; ++i) {
      const float code = nothing == 0 ? std::round(x[i] * inverse) : 0;
      out[2 + i] = static_cast<unsigned char>(static_cast<int>(code));
    }
  }
}

void Q4_KFormat::narrow(const float* x, size_t n, unsigned char* out) {
  for (size_t l = 0; l < n; l += kBlock, x += kBlock, out += kBlockBytes) {
    uint8_t codes[kBlock];
    narrowSuperBlock(x, {15, -1, 20}, out, codes);
    putSuperNibbles(out + 16, codes);
  }
}

void Q5_KFormat::narrow(const float* x, size_t n, unsigned char* out) {
  for (size_t l = 0; l < n; l += kBlock, x += kBlock, out += kBlockBytes) {
    uint8_t codes[kBlock];
    narrowSuperBlock(x, {31, -0.5f, 15}, out, codes);
    putSuperNibbles(out + 48, codes);
    for (size_t i = 0; i < 32; ++i) {
      unsigned bits = 0;
      for (size_t s = 0; s < kSuperRuns; ++s) bits |= unsigned{codes[s * 32 + i]} >> 4 << s;
      out[16 + i] = static_cast<unsigned char>(bits);
    }
  }
}

void Q6_KFormat::narrow(const float* x, size_t n, unsigned char* out) {
  constexpr size_t kScales = kBlock / 16;
  for (size_t l = 0; l < n; l += kBlock, x += kBlock, out += kBlockBytes) {
    uint8_t codes[kBlock];
    float scales[kScales];
    for (size_t s = 0; s < kScales; ++s) scales[s] = searchScale(x + s * 16, codes + s * 16);
    const float extreme = extremeOf(scales, kScales);
    std::fill_n(out, kBlockBytes, static_cast<unsigned char>(0));
    if (std::fabs(extreme) < 1e-15f) continue;
    const float inverse = -128 / extreme;
    const float d = 1 / inverse;
    putHalf(out + kHalf, d);
    for (size_t s = 0; s < kScales; ++s) {
      const int multiple = nearest(inverse * scales[s], -128, 127);
      out[192 + s] = static_cast<unsigned char>(multiple);
      const float step = asHalf(d) * static_cast<float>(multiple);
      for (size_t i = s * 16; step != 0 && i < (s + 1) * 16; ++i)
        codes[i] = static_cast<uint8_t>(nearest(x[i] / step, -32, 31) + 32);
    }
    for (size_t i = 0; i < kBlock; ++i) {
      const size_t run = i / 32 % 4;
      const size_t half = i / 128;
      unsigned char& low = out[half * 64 + run % 2 * 32 + i % 32];
      unsigned char& high = out[128 + half * 32 + i % 32];
      low = static_cast<unsigned char>(low | (codes[i] & 0xf) << (run < 2 ? 0 : 4));
      high = static_cast<unsigned char>(high | codes[i] >> 4 << 2 * run);
    }
  }
}

}  // namespace ropewalk
