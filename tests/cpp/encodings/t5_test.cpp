#include "encodings/t5.h"

#include <initializer_list>
#include <limits>
#include <vector>

#include "angles/phase.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

T5Buckets bucketsOf(const T5Options& options) {
  T5Buckets buckets;
  REQUIRE(buckets.create(options) == Status::kOk);
  return buckets;
}

// A natural number of any size, least significant digit first: what decides on which side of an integer a
// logarithm falls.
class Natural {
 public:
  explicit Natural(uint32_t x) : digits_{x} {}

  Natural& multiplyBy(uint32_t x, size_t times) {
    for (; times > 0; --times) {
      uint64_t carry = 0;
      for (uint32_t& digit : digits_) {
        carry += uint64_t{digit} * x;
        digit = static_cast<uint32_t>(carry);
        carry >>= 32;
      }
      if (carry != 0) digits_.push_back(static_cast<uint32_t>(carry));
    }
    return *this;
  }

  bool operator<(const Natural& other) const {
    if (digits_.size() != other.digits_.size()) return digits_.size() < other.digits_.size();
    for (size_t i = digits_.size(); i-- > 0;) {
      if (digits_[i] != other.digits_[i]) return digits_[i] < other.digits_[i];
    }
    return false;
  }

 private:
  std::vector<uint32_t> digits_;
};

// The buckets of distances 0 .. count - 1 in one direction of n buckets. With E = n / 2 and F = n - E, ln(x /
// E) / ln(max / E) F >= s where x^F E^s >= max^s E^F.
std::vector<size_t> exactBuckets(size_t n, uint32_t max_distance, uint32_t count) {
  const size_t exact = n / 2;
  const size_t far = n - exact;
  const auto unit = static_cast<uint32_t>(exact);
  std::vector<size_t> buckets;
  size_t step = 0;
  for (uint32_t x = 0; x < count; ++x) {
    if (x < exact) {
      buckets.push_back(x);
      continue;
    }
    const auto reaches = [&](size_t s) {
      return !(Natural(1).multiplyBy(x, far).multiplyBy(unit, s) <
               Natural(1).multiplyBy(max_distance, s).multiplyBy(unit, far));
    };
    while (step + 1 < far && reaches(step + 1)) ++step;
    buckets.push_back(exact + step);
  }
  return buckets;
}

struct Size {
  size_t num_buckets;
  uint32_t max_distance;
};
constexpr Size kSizes[] = {{4, 2},    {4, 3},    {4, 50},   {6, 4},    {6, 7},    {6, 375},   {8, 20},
                           {10, 6},   {12, 144}, {16, 64},  {20, 100}, {32, 17},  {32, 18},   {32, 128},
                           {32, 129}, {32, 256}, {34, 500}, {48, 300}, {64, 256}, {128, 1024}};

}  // namespace

TEST_CASE("T5's bidirectional buckets change at the published distances", "[encodings]") {
  const T5Buckets buckets = bucketsOf({true, 32, 128});
  for (int64_t n = 0; n <= 8; ++n) CHECK(buckets.bucket(-n) == static_cast<size_t>(n));
  const int64_t starts[] = {8, 12, 16, 23, 32, 46, 64, 91};
  for (size_t s = 0; s < 8; ++s) {
    CHECK(buckets.bucket(-starts[s]) == 8 + s);
    CHECK(buckets.bucket(1 - starts[s]) == 7 + s);
    CHECK(buckets.bucket(starts[s]) == 24 + s);
    CHECK(buckets.bucket(starts[s] - 1) == 23 + s);
  }
}

