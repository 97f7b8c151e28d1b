#include "encodings/alibi.h"

#include <cmath>
#include <initializer_list>
#include <vector>

#include "angles/quad.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

using Variant = AlibiVariant;
constexpr Variant kVariants[] = {Variant::kSymmetric, Variant::kBloom, Variant::kMpt, Variant::kFalcon};

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

// As the paper's own program has it: a geometric series, and every other one of a longer series for the rest.
std::vector<Quad> publishedSlopes(size_t heads) {
  size_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<Quad> slopes;
  for (size_t h = 1; h <= power; ++h)
    slopes.push_back(quadPow(2, Quad(-8.0 * static_cast<double>(h)) / static_cast<double>(power)));
  if (power == heads) return slopes;
  const std::vector<Quad> longer = publishedSlopes(2 * power);
  for (size_t i = 0; slopes.size() < heads; i += 2) slopes.push_back(longer[i]);
  return slopes;
}

// Eight bits of significand, ties to even.
double roundedToBfloat16(double x) {
  int exponent = 0;
  const double fraction = std::frexp(static_cast<float>(x), &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

}  // namespace

TEST_CASE("ALiBi's slopes are those of the formula for any number of heads", "[encodings]") {
  for (size_t heads = 1; heads <= 40; ++heads) {
    const std::vector<double> slopes = slopesOf(heads);
    const std::vector<Quad> expected = publishedSlopes(heads);
    INFO("heads = " << heads);
    for (size_t h = 0; h < heads; ++h) {
      // Rounded to double once.
      CHECK(magnitude(slopes[h] - expected[h]) <= (0x1p-53 + 0x1p-60) * expected[h]);
    }
  }
}

TEST_CASE("ALiBi's slopes are the published ones", "[encodings]") {
  CHECK(slopesOf(1) == std::vector<double>{0x1p-8});
  CHECK(slopesOf(2) == std::vector<double>{0x1p-4, 0x1p-8});
  CHECK(slopesOf(6) == std::vector<double>{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125});
  const std::vector<double> eight = {0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625};
  CHECK(slopesOf(8) == eight);
  const std::vector<double> twelve = slopesOf(12);
  CHECK(std::vector<double>(twelve.begin(), twelve.begin() + 8) == eight);
  const std::vector<double> rest = {0.7071068, 0.3535534, 0.1767767, 0.08838835};
  for (size_t h = 0; h < rest.size(); ++h) CHECK(std::fabs(twelve[8 + h] - rest[h]) <= 5e-8);
}

TEST_CASE("ALiBi's bias is minus the slope times the distance", "[encodings]") {
  for (const size_t heads : std::initializer_list<size_t>{1, 3, 12}) {
    const std::vector<Quad> slopes = publishedSlopes(heads);
    for (const int64_t offset : {0, 1, 4, -3, -20, 100000, -100000}) {
      const AlibiOptions options = {heads, 5, 9, offset, Variant::kSymmetric};
      const std::vector<float> bias = biasOf(options);
      INFO("heads = " << heads << ", offset = " << offset);
      Worst worst;
      size_t n = 0;
      for (size_t h = 0; h < heads; ++h) {
        for (int64_t i = 0; i < 5; ++i) {
          for (int64_t j = 0; j < 9; ++j, ++n) {
            const int64_t distance = i + offset > j ? i + offset - j : j - i - offset;
            const auto expected = static_cast<double>(-slopes[h] * static_cast<double>(distance));
            worst.add(bias[n], expected, 0.501 * ulpOfFloat(expected));
          }
        }
      }
      CHECK(worst.share() <= 1);
    }
  }
}

TEST_CASE("ALiBi's bias is exact where the slopes are powers of two", "[encodings]") {
  const std::vector<float> bias = biasOf({2, 2, 3, 100000, Variant::kSymmetric});
  const std::vector<float> expected = {-6250,         -6249.9375f,    -6249.875f, -6250.0625f,
                                       -6250,         -6249.9375f,    -390.625f,  -390.62109375f,
                                       -390.6171875f, -390.62890625f, -390.625f,  -390.62109375f};
  CHECK(bias == expected);
}

TEST_CASE("Bloom's and MPT's biases count the keys from the first and from the last", "[encodings]") {
  const std::vector<Quad> slopes = publishedSlopes(5);
  const std::vector<float> bloom = biasOf({5, 3, 11, 4, Variant::kBloom});
  const std::vector<float> mpt = biasOf({5, 3, 11, 4, Variant::kMpt});
  Worst worst;
  for (size_t n = 0; n < bloom.size(); ++n) {
    const Quad slope = slopes[n / 33];
    const auto from_first = static_cast<double>(slope * static_cast<double>(n % 11));
    const auto from_last = static_cast<double>(slope * (static_cast<double>(n % 11) - 10));
    if (from_first != 0) worst.add(bloom[n], from_first, 0.501 * ulpOfFloat(from_first));
    if (from_last != 0) worst.add(mpt[n], from_last, 0.501 * ulpOfFloat(from_last));
    if (from_first == 0) CHECK(bloom[n] == 0);
    if (from_last == 0) CHECK(mpt[n] == 0);
  }
  CHECK(worst.share() <= 1);
}

TEST_CASE("ALiBi's variants differ by a number per query among the keys up to it", "[encodings]") {
  constexpr size_t kQueries = 6;
  constexpr size_t kKeys = 10;
  constexpr size_t kOffset = 4;
  const AlibiOptions options = {6, kQueries, kKeys, kOffset, Variant::kSymmetric};
  const std::vector<float> symmetric = biasOf(options);
  for (const Variant variant : {Variant::kBloom, Variant::kMpt}) {
    AlibiOptions other = options;
    other.variant = variant;
    const std::vector<float> bias = biasOf(other);
    for (size_t row = 0; row < 6 * kQueries; ++row) {
      // Six heads have slopes that are powers of two: every difference is exact.
      const float first = bias[row * kKeys] - symmetric[row * kKeys];
      for (size_t j = 0; j <= row % kQueries + kOffset; ++j)
        CHECK(bias[row * kKeys + j] - symmetric[row * kKeys + j] == first);
    }
  }
}

TEST_CASE("Falcon's bias has its slopes rounded to bfloat16", "[encodings]") {
  CHECK(biasOf({12, 1, 2, 0, Variant::kFalcon})[17] == 0.70703125f);
  for (const size_t heads : std::initializer_list<size_t>{1, 7, 12, 71, 200}) {
    const std::vector<double> slopes = slopesOf(heads);
    const std::vector<float> bias = biasOf({heads, 2, 5, 0, Variant::kFalcon});
    for (size_t n = 0; n < bias.size(); ++n) {
      // 8 bits times a small integer fit float32.
      CHECK(bias[n] == static_cast<float>(roundedToBfloat16(slopes[n / 10]) * static_cast<double>(n % 5)));
    }
  }
}

TEST_CASE("ALiBi's biases exist for no queries and for no keys", "[encodings]") {
  for (const Variant variant : kVariants) {
    CHECK(biasOf({3, 0, 4, 0, variant}).empty());
    CHECK(biasOf({3, 4, 0, 7, variant}).empty());
    CHECK(biasOf({1, 1, 1, 0, variant}) == std::vector<float>{0});
  }
}

TEST_CASE("ALiBi without heads is refused", "[encodings]") {
  double slope = -1;
  float bias = -1;
  CHECK(alibiSlopes(0, &slope) == Status::kInvalidShape);
  CHECK(alibiBias({0, 1, 1, 0, Variant::kSymmetric}, &bias) == Status::kInvalidShape);
  CHECK(slope == -1);
  CHECK(bias == -1);
}

}  // namespace ropewalk::test
