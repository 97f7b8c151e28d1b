#include "encodings/binary.h"

#include <initializer_list>
#include <limits>
#include <numeric>
#include <vector>

#include "analysis/pairwise.h"
#include "angles/phase.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

std::vector<float> codesOf(const BinaryOptions& options, const std::vector<int64_t>& positions) {
  std::vector<float> codes(positions.size() * options.bits, kNaN);
  REQUIRE(binaryCode(options, positions.data(), positions.size(), codes.data()) == Status::kOk);
  return codes;
}

// The position whose code this is, or -1 where an entry is no digit.
int64_t decoded(const BinaryOptions& options, const float* code) {
  int64_t position = 0;
  for (size_t c = 0; c < options.bits; ++c) {
    const float digit = code[options.msb_first ? c : options.bits - 1 - c];
    if (digit != 1 && digit != (options.sign ? -1.0f : 0.0f)) return -1;
    position = 2 * position + (digit == 1 ? 1 : 0);
  }
  return position;
}

}  // namespace

TEST_CASE("Every position's binary code decodes to it", "[encodings]") {
  for (size_t bits = 1; bits <= 10; ++bits) {
    std::vector<int64_t> positions(size_t{1} << bits);
    std::iota(positions.begin(), positions.end(), 0);
    for (const bool msb_first : {false, true}) {
      for (const bool sign : {false, true}) {
        const BinaryOptions options = {bits, msb_first, sign};
        const std::vector<float> codes = codesOf(options, positions);
        std::vector<int64_t> back;
        for (size_t p = 0; p < positions.size(); ++p) back.push_back(decoded(options, &codes[p * bits]));
        INFO("bits = " << bits << ", msb_first = " << msb_first << ", sign = " << sign);
        CHECK(back == positions);
      }
    }
  }
}

TEST_CASE("The bits stand from the lowest to the highest unless asked the other way", "[encodings]") {
  CHECK(codesOf({4, false, false}, {1, 6}) == std::vector<float>{1, 0, 0, 0, 0, 1, 1, 0});
  CHECK(codesOf({4, true, false}, {1, 6}) == std::vector<float>{0, 0, 0, 1, 0, 1, 1, 0});
  CHECK(codesOf({3, true, true}, {5}) == std::vector<float>{1, -1, 1});
  CHECK(codesOf({9, true, false}, {300}) == std::vector<float>{1, 0, 0, 1, 0, 1, 1, 0, 0});
}

TEST_CASE("Positions 7 and 8 differ in every bit", "[encodings]") {
  const std::vector<float> codes = codesOf({4, false, false}, {7, 8});
  std::vector<float> hamming(4);
  REQUIRE(pairwise(Measure::kHamming, codes.data(), 2, 4, hamming.data()) == Status::kOk);
  CHECK(hamming == std::vector<float>{0, 4, 4, 0});
}

TEST_CASE("All 53 bits of the largest positions are coded", "[encodings]") {
  CHECK(codesOf({53, false, false}, {kMaxPosition}) == std::vector<float>(53, 1.0f));
  Random random(1);
  for (const bool msb_first : {false, true}) {
    const BinaryOptions options = {53, msb_first, true};
    for (int n = 0; n < 100; ++n) {
      const int64_t position = random.between(0, kMaxPosition);
      CHECK(decoded(options, codesOf(options, {position}).data()) == position);
    }
  }
}

TEST_CASE("A position that needs more bits is refused and nothing is written", "[encodings]") {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  for (size_t bits = 1; bits <= 53; ++bits) {
    for (const int64_t bad : {int64_t{1} << bits, int64_t{-1}, kLowest, kHighest}) {
      for (const size_t place : std::initializer_list<size_t>{0, 1, 2}) {
        std::vector<int64_t> positions = {0, 1, (int64_t{1} << bits) - 1};
        positions[place] = bad;
        std::vector<float> out(3 * bits, 7.0f);
        CHECK(binaryCode({bits, false, false}, positions.data(), 3, out.data()) ==
              Status::kPositionOutOfRange);
        CHECK(out == std::vector<float>(3 * bits, 7.0f));
      }
    }
  }
  const std::vector<int64_t> seed_example = {300};
  std::vector<float> out(8, 7.0f);
  CHECK(binaryCode({8, false, false}, seed_example.data(), 1, out.data()) == Status::kPositionOutOfRange);
}

TEST_CASE("Binary codes have 1 to 53 bits, and may be of no position at all", "[encodings]") {
  const int64_t position = 0;
  float out = 7;
  for (const size_t bits : {size_t{0}, size_t{54}, size_t{64}, std::numeric_limits<size_t>::max()})
    CHECK(binaryCode({bits, false, false}, &position, 1, &out) == Status::kInvalidArgument);
  CHECK(binaryCode({1, false, false}, nullptr, 0, nullptr) == Status::kOk);
  CHECK(out == 7);
}

}  // namespace ropewalk::test
