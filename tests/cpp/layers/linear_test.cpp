#include "layers/linear.h"

#include <utility>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

LinearWeights float32(const float* weight, const float* bias) {
  return {WeightType::kFloat32, weight, WeightLayout::kOutIn, WeightType::kFloat32, bias};
}

std::vector<float> outOf(const Linear& linear, const std::vector<float>& in) {
  const size_t rows = in.size() / linear.weight().columns();
  std::vector<float> out(rows * linear.weight().rows(), kNaN);
  linear.apply(out.data(), in.data(), rows);
  return out;
}

void negate(float* row, size_t n) {
  for (size_t j = 0; j < n; ++j) row[j] = -row[j];
}

}  // namespace

TEST_CASE("A linear map multiplies and adds its bias", "[layers]") {
  const std::vector<float> w = {1, 2, 3, 4, 5, 6};  // [3, 2]
  const std::vector<float> bias = {10, 20, 30};
  const std::vector<float> in = {1, 1, 2, -1};
  Linear linear;
  REQUIRE(linear.create(float32(w.data(), bias.data()), 3, 2) == Status::kOk);
  CHECK(outOf(linear, in) == std::vector<float>{13, 27, 41, 10, 22, 34});
  CHECK(linear.bytes() == 16 * 2 * 4 + 3 * 4);
  REQUIRE(linear.create(float32(w.data(), nullptr), 3, 2) == Status::kOk);
  CHECK(outOf(linear, in) == std::vector<float>{3, 7, 11, 0, 2, 4});

  LinearWeights transposed = float32(w.data(), nullptr);  // [2, 3]
  transposed.layout = WeightLayout::kInOut;
  REQUIRE(linear.create(transposed, 3, 2, WeightType::kBfloat16) == Status::kOk);
  CHECK(outOf(linear, in) == std::vector<float>{5, 7, 9, -2, -1, 0});
}

TEST_CASE("A linear map activates its rows, and writes no more than them", "[layers]") {
  const std::vector<float> w = {1, 2, 3, 4};
  const std::vector<float> bias = {10, 20};
  const std::vector<float> in = {1, 1, 2, -1};
  Linear linear;
  REQUIRE(linear.create(float32(w.data(), bias.data()), 2, 2) == Status::kOk);
  std::vector<float> out = {100, 200, 300, 400, 500};
  linear.apply(out.data(), in.data(), 2, negate);
  CHECK(out == std::vector<float>{-13, -27, -10, -22, 500});
  linear.apply(out.data(), in.data(), 0);
  CHECK(out[0] == -13);
}

TEST_CASE("A linear map takes a matrix that was packed in slices, and a bias of any float type", "[layers]") {
  Random random(1);
  const std::vector<float> w = random.floats(40 * 20);
  const std::vector<float> in = random.floats(3 * 20);
  std::vector<uint16_t> bias;
  std::vector<float> wide;
  for (size_t j = 0; j < 40; ++j) {
    wide.push_back(static_cast<float>(j) / 4);
    bias.push_back(narrowToFloat16(wide.back()));
  }
  Linear expected;
  REQUIRE(expected.create(float32(w.data(), wide.data()), 40, 20, WeightType::kInt8) == Status::kOk);
  PackedMatrix packed;
  REQUIRE(packed.allocate(40, 20, WeightType::kInt8) == Status::kOk);
  REQUIRE(packed.packRows(25, 15, WeightType::kFloat32, w.data() + 500) == Status::kOk);
  REQUIRE(packed.packRows(0, 25, WeightType::kFloat32, w.data()) == Status::kOk);
  Linear linear;
  REQUIRE(linear.create(std::move(packed), WeightType::kFloat16, bias.data()) == Status::kOk);
  CHECK(sameBits(outOf(linear, in), outOf(expected, in)));
}

TEST_CASE("A linear map that cannot be made leaves the old one in place", "[layers]") {
  const std::vector<float> w = {1, 2, 3, 1e6f};
  Linear linear;
  REQUIRE(linear.create(float32(w.data(), nullptr), 1, 2) == Status::kOk);
  CHECK(linear.create(float32(w.data(), nullptr), 2, 2, WeightType::kFloat16) == Status::kInvalidArgument);
  LinearWeights wrong = float32(w.data(), w.data());
  wrong.bias_type = WeightType::kInt8;
  CHECK(linear.create(wrong, 2, 2) == Status::kInvalidArgument);
  CHECK(linear.create(float32(w.data(), nullptr), SIZE_MAX / 2, 2) == Status::kOutOfMemory);
  CHECK(outOf(linear, {1, 1}) == std::vector<float>{3});
}

}  // namespace ropewalk::test
