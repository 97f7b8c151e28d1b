#include "encodings/alibi.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

std::vector<double> slopesOf(size_t heads) {
  std::vector<double> slopes(heads);
  REQUIRE(alibiSlopes(heads, slopes.data()) == Status::kOk);
  return slopes;
}

std::vector<float> biasOf(const AlibiOptions& o) {
  std::vector<float> bias(o.heads * o.queries * o.keys, kNaN);
  REQUIRE(alibiBias(o, bias.data()) == Status::kOk);
  return bias;
}

void checkClose(const std::vector<double>& actual, const std::vector<double>& expected) {
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < actual.size(); ++i) CHECK(std::fabs(actual[i] - expected[i]) <= 5e-8);
}

}  // namespace

TEST_CASE("ALiBi's slopes are powers of two, and odd powers of the next set fill up", "[encodings]") {
  CHECK(slopesOf(1) == std::vector<double>{1.0 / 256});
  CHECK(slopesOf(8) ==
        std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625});
  CHECK(slopesOf(6) == std::vector<double>{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125});
  std::vector<double> twelve = slopesOf(8);
  for (const double s : {0.7071068, 0.3535534, 0.1767767, 0.08838835}) twelve.push_back(s);
  checkClose(slopesOf(12), twelve);
  const std::vector<double> sixteen = slopesOf(16);
  for (size_t h = 0; h < 16; ++h)
    CHECK(std::fabs(sixteen[h] / std::exp2(-0.5 * static_cast<double>(h + 1)) - 1) <= 4e-16);
  CHECK(alibiSlopes(0, nullptr) == Status::kInvalidShape);
}

TEST_CASE("ALiBi's bias falls with the distance from the query", "[encodings]") {
  const AlibiOptions o = {2, 3, 5, 1, AlibiVariant::kSymmetric};
  const std::vector<float> bias = biasOf(o);
  const std::vector<double> slopes = slopesOf(2);
  for (size_t h = 0; h < 2; ++h) {
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 5; ++j) {
        const double distance = std::fabs(static_cast<double>(i) + 1 - static_cast<double>(j));
        CHECK(bias[(h * 3 + i) * 5 + j] == static_cast<float>(-slopes[h] * distance));
      }
    }
  }
}

TEST_CASE("ALiBi's variants differ from the causal form by a number per query", "[encodings]") {
  for (const auto variant : {AlibiVariant::kBloom, AlibiVariant::kMpt}) {
    const std::vector<float> symmetric = biasOf({4, 1, 6, 5, AlibiVariant::kSymmetric});
    const std::vector<float> other = biasOf({4, 1, 6, 5, variant});
    for (size_t h = 0; h < 4; ++h) {
      for (size_t j = 0; j < 6; ++j) {
        CHECK(other[h * 6 + j] - other[h * 6] == symmetric[h * 6 + j] - symmetric[h * 6]);
      }
      CHECK(other[h * 6 + (variant == AlibiVariant::kMpt ? 5 : 0)] == 0);
    }
  }
  // Falcon's ninth slope of twelve, 0.7071 in bfloat16.
  CHECK(biasOf({12, 1, 2, 0, AlibiVariant::kFalcon})[8 * 2 + 1] == 0.70703125f);
}

TEST_CASE("ALiBi by distance holds the entries of the whole bias", "[encodings]") {
  const AlibiOptions o = {3, 4, 6, 2, AlibiVariant::kSymmetric};
  std::vector<float> by_distance(3 * 9, kNaN);
  REQUIRE(alibiByDistance(o, by_distance.data()) == Status::kOk);
  const std::vector<float> bias = biasOf(o);
  for (size_t h = 0; h < 3; ++h) {
    for (size_t i = 0; i < 4; ++i) {
      for (size_t j = 0; j < 6; ++j) CHECK(bias[(h * 4 + i) * 6 + j] == by_distance[h * 9 + j + 3 - i]);
    }
  }
  CHECK(alibiByDistance({3, 0, 6, 0, AlibiVariant::kSymmetric}, nullptr) == Status::kOk);
}

}  // namespace ropewalk::test
