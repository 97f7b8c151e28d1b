#include "kernels/weight_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "catch.h"
#include "checksum.h"
#include "kernels/gemm.h"
#include "reference.h"
#include "simd.h"
#include "simd/byte_dots.h"

namespace ropewalk::test {
namespace {

template <class T>
T numberAt(const unsigned char* bytes) {
  T number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

double valueOfFloat16(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int mantissa = bits & 0x3ff;
  const double size = exponent == 0x1f ? (mantissa == 0 ? kInfinity : kNaN)
                      : exponent == 0  ? std::ldexp(mantissa, -24)
                                       : std::ldexp(0x400 + mantissa, exponent - 25);
  return bits >> 15 != 0 ? -size : size;
}

double halfAt(const unsigned char* bytes) {
  return valueOfFloat16(numberAt<uint16_t>(bytes));
}

int bitsOf(unsigned byte, unsigned shift, unsigned count) {
  return static_cast<int>(byte >> shift & ((1u << count) - 1));
}

// 32 weights: bytes with four bits of inputs i and i + 16, and for five bits a word whose bit i is that of
// input i.
std::vector<double> weightsOf32(const unsigned char* nibbles, const unsigned char* fifth, double scale,
                                int offset, double minimum) {
  std::vector<double> weights(32);
  for (size_t i = 0; i < 32; ++i) {
    int code = bitsOf(nibbles[i % 16], i < 16 ? 0 : 4, 4);
    if (fifth != nullptr) code += 16 * bitsOf(fifth[i / 8], static_cast<unsigned>(i % 8), 1);
    weights[i] = scale * (code - offset) + minimum;
  }
  return weights;
}

// Q4_K, and Q5_K where there are fifth bits: bit s of byte i is that of input i of run s.
std::vector<double> weightsOfSuperBlock(const unsigned char* block, const unsigned char* nibbles,
                                        const unsigned char* fifth) {
  const unsigned char* packed = block + 4;
  std::vector<double> weights(256);
  for (size_t l = 0; l < 256; ++l) {
    const size_t s = l / 32;
    const int scale = s < 4 ? packed[s] % 64 : packed[s + 4] % 16 + packed[s - 4] / 64 * 16;
    const int min = s < 4 ? packed[s + 4] % 64 : packed[s + 4] / 16 + packed[s] / 64 * 16;
    int code = bitsOf(nibbles[l / 64 * 32 + l % 32], s % 2 == 0 ? 0 : 4, 4);
    if (fifth != nullptr) code += 16 * bitsOf(fifth[l % 32], static_cast<unsigned>(s), 1);
    weights[l] = halfAt(block) * scale * code - halfAt(block + 2) * min;
  }
  return weights;
}

// The weights of a block by the definition of each format, in the order of their numbers. Every product is
// exact in double; the one rounding to float32 is that of the sum.
using Reference = std::vector<double> (*)(const unsigned char* block);
constexpr Reference kReferences[] = {
    [](const unsigned char* block) { return std::vector<double>{numberAt<float>(block)}; },
    [](const unsigned char* block) { return std::vector<double>{valueOfFloat16(numberAt<uint16_t>(block))}; },
    [](const unsigned char* block) {
      return std::vector<double>{std::bit_cast<float>(uint32_t{numberAt<uint16_t>(block)} << 16)};
    },
    [](const unsigned char* block) {
      return std::vector<double>{static_cast<double>(numberAt<int8_t>(block))};
    },
    [](const unsigned char* b) { return weightsOf32(b + 2, nullptr, halfAt(b), 8, 0); },
    [](const unsigned char* b) { return weightsOf32(b + 4, nullptr, halfAt(b), 0, halfAt(b + 2)); },
    [](const unsigned char* b) { return weightsOf32(b + 6, b + 2, halfAt(b), 16, 0); },
    [](const unsigned char* b) { return weightsOf32(b + 8, b + 4, halfAt(b), 0, halfAt(b + 2)); },
    [](const unsigned char* b) {
      std::vector<double> weights(32);
      for (size_t i = 0; i < 32; ++i) weights[i] = halfAt(b) * numberAt<int8_t>(b + 2 + i);
      return weights;
    },
    [](const unsigned char* b) { return weightsOfSuperBlock(b, b + 16, nullptr); },
    [](const unsigned char* b) { return weightsOfSuperBlock(b, b + 48, b + 16); },
    [](const unsigned char* b) {
      std::vector<double> weights(256);
      for (size_t l = 0; l < 256; ++l) {
        const size_t half = l / 128;
        const size_t run = l % 128 / 32;
        const int low = bitsOf(b[half * 64 + run % 2 * 32 + l % 32], run < 2 ? 0 : 4, 4);
        const int high = bitsOf(b[128 + half * 32 + l % 32], static_cast<unsigned>(2 * run), 2);
        weights[l] = halfAt(b + 208) * numberAt<int8_t>(b + 192 + l / 16) * (low + 16 * high - 32);
      }
      return weights;
    },
};
static_assert(std::size(kReferences) == kWeightFormats.size());

std::vector<double> weightsOf(const WeightFormat& format, const unsigned char* blocks, size_t n) {
  std::vector<double> weights;
  for (size_t b = 0; b < format.blocks(n); ++b) {
    const auto block = kReferences[static_cast<size_t>(format.type)](blocks + b * format.block_bytes);
    weights.insert(weights.end(), block.begin(), block.end());
  }
  weights.resize(n);
  return weights;
}

// A scale and a min, 0 or more, for codes 0 ... largest.
struct ScaleAndMin {
  double scale = 0;
  double min = 0;
};

// For one run of Q4_K or Q5_K: of several ranges that with the least weighted error, where scale and min are
// those of the least squares for its codes.
ScaleAndMin searchedRun(const float* x, int largest, double first, int steps) {
  const auto [low, high] = std::minmax_element(x, x + 32);
  const double start = std::min(0.0, static_cast<double>(*low));
  const double range = *high - start;
  double squares = 0;
  for (size_t i = 0; i < 32; ++i) squares += static_cast<double>(x[i]) * x[i];
  ScaleAndMin found;
  double least = kInfinity;
  for (int step = -1; step <= steps; ++step) {
    const double codes = largest + (step < 0 ? 0 : first + 0.1 * step);
    double w = 0, wx = 0, wl = 0, wll = 0, wxl = 0;
    std::vector<double> code(32), weight(32);
    for (size_t i = 0; i < 32; ++i) {
      code[i] = std::clamp(std::nearbyint((x[i] - start) / range * codes), 0.0, static_cast<double>(largest));
      weight[i] = std::sqrt(squares / 32) + std::fabs(x[i]);
      w += weight[i];
      wx += weight[i] * x[i];
      wl += weight[i] * code[i];
      wll += weight[i] * code[i] * code[i];
      wxl += weight[i] * code[i] * x[i];
    }
    ScaleAndMin tried = {range / codes, -start};
    if (step >= 0) {
      tried = {(w * wxl - wx * wl) / (w * wll - wl * wl), (wl * wxl - wll * wx) / (w * wll - wl * wl)};
      if (tried.min < 0) tried = {wxl / wll, 0};
    }
    double error = 0;
    for (size_t i = 0; i < 32; ++i)
      error += weight[i] * std::pow(tried.scale * code[i] - tried.min - x[i], 2);
    if (error < least) {
      found = tried;
      least = error;
    }
  }
  return found;
}

// The squared error of a block of Q4_K or Q5_K.
double searchedError(const float* x, int largest, double first, int steps) {
  ScaleAndMin runs[8];
  ScaleAndMin most;
  for (size_t s = 0; s < 8; ++s) {
    runs[s] = searchedRun(x + 32 * s, largest, first, steps);
    most = {std::max(most.scale, runs[s].scale), std::max(most.min, runs[s].min)};
  }
  double error = 0;
  for (size_t i = 0; i < 256; ++i) {
    const ScaleAndMin& run = runs[i / 32];
    const double scale = std::nearbyint(63 * run.scale / most.scale) * most.scale / 63;
    const double min = std::nearbyint(63 * run.min / most.min) * most.min / 63;
    const double code = std::clamp(std::nearbyint((x[i] + min) / scale), 0.0, static_cast<double>(largest));
    error += std::pow(scale * code - min - x[i], 2);
  }
  return error;
}

// The same of Q6_K: of 19 scales of 16 numbers that which explains most of their squares.
double searchedErrorOf6(const float* x) {
  double scales[16];
  for (size_t s = 0; s < 16; ++s) {
    const float* run = x + 16 * s;
    const float extreme =
        *std::max_element(run, run + 16, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    double best = -1;
    for (int step = -9; step <= 9; ++step) {
      double wxl = 0, wll = 0;
      for (size_t i = 0; i < 16; ++i) {
        const double code = std::clamp(std::nearbyint(-(32 + 0.1 * step) / extreme * run[i]), -32.0, 31.0);
        wxl += std::pow(run[i], 3) * code;
        wll += std::pow(run[i] * code, 2);
      }
      if (wxl * wxl / wll > best) {
        best = wxl * wxl / wll;
        scales[s] = wxl / wll;
      }
    }
  }
  const double extreme =
      *std::max_element(scales, scales + 16, [](double a, double b) { return std::fabs(a) < std::fabs(b); });
  double error = 0;
  for (size_t i = 0; i < 256; ++i) {
    const double step = std::nearbyint(-128 * scales[i / 16] / extreme) * extreme / -128;
    error += std::pow(step * std::clamp(std::nearbyint(x[i] / step), -32.0, 31.0) - x[i], 2);
  }
  return error;
}

}  // namespace

TEST_CASE("widen reads any number of weights of every format, at any address, and no more", "[kernels]") {
  Random random(1);
  for (const WeightFormat& format : kWeightFormats) {
    for (const size_t n : kernelSizes()) {
      std::vector<unsigned char> bytes(1 + format.rowBytes(n));
      for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random.bits());
      std::vector<float> out(n, kNaN);
      widen(format.type, bytes.data() + 1, n, out.data());
      const std::vector<double> expected = weightsOf(format, bytes.data() + 1, n);
      int misses = 0;
      for (size_t i = 0; i < n; ++i)
        misses += std::isnan(expected[i]) ? !std::isnan(out[i]) : out[i] != static_cast<float>(expected[i]);
      INFO("type " << static_cast<int>(format.type) << ", n = " << n);
      CHECK(misses == 0);
    }
  }
}

TEST_CASE("Floats are narrowed to blocks within the error that their codes explain", "[kernels]") {
  // The largest distance of a weight within the range of a block, in ranges: half a step of the codes (a
  // whole one where the range of a sign has one code less), and the rounding of the scale to float16. A
  // search for the least squared error may leave out the ends of the range: not by more than a step.
  struct Bound {
    WeightType type;
    double range;  // of codes, in steps
    double steps;
  };
  constexpr Bound kBounds[] = {
      {WeightType::kQ4_0, 16, 1},   {WeightType::kQ4_1, 15, 0.5},  {WeightType::kQ5_0, 32, 1},
      {WeightType::kQ5_1, 31, 0.5}, {WeightType::kQ8_0, 254, 0.5}, {WeightType::kQ4_K, 15, 2},
      {WeightType::kQ5_K, 31, 2},   {WeightType::kQ6_K, 63, 2},
  };
  Random random(4);
  for (const Bound& bound : kBounds) {
    const WeightFormat& format = formatOf(bound.type);
    const size_t n = 8 * format.block;
    for (const double size : {0.02, 1.0, 300.0}) {
      for (const double shift : {0.0, 3.0}) {  // times the size
        std::vector<float> x(n);
        for (float& each : x) each = static_cast<float>(size * (random.uniform(-1, 1) + shift));
        std::vector<unsigned char> bytes(format.rowBytes(n));
        withFormat(format.type, [&](auto f) { f.narrow(x.data(), n, bytes.data()); });
        const std::vector<double> weights = weightsOf(format, bytes.data(), n);
        const double largest = size * (1 + shift);
        // Symmetric formats cover -largest ... largest; those with a minimum the numbers that there are, and
        // blocks of 256 always 0.
        const bool from_zero = bound.type == WeightType::kQ4_K || bound.type == WeightType::kQ5_K;
        const double range = format.codes.has_mins ? (from_zero ? largest + size : 2 * size) : 2 * largest;
        Worst worst;
        for (size_t i = 0; i < n; ++i)
          worst.add(weights[i], x[i], range / bound.range * bound.steps + largest * 0x1p-9);
        INFO("type " << static_cast<int>(format.type) << ", size = " << size << ", shift = " << shift);
        CHECK(worst.share() <= 1);
      }
    }
  }
}

TEST_CASE("Blocks of what their format has exactly are narrowed to it", "[kernels]") {
  for (const WeightFormat& format : kWeightFormats) {
    if (!format.hasCodes()) continue;
    // Whole multiples of a power of two, both ends of the codes among them.
    const int lowest = format.codes.is_signed ? -127 : -static_cast<int>(format.codes.offset);
    const int highest = format.type == WeightType::kQ8_0   ? 127
                        : format.type == WeightType::kQ6_K ? 31
                        : format.type == WeightType::kQ4_0 || format.type == WeightType::kQ4_1 ||
                                format.type == WeightType::kQ4_K
                            ? lowest + 15
                            : lowest + 31;
    std::vector<float> x(format.block);
    for (size_t i = 0; i < x.size(); ++i) {
      const int span = highest - lowest + 1;
      const size_t run = i % format.codes.scale_inputs;
      const int code = run == 0 ? lowest : run == 1 ? highest : lowest + static_cast<int>(i * 7) % span;
      x[i] = static_cast<float>(code) * 0.25f;
    }
    std::vector<unsigned char> bytes(format.block_bytes);
    withFormat(format.type, [&](auto f) { f.narrow(x.data(), x.size(), bytes.data()); });
    const std::vector<double> weights = weightsOf(format, bytes.data(), x.size());
    double off = 0;
    for (size_t i = 0; i < x.size(); ++i) off = std::max(off, std::fabs(weights[i] - x[i]));
    INFO("type " << static_cast<int>(format.type));
    // A block of 256 has its scales as multiples of 1 / 63 of a float16.
    CHECK(off <= (format.block == kSuperBlock ? 0x1p-5 * 0.25 * 31 : 0.0));
  }
}

TEST_CASE("Blocks of 256 have the scales of the least error among those that are tried", "[kernels]") {
  Random random(23);
  constexpr size_t kBlocks = 64;
  const std::vector<float> x = random.floats(256 * kBlocks, 3);
  const auto check = [&](WeightType type, auto expected_of) {
    double error = 0;
    double expected = 0;
    for (size_t b = 0; b < kBlocks; ++b) {
      const float* from = x.data() + 256 * b;
      std::vector<unsigned char> block(formatOf(type).block_bytes);
      methodsOf(type).narrow(from, 256, block.data());
      const std::vector<double> back = weightsOf(formatOf(type), block.data(), 256);
      for (size_t i = 0; i < 256; ++i) error += std::pow(back[i] - from[i], 2);
      expected += expected_of(from);
    }
    INFO("type " << static_cast<int>(type) << ", error " << error << ", " << expected << " expected");
    CHECK(std::fabs(error / expected - 1) < 0.003);
  };
  check(WeightType::kQ4_K, [](const float* from) { return searchedError(from, 15, -1, 20); });
  check(WeightType::kQ5_K, [](const float* from) { return searchedError(from, 31, -0.5, 15); });
  check(WeightType::kQ6_K, searchedErrorOf6);
}

TEST_CASE("Blocks of zeros, of one number and of tiny numbers have finite weights", "[kernels]") {
  for (const WeightFormat& format : kWeightFormats) {
    if (!format.hasCodes()) continue;
    for (const float number :
         {0.0f, -0.0f, 1.0f, -1.0f, 1e-30f, -1e-30f, 4.5e-38f, 1e-38f, 1e-44f, 65000.0f}) {
      std::vector<float> x(format.block, number);
      x[5] = 0;
      std::vector<unsigned char> bytes(format.block_bytes);
      withFormat(format.type, [&](auto f) { f.narrow(x.data(), x.size(), bytes.data()); });
      Worst worst;
      const std::vector<double> weights = weightsOf(format, bytes.data(), x.size());
      for (size_t i = 0; i < x.size(); ++i) worst.add(weights[i], x[i], std::fabs(number) * 0.07 + 0x1p-14);
      INFO("type " << static_cast<int>(format.type) << ", " << number);
      CHECK(worst.share() <= 1);
    }
  }
}

TEST_CASE("A product with the blocks of a file agrees with sums in double", "[kernels]") {
  Random random(2);
  for (const WeightFormat& format : kWeightFormats) {
    if (format.row_scales) continue;  // no format of files
    for (const size_t k : std::initializer_list<size_t>{1, 31, 32, 33, 256, 259, 320, 600}) {
      constexpr size_t kN = 35;
      std::vector<unsigned char> bytes(kN * format.rowBytes(k));
      std::vector<double> w;
      std::vector<float> row(format.blocks(k) * format.block);
      for (size_t j = 0; j < kN; ++j) {
        unsigned char* to = bytes.data() + j * format.rowBytes(k);
        for (size_t l = 0; l < k; ++l) row[l] = static_cast<float>(random.uniform(-1, 1));
        withFormat(format.type, [&](auto f) { f.narrow(row.data(), row.size(), to); });
        const std::vector<double> weights = weightsOf(format, to, k);
        w.insert(w.end(), weights.begin(), weights.end());
      }
      PackedMatrix packed;
      REQUIRE(packed.allocate(kN, k, format.type, true) == Status::kOk);
      REQUIRE(packed.packRows(0, kN, format.type, bytes.data()) == Status::kOk);
      for (const size_t m : std::initializer_list<size_t>{1, 2, 3, 13}) {
        const std::vector<float> a = random.floats(m * k);
        std::vector<float> out(m * kN, kNaN);
        gemm(out.data(), kN, a.data(), k, packed, m);
        Worst worst;
        for (size_t i = 0; i < m; ++i) {
          for (size_t j = 0; j < kN; ++j) {
            double sum = 0;
            double work = 0;
            for (size_t l = 0; l < k; ++l) {
              const double term = a[i * k + l] * w[j * k + l];
              sum += term;
              work += std::fabs(term);
            }
            // A rounding of each product and sum, and one of the weight.
            worst.add(out[i * kN + j], sum, static_cast<double>(k + 2) * kUnit * work);
          }
        }
        INFO("type " << static_cast<int>(format.type) << ", k = " << k << ", m = " << m);
        CHECK(worst.share() <= 1);
      }
    }
  }
}

namespace {

// Rows of a [m, k] rounded to bytes, 32 with one scale, by the definition.
std::vector<double> roundedInputs(const std::vector<float>& a, size_t m, size_t k) {
  std::vector<double> rounded(a.size());
  for (size_t i = 0; i < m; ++i) {
    for (size_t l = 0; l < k; l += 32) {
      const size_t end = std::min(k, l + 32);
      float largest = 0;
      for (size_t j = l; j < end; ++j) largest = std::max(largest, std::fabs(a[i * k + j]));
      const float scale = std::max(largest / 127, 0x1p-126f);
      for (size_t j = l; j < end; ++j)
        rounded[i * k + j] = static_cast<double>(scale) * std::nearbyint(a[i * k + j] / scale);
    }
  }
  return rounded;
}

// Blocks of any codes, with scales that are finite, for n rows of k weights.
std::vector<unsigned char> anyBlocks(const WeightFormat& format, size_t n, size_t k, Random& random) {
  std::vector<unsigned char> bytes(n * format.rowBytes(k));
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random.bits());
  for (size_t at = 0; at < bytes.size(); at += format.block_bytes) {
    const size_t half = format.type == WeightType::kQ6_K ? 208 : 0;
    bytes[at + half + 1] &= 0xbf;  // exponents below 16: magnitudes below 2
    if (format.codes.has_mins) bytes[at + 3] &= 0xbf;
  }
  return bytes;
}

// Numbers of all sizes, and runs of one magnitude: all codes are then 127 or -127.
std::vector<float> anyInputs(size_t count, Random& random) {
  std::vector<float> a = random.floats(count);
  for (size_t i = 0; i < count; ++i) {
    if (i / 32 % 3 == 1) a[i] = a[i] < 0 ? -1.0f : 1.0f;
    if (i / 32 % 7 == 2) a[i] *= 0x1p-120f;
  }
  return a;
}

}  // namespace

TEST_CASE("Products in integers are those with inputs of 8 bits", "[kernels]") {
  Random random(3);
  for (const WeightFormat& format : kWeightFormats) {
    if (!format.hasCodes()) continue;
    for (const size_t k : std::initializer_list<size_t>{1, 31, 32, 33, 256, 259, 2047, 2049, 4200}) {
      constexpr size_t kN = 35;
      const std::vector<unsigned char> bytes = anyBlocks(format, kN, k, random);
      PackedMatrix packed;
      REQUIRE(packed.pack(format.type, bytes.data(), kN, k, format.type) == Status::kOk);
      for (const size_t m : std::initializer_list<size_t>{1, 2, 3, 8, 9, 65}) {
        const std::vector<float> a = anyInputs(m * k, random);
        const std::vector<double> rounded = roundedInputs(a, m, k);
        std::vector<float> out(m * kN, kNaN);
        gemm(out.data(), kN, a.data(), k, packed, m);
        Worst worst;
        for (size_t j = 0; j < kN; ++j) {
          const std::vector<double> w = weightsOf(format, bytes.data() + j * format.rowBytes(k), k);
          for (size_t i = 0; i < m; ++i) {
            double sum = 0;
            double work = 0;
            for (size_t l = 0; l < k; ++l) {
              const double term = rounded[i * k + l] * w[l];
              sum += term;
              // What is subtracted as an offset or a min may be larger than the weight.
              work += std::fabs(rounded[i * k + l]) * (std::fabs(w[l]) + 130);
            }
            worst.add(out[i * kN + j], sum, static_cast<double>(k / 16 + 8) * kUnit * work);
          }
        }
        INFO("type " << static_cast<int>(format.type) << ", k = " << k << ", m = " << m);
        CHECK(worst.share() <= 1);
      }
    }
  }
}

TEST_CASE("Products in integers hold the largest sums", "[kernels]") {
  constexpr size_t kK = 512;
  constexpr size_t kN = 19;
  Random random(9);
  for (const WeightFormat& format : kWeightFormats) {
    if (!format.hasCodes()) continue;
    INFO("type " << static_cast<int>(format.type));
    // Codes of all bits or none, in both halves of a byte or in one.
    std::vector<unsigned char> bytes = anyBlocks(format, kN, kK, random);
    const std::vector<unsigned char> scales = bytes;
    constexpr unsigned char kExtremes[] = {0x00, 0x0f, 0xf0, 0xff};
    for (unsigned char& byte : bytes) byte = kExtremes[random.bits() % 4];
    for (size_t at = 0; at < bytes.size(); at += format.block_bytes) {
      const size_t half = at + (format.type == WeightType::kQ6_K ? 208 : 0);
      std::copy_n(&scales[half], format.codes.has_mins ? 4 : 2, &bytes[half]);
    }
    PackedMatrix packed;
    REQUIRE(packed.pack(format.type, bytes.data(), kN, kK, format.type) == Status::kOk);
    std::vector<std::vector<double>> weights;
    for (size_t j = 0; j < kN; ++j)
      weights.push_back(weightsOf(format, bytes.data() + j * format.rowBytes(kK), kK));
    // Inputs of the largest code: with the sign of a row's weights, of pairs of inputs, and equal ones.
    std::vector<float> a;
    for (const double sign : {1, -1}) {
      for (size_t j = 0; j < kN; ++j) {
        for (const double w : weights[j]) a.push_back(w * sign > 0 ? 1.0f : -1.0f);
      }
      for (size_t l = 0; l < kK; ++l) a.push_back(static_cast<float>(l % 4 < 2 ? sign : -sign));
      for (size_t l = 0; l < kK; ++l) a.push_back(static_cast<float>(sign));
    }
    const size_t m = a.size() / kK;
    std::vector<float> out(m * kN, kNaN);
    gemm(out.data(), kN, a.data(), kK, packed, m);
    Worst worst;
    for (size_t i = 0; i < m; ++i) {
      float alone[kN];
      gemm(alone, kN, a.data() + i * kK, kK, packed, 1);
      CHECK(std::memcmp(alone, out.data() + i * kN, sizeof alone) == 0);
      for (size_t j = 0; j < kN; ++j) {
        double sum = 0;
        double work = 0;
        for (size_t l = 0; l < kK; ++l) {
          sum += a[i * kK + l] * weights[j][l];
          work += std::fabs(weights[j][l]) + 130;
        }
        worst.add(out[i * kN + j], sum, static_cast<double>(kK / 16 + 8) * kUnit * work);
      }
    }
    CHECK(worst.share() <= 1);
  }
}

TEST_CASE("Products in integers have the same bits in every build, for a million runs", "[kernels]") {
  Random random(5);
  Checksum sum;
  size_t runs = 0;
  for (const WeightFormat& format : kWeightFormats) {
    if (!format.hasCodes()) continue;
    constexpr size_t kN = 64;
    constexpr size_t kK = 65536;
    const std::vector<unsigned char> bytes = anyBlocks(format, kN, kK, random);
    PackedMatrix packed;
    REQUIRE(packed.pack(format.type, bytes.data(), kN, kK, format.type) == Status::kOk);
    runs += kN * kK / 32;
    const std::vector<float> a = anyInputs(kK, random);
    std::vector<float> out(kN);
    gemm(out.data(), kN, a.data(), kK, packed, 1);
    for (const float each : out) sum.add(std::bit_cast<uint32_t>(each));
    // Several rows, two at a time and one alone, in blocks of inputs.
    PackedMatrix small;
    constexpr size_t kSmall = 4160;
    REQUIRE(small.pack(format.type, bytes.data(), 20, kSmall, format.type) == Status::kOk);
    for (const size_t m : std::initializer_list<size_t>{9, 69}) {
      const std::vector<float> rows = anyInputs(m * kSmall, random);
      std::vector<float> products(m * 20);
      gemm(products.data(), 20, rows.data(), kSmall, small, m);
      for (const float each : products) sum.add(std::bit_cast<uint32_t>(each));
    }
  }
  CHECK(runs >= 1'000'000);
  CHECK(sum.value() == 0x7b7fc61ff0b0a269);
}

#if !defined(__wasm__)  // where the machine decides
TEST_CASE("Products in integers have the same bits on machines that take others", "[kernels]") {
  constexpr size_t kN = 35;
  constexpr size_t kM = 67;
  const auto same = [](float x, float y) {
    return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y) || (std::isnan(x) && std::isnan(y));
  };
  Random random(12);
  for (const WeightFormat& format : kWeightFormats) {
    if (!format.hasCodes()) continue;
    for (const size_t k : std::initializer_list<size_t>{1, 33, 256, 2049, 4200}) {
      std::vector<unsigned char> bytes = anyBlocks(format, kN, k, random);
      for (const bool finite : {true, false}) {  // rows alone, too, are multiplied as several are
        const uint16_t infinity = 0x7c00;
        const size_t scale = format.type == WeightType::kQ6_K ? 208 : 0;
        if (!finite) std::memcpy(bytes.data() + scale, &infinity, sizeof infinity);
        PackedMatrix packed;
        REQUIRE(packed.pack(format.type, bytes.data(), kN, k, format.type) == Status::kOk);
        for (const size_t m : std::initializer_list<size_t>{1, 2, 3, 4, 5, 9, kM}) {
          std::vector<float> a = anyInputs(m * k, random);
          if (m > 4) a[4 * k] = kNaN;
          const std::vector<float> start = random.floats(m * kN);
          for (const bool accumulate : {true, false}) {
            GemmOptions options;
            options.accumulate = accumulate;
            std::vector<float> usual = start;
            gemm(usual.data(), kN, a.data(), k, packed, m, options);
            for (const bool slow : {true, false}) {
              simd::dots_are_slow = slow;
              simd::pairs_are_faster = false;
              std::vector<float> other = start;
              gemm(other.data(), kN, a.data(), k, packed, m, options);
              simd::dots_are_slow = false;
              simd::pairs_are_faster = true;
              INFO("type " << static_cast<int>(format.type) << ", k = " << k << ", m = " << m << ", slow "
                           << slow);
              CHECK(std::equal(usual.begin(), usual.end(), other.begin(), same));
            }
          }
        }
      }
    }
  }
}
#endif

