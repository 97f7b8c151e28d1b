#include "encodings/sandwich.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "catch.h"
#include "encodings/sinusoidal.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

TEST_CASE("Sandwich is the sum of cosines of its formula", "[encodings]") {
  for (const size_t dim : {size_t{2}, size_t{6}, size_t{128}}) {
    for (const int64_t offset : {int64_t{0}, int64_t{-3}, int64_t{1000}}) {
      std::vector<float> out(3 * 4 * 7);
      REQUIRE(sandwichBias({3, dim, 500, 4, 7, offset}, out.data()) == Status::kOk);
      Worst worst;
      for (size_t h = 0; h < 3; ++h) {
        for (int64_t i = 0; i < 4; ++i) {
          for (int64_t j = 0; j < 7; ++j) {
            double want = 0;
            for (size_t k = 0; k < dim / 2; ++k) {
              const double frequency = std::pow(500, -2 * static_cast<double>(k) / static_cast<double>(dim));
              want += std::cos(static_cast<double>(i + offset - j) * frequency);
            }
            want *= 3 / (8 * static_cast<double>(h + 1));
            const size_t at = (h * 4 + static_cast<size_t>(i)) * 7 + static_cast<size_t>(j);
            // One rounding, and the reference's own frequencies at distances up to a thousand.
            worst.add(out[at], want, 1.01 * kUnit * std::fabs(want) + static_cast<double>(dim) * 1e-12);
          }
        }
      }
      CHECK(worst.share() <= 1);
    }
  }
}

TEST_CASE("Sandwich is the product of sinusoidal vectors, at any position", "[encodings]") {
  constexpr size_t kDim = 64;
  constexpr int64_t kFar = int64_t{1} << 52;
  const std::vector<int64_t> positions = {0, 1, 2, 50, kFar};
  std::vector<float> vectors(positions.size() * kDim);
  REQUIRE(sinusoidal({kDim, 10000, SinusoidLayout::kInterleaved, 1}, positions.data(), positions.size(),
                     vectors.data()) == Status::kOk);
  for (size_t p = 0; p < positions.size(); ++p) {
    std::vector<float> row(8);
    REQUIRE(sandwichBias({8, kDim, 10000, 1, 1, positions[p]}, row.data()) == Status::kOk);
    double want = 0;
    for (size_t d = 0; d < kDim; ++d)
      want += static_cast<double>(vectors[d]) * static_cast<double>(vectors[p * kDim + d]);
    CHECK(std::fabs(static_cast<double>(row[0]) - want) < 4 * kDim * kUnit);
    CHECK(std::fabs(static_cast<double>(row[7]) - want / 8) < 4 * kDim * kUnit);
  }
}

TEST_CASE("Sandwich is largest at distance 0, even, and its envelope falls", "[encodings]") {
  constexpr size_t kKeys = 1025;
  std::vector<float> out(2 * kKeys);
  REQUIRE(sandwichBias({2, 128, 10000, 1, kKeys, 512}, out.data()) == Status::kOk);
  CHECK(out[512] == 64.0f / 4);
  CHECK(out[kKeys + 512] == 64.0f / 8);
  float before = out[512];
  for (size_t low = 1; low <= 256; low *= 2) {  // the largest of an octave of distances
    float largest = -kInfinity;
    for (size_t d = low; d < 2 * low; ++d) {
      CHECK(out[512 + d] == out[512 - d]);
      largest = std::max(largest, out[512 + d]);
    }
    CHECK(largest < before);
    before = largest;
  }
}

TEST_CASE("Sandwich refuses vectors without pairs, and bases that give no frequencies", "[encodings]") {
  float out = 7;
  for (const size_t dim : {size_t{0}, size_t{5}})
    CHECK(sandwichBias({1, dim, 10000, 1, 1, 0}, &out) == Status::kInvalidShape);
  for (const double base : {0.0, -1.0, static_cast<double>(kNaN), static_cast<double>(kInfinity)})
    CHECK(sandwichBias({1, 2, base, 1, 1, 0}, &out) == Status::kInvalidArgument);
  CHECK(sandwichBias({1, 2, 10000, 0, 3, 0}, &out) == Status::kOk);
  CHECK(sandwichBias({0, 2, 10000, 3, 3, 0}, &out) == Status::kOk);
  CHECK(out == 7);
}

}  // namespace
}  // namespace ropewalk::test