TEST_CASE("T5's unidirectional buckets change at the published distances", "[encodings]") {
  const T5Buckets buckets = bucketsOf({false, 32, 128});
  for (int64_t n = 0; n <= 16; ++n) CHECK(buckets.bucket(-n) == static_cast<size_t>(n));
  const int64_t starts[] = {16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
  for (size_t s = 0; s < 16; ++s) {
    CHECK(buckets.bucket(-starts[s]) == 16 + s);
    CHECK(buckets.bucket(1 - starts[s]) == 15 + s);
  }
  for (const int64_t after : {int64_t{1}, int64_t{2}, int64_t{1000}, kMaxPosition})
    CHECK(buckets.bucket(after) == 0);
}

TEST_CASE("T5's buckets are exact for every size", "[encodings]") {
  for (const Size size : kSizes) {
    const uint32_t count = size.max_distance + 3;
    INFO(size.num_buckets << " buckets up to " << size.max_distance);
    const std::vector<size_t> half = exactBuckets(size.num_buckets / 2, size.max_distance, count);
    const T5Buckets both = bucketsOf({true, size.num_buckets, size.max_distance});
    for (size_t n = 0; n < count; ++n) {
      CHECK(both.bucket(-static_cast<int64_t>(n)) == half[n]);
      if (n > 0) CHECK(both.bucket(static_cast<int64_t>(n)) == half[n] + size.num_buckets / 2);
    }
    if (size.max_distance <= size.num_buckets / 2) continue;
    const std::vector<size_t> whole = exactBuckets(size.num_buckets, size.max_distance, count);
    const T5Buckets before = bucketsOf({false, size.num_buckets, size.max_distance});
    for (size_t n = 0; n < count; ++n) CHECK(before.bucket(-static_cast<int64_t>(n)) == whole[n]);
  }
}

TEST_CASE("T5's odd numbers of buckets are exact in one direction", "[encodings]") {
  for (const Size size : {Size{2, 2}, Size{2, 9}, Size{3, 2}, Size{3, 100}, Size{5, 17}, Size{7, 500},
                          Size{31, 16}, Size{33, 200}}) {
    INFO(size.num_buckets << " buckets up to " << size.max_distance);
    const uint32_t count = size.max_distance + 3;
    const std::vector<size_t> expected = exactBuckets(size.num_buckets, size.max_distance, count);
    const T5Buckets buckets = bucketsOf({false, size.num_buckets, size.max_distance});
    for (size_t n = 0; n < count; ++n) CHECK(buckets.bucket(-static_cast<int64_t>(n)) == expected[n]);
  }
}

TEST_CASE("A distance that is a whole power starts its T5 bucket", "[encodings]") {
  // max = E r^F puts the start of bucket E + s at E r^s, exactly on an integer.
  for (size_t n = 2; n <= 40; ++n) {
    const auto exact = static_cast<int64_t>(n / 2);
    for (const int64_t ratio : {2, 3, 7, 10, 1000}) {
      std::vector<int64_t> starts = {exact};
      while (starts.size() <= n - n / 2 && starts.back() <= kMaxPosition / ratio)
        starts.push_back(starts.back() * ratio);
      if (starts.size() <= n - n / 2) continue;
      const T5Buckets buckets = bucketsOf({false, n, starts.back()});
      INFO(n << " buckets up to " << starts.back());
      for (size_t s = 0; s + 1 < starts.size(); ++s) {
        CHECK(buckets.bucket(-starts[s]) == n / 2 + s);
        CHECK(buckets.bucket(1 - starts[s]) == n / 2 + s - 1);
      }
    }
  }
}

TEST_CASE("Each of many T5 buckets starts where its power says", "[encodings]") {
  constexpr size_t kHalf = 32768;
  const T5Buckets buckets = bucketsOf({false, 2 * kHalf, int64_t{kHalf} << 16});
  for (size_t power = 0; power < 16; ++power) {
    const int64_t start = int64_t{kHalf} << power;
    CHECK(buckets.bucket(-start) == kHalf + power * kHalf / 16);
    CHECK(buckets.bucket(1 - start) < kHalf + power * kHalf / 16);
  }
}

TEST_CASE("T5's buckets grow with the distance up to the last one", "[encodings]") {
  for (const int64_t max : {int64_t{20}, int64_t{128}, int64_t{1} << 33, kMaxPosition}) {
    const T5Buckets buckets = bucketsOf({true, 32, max});
    size_t previous = 0;
    const auto next = [](int64_t n) { return n < 1000 ? n + 1 : n + n / 64; };
    for (int64_t n = 0; n < int64_t{1} << 61; n = next(n)) {
      const size_t bucket = buckets.bucket(-n);
      REQUIRE(bucket >= previous);
      REQUIRE((n < max || bucket == 15));
      if (n > 0) REQUIRE(buckets.bucket(n) == bucket + 16);
      previous = bucket;
    }
    CHECK(buckets.bucket(-max) == 15);
    CHECK(buckets.bucket(max) == 31);
    CHECK(buckets.bucket(-std::numeric_limits<int64_t>::max()) == 15);
    CHECK(buckets.bucket(std::numeric_limits<int64_t>::max()) == 31);
  }
}

TEST_CASE("T5's bias is the table's row for each distance", "[encodings]") {
  Random random(1);
  for (const bool bidirectional : {true, false}) {
    const size_t n = bidirectional ? 8 : 16;
    const T5Buckets buckets = bucketsOf({bidirectional, 16, 40});
    const std::vector<size_t> expected = exactBuckets(n, 40, 120);
    for (const size_t heads : std::initializer_list<size_t>{1, 3}) {
      const std::vector<float> table = random.floats(16 * heads);
      for (const int64_t queries : {1, 2, 9}) {
        for (const int64_t keys : {1, 5, 12}) {
          for (const int64_t offset : {0, 3, -4, 60, -60}) {
            const auto q = static_cast<size_t>(queries);
            const auto k = static_cast<size_t>(keys);
            std::vector<float> bias(heads * q * k, kNaN);
            buckets.bias(table.data(), heads, q, k, offset, bias.data());
            std::vector<float> by_formula;
            for (size_t h = 0; h < heads; ++h) {
              for (int64_t i = 0; i < queries; ++i) {
                for (int64_t j = 0; j < keys; ++j) {
                  const int64_t relative = j - i - offset;
                  const bool after = relative > 0;
                  const auto distance = static_cast<size_t>(after ? relative : -relative);
                  const size_t row = !bidirectional && after ? 0 : expected[distance];
                  by_formula.push_back(table[(bidirectional && after ? row + n : row) * heads + h]);
                }
              }
            }
            INFO(heads << " heads, " << q << " queries, " << k << " keys, offset " << offset);
            CHECK(bias == by_formula);
          }
        }
      }
    }
  }
}

TEST_CASE("T5's bias over nothing writes nothing", "[encodings]") {
  const T5Buckets buckets = bucketsOf({});
  const std::vector<float> table(64, 1.0f);
  std::vector<float> none;
  buckets.bias(table.data(), 2, 0, 5, 0, none.data());
  buckets.bias(table.data(), 2, 5, 0, 0, none.data());
  buckets.bias(table.data(), 0, 5, 5, 0, none.data());
  CHECK(none.empty());
}

TEST_CASE("T5 options that leave no buckets are refused and change nothing", "[encodings]") {
  T5Buckets buckets = bucketsOf({true, 32, 128});
  for (const size_t n : std::initializer_list<size_t>{0, 1, 2, 3, 5, 31, 33})
    CHECK(buckets.create({true, n, 128}) == Status::kInvalidArgument);
  for (const size_t n : std::initializer_list<size_t>{0, 1})
    CHECK(buckets.create({false, n, 128}) == Status::kInvalidArgument);
  for (const int64_t max : {int64_t{8}, int64_t{7}, int64_t{0}, int64_t{-1}, -kMaxPosition})
    CHECK(buckets.create({true, 32, max}) == Status::kInvalidArgument);
  CHECK(buckets.create({false, 32, 16}) == Status::kInvalidArgument);
  CHECK(buckets.bucket(-91) == 15);
  CHECK(buckets.bucket(91) == 31);
  CHECK(buckets.create({true, 32, 9}) == Status::kOk);
  CHECK(buckets.create({false, 32, 17}) == Status::kOk);
  CHECK(buckets.bucket(-17) == 31);
}

}  // namespace ropewalk::test