TEST_CASE("A row with a number that is not finite has NaN in integers, the others nothing", "[kernels]") {
  constexpr size_t kK = 320;
  constexpr size_t kN = 17;
  Random random(6);
  for (const WeightFormat& format : kWeightFormats) {
    if (!format.hasCodes()) continue;
    const std::vector<unsigned char> bytes = anyBlocks(format, kN, kK, random);
    PackedMatrix packed;
    REQUIRE(packed.pack(format.type, bytes.data(), kN, kK, format.type) == Status::kOk);
    for (const float bad : {kInfinity, -kInfinity, kNaN}) {
      std::vector<float> a = random.floats(3 * kK);
      a[kK + 35] = bad;
      std::vector<float> out(3 * kN);
      gemm(out.data(), kN, a.data(), kK, packed, 3);
      for (size_t i = 0; i < out.size(); ++i) CHECK(std::isnan(out[i]) == (i / kN == 1));
    }
  }
}

TEST_CASE("A scale that is not finite changes its row alone, and no row depends on how many there are",
          "[kernels]") {
  constexpr size_t kK = 608;
  constexpr size_t kN = 35;
  Random random(8);
  for (const WeightFormat& format : kWeightFormats) {
    if (!format.hasCodes()) continue;
    INFO("type " << static_cast<int>(format.type));
    std::vector<unsigned char> bytes = anyBlocks(format, kN, kK, random);
    const std::vector<float> a = anyInputs(3 * kK, random);
    std::vector<float> rows(3 * kN);
    PackedMatrix packed;
    REQUIRE(packed.pack(format.type, bytes.data(), kN, kK, format.type) == Status::kOk);
    gemm(rows.data(), kN, a.data(), kK, packed, 3);
    const size_t scale = format.type == WeightType::kQ6_K ? 208 : 0;
    const uint16_t infinity = 0x7c00;
    std::memcpy(bytes.data() + 34 * format.rowBytes(kK) + scale, &infinity, sizeof infinity);
    PackedMatrix other;
    REQUIRE(other.pack(format.type, bytes.data(), kN, kK, format.type) == Status::kOk);
    for (size_t i = 0; i < 3; ++i) {
      std::vector<float> one(kN);
      gemm(one.data(), kN, a.data() + i * kK, kK, packed, 1);
      CHECK(std::memcmp(one.data(), rows.data() + i * kN, kN * sizeof(float)) == 0);
      gemm(one.data(), kN, a.data() + i * kK, kK, other, 1);
      CHECK(std::memcmp(one.data(), rows.data() + i * kN, 34 * sizeof(float)) == 0);
      CHECK_FALSE(std::isfinite(one[34]));
    }
  }
}

