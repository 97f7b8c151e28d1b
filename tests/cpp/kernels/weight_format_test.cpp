#include "kernels/weight_format.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "catch.h"
#include "kernels/gemm.h"
#include "reference.h"

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

// The weights of a block by the definition of each format, in the order of their numbers.
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
      REQUIRE(packed.pack(format.type, bytes.data(), kN, k, format.type) == Status::kOk);
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

}  // namespace ropewalk::test
