#include "encodings/binary.h"

#include <vector>

#include "angles/phase.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

std::vector<float> codeOf(const BinaryOptions& options, int64_t position) {
  std::vector<float> code(options.bits, kNaN);
  REQUIRE(binaryCode(options, &position, 1, code.data()) == Status::kOk);
  return code;
}

}  // namespace

TEST_CASE("A binary code is the bits of the position", "[encodings]") {
  CHECK(codeOf({4, false, false}, 6) == std::vector<float>{0, 1, 1, 0});
  CHECK(codeOf({4, false, false}, 8) == std::vector<float>{0, 0, 0, 1});
  CHECK(codeOf({4, true, false}, 8) == std::vector<float>{1, 0, 0, 0});
  CHECK(codeOf({4, true, true}, 6) == std::vector<float>{-1, 1, 1, -1});
  CHECK(codeOf({53, false, false}, kMaxPosition) == std::vector<float>(53, 1.0f));
}

TEST_CASE("Binary codes of all positions differ", "[encodings]") {
  std::vector<std::vector<float>> codes;
  for (int64_t p = 0; p < 128; ++p) codes.push_back(codeOf({7, false, false}, p));
  std::sort(codes.begin(), codes.end());
  CHECK(std::adjacent_find(codes.begin(), codes.end()) == codes.end());
}

TEST_CASE("A position that needs more bits is refused, not wrapped", "[encodings]") {
  std::vector<float> out(16, 7.0f);
  const auto statusOf = [&](size_t bits, std::vector<int64_t> positions) {
    return binaryCode({bits, false, false}, positions.data(), positions.size(), out.data());
  };
  CHECK(statusOf(8, {255, 300}) == Status::kPositionOutOfRange);
  CHECK(statusOf(8, {256}) == Status::kPositionOutOfRange);
  CHECK(statusOf(8, {-1}) == Status::kPositionOutOfRange);
  CHECK(statusOf(0, {0}) == Status::kInvalidArgument);
  CHECK(statusOf(54, {0}) == Status::kInvalidArgument);
  CHECK(out == std::vector<float>(16, 7.0f));
  CHECK(statusOf(8, {}) == Status::kOk);
}

}  // namespace ropewalk::test