TEST_CASE("Blocks whose weights a narrower format cannot hold are refused", "[kernels]") {
  for (const WeightFormat& format : kWeightFormats) {
    if (!format.hasCodes()) continue;
    std::vector<unsigned char> bytes(format.block_bytes,
                                     static_cast<unsigned char>(0x7b));  // scales of 61280
    PackedMatrix packed;
    INFO("type " << static_cast<int>(format.type));
    CHECK(packed.pack(format.type, bytes.data(), 1, format.block, WeightType::kFloat16) ==
          Status::kInvalidArgument);
    CHECK(packed.pack(format.type, bytes.data(), 1, format.block, WeightType::kFloat32) == Status::kOk);
  }
}

TEST_CASE("Products in integers are added to what is there", "[kernels]") {
  constexpr size_t kK = 64;
  constexpr size_t kN = 20;
  Random random(7);
  const WeightFormat& format = formatOf(WeightType::kQ8_0);
  const std::vector<unsigned char> bytes = anyBlocks(format, kN, kK, random);
  PackedMatrix packed;
  REQUIRE(packed.pack(format.type, bytes.data(), kN, kK, format.type) == Status::kOk);
  const std::vector<float> a = random.floats(2 * kK);
  std::vector<float> plain(2 * kN);
  gemm(plain.data(), kN, a.data(), kK, packed, 2);
  std::vector<float> out(2 * kN, 3);
  GemmOptions options;
  options.accumulate = true;
  gemm(out.data(), kN, a.data(), kK, packed, 2, options);
  for (size_t i = 0; i < out.size(); ++i) CHECK(out[i] == 3 + plain[i]);
}

}  // namespace ropewalk::test
