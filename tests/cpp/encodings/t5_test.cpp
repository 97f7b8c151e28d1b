#include "encodings/t5.h"

#include <cmath>
#include <utility>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

T5Buckets bucketsOf(const T5Options& options) {
  T5Buckets buckets;
  REQUIRE(buckets.create(options) == Status::kOk);
  return buckets;
}

// First distance and its bucket, as Hugging Face's T5 gives them for 32 buckets and 128.
void checkStarts(const T5Buckets& buckets, const std::vector<std::pair<int64_t, size_t>>& starts) {
  for (const auto& [distance, bucket] : starts) {
    INFO("distance = " << distance);
    CHECK(buckets.bucket(-distance) == bucket);
    CHECK(buckets.bucket(-distance + 1) == bucket - 1);
  }
}

}  // namespace

TEST_CASE("T5's buckets begin where they do in Hugging Face's encoder", "[encodings]") {
  const T5Buckets buckets = bucketsOf({true, 32, 128});
  for (int64_t d = 0; d <= 8; ++d) CHECK(buckets.bucket(-d) == static_cast<size_t>(d));
  checkStarts(buckets, {{12, 9}, {16, 10}, {23, 11}, {32, 12}, {46, 13}, {64, 14}, {91, 15}});
  for (int64_t d = 1; d < 300; ++d) CHECK(buckets.bucket(d) == buckets.bucket(-d) + 16);
  CHECK(buckets.bucket(-100000) == 15);
}

TEST_CASE("T5's buckets begin where they do in Hugging Face's decoder", "[encodings]") {
  const T5Buckets buckets = bucketsOf({false, 32, 128});
  for (int64_t d = 0; d <= 16; ++d) CHECK(buckets.bucket(-d) == static_cast<size_t>(d));
  checkStarts(buckets, {{19, 17},
                        {21, 18},
                        {24, 19},
                        {27, 20},
                        {31, 21},
                        {35, 22},
                        {40, 23},
                        {46, 24},
                        {52, 25},
                        {59, 26},
                        {67, 27},
                        {77, 28},
                        {87, 29},
                        {99, 30},
                        {113, 31}});
  for (const int64_t d : {1, 5, 1000}) CHECK(buckets.bucket(d) == 0);
}

TEST_CASE("T5's buckets grow with the distance and end at the largest", "[encodings]") {
  for (const size_t count : std::initializer_list<size_t>{4, 6, 8, 20, 64}) {
    for (const int64_t max : {40, 100, 128, 1024}) {
      const T5Buckets buckets = bucketsOf({false, count, max});
      int misses = 0;
      for (int64_t d = 0; d < 1200; ++d) {
        const size_t bucket = buckets.bucket(-d);
        misses += bucket > buckets.bucket(-d - 1) || bucket >= count || (d >= max && bucket != count - 1);
      }
      INFO("buckets = " << count << ", max = " << max);
      CHECK(misses == 0);
    }
  }
}

TEST_CASE("A power of two is the first distance of its bucket", "[encodings]") {
  // From 8 on, one bucket for each doubling: the logarithms are whole numbers.
  const T5Buckets buckets = bucketsOf({false, 16, 8 << 8});
  for (int k = 0; k < 8; ++k) {
    CHECK(buckets.bucket(-(int64_t{8} << k)) == static_cast<size_t>(8 + k));
    if (k > 0) CHECK(buckets.bucket(-(int64_t{8} << k) + 1) == static_cast<size_t>(7 + k));
  }
}

TEST_CASE("T5's bias looks each distance up, whole or by distance", "[encodings]") {
  Random random(1);
  const T5Buckets buckets = bucketsOf({true, 8, 20});
  const std::vector<float> table = random.floats(8 * 3);
  std::vector<float> bias(3 * 4 * 30, kNaN);
  buckets.bias(table.data(), 3, 4, 30, 11, bias.data());
  std::vector<float> by_distance(3 * 33, kNaN);
  buckets.biasByDistance(table.data(), 3, 4, 30, 11, by_distance.data());
  int misses = 0;
  for (size_t h = 0; h < 3; ++h) {
    for (size_t i = 0; i < 4; ++i) {
      for (size_t j = 0; j < 30; ++j) {
        const size_t bucket = buckets.bucket(static_cast<int64_t>(j) - static_cast<int64_t>(i) - 11);
        misses += bias[(h * 4 + i) * 30 + j] != table[bucket * 3 + h];
        misses += bias[(h * 4 + i) * 30 + j] != by_distance[h * 33 + j + 3 - i];
      }
    }
  }
  CHECK(misses == 0);
  buckets.biasByDistance(table.data(), 3, 0, 5, 0, nullptr);
}

TEST_CASE("T5's buckets refuse options that leave none", "[encodings]") {
  T5Buckets buckets = bucketsOf({true, 32, 128});
  for (const T5Options& wrong :
       {T5Options{true, 0, 128}, T5Options{true, 2, 128}, T5Options{true, 31, 128}, T5Options{false, 1, 128},
        T5Options{true, 32, 8}, T5Options{false, 32, 16}, T5Options{false, 32, -5}}) {
    CHECK(buckets.create(wrong) == Status::kInvalidArgument);
  }
  CHECK(buckets.bucket(-12) == 9);
}

}  // namespace ropewalk::test
