#include "layers/norm_layer.h"

#include <vector>

#include "catch.h"
#include "kernels/norm.h"
#include "reference.h"

namespace ropewalk::test {

TEST_CASE("A norm layer is the kernel with its own weights, of any float type", "[layers]") {
  Random random(1);
  constexpr size_t kSize = 10;
  const std::vector<float> x = random.floats(3 * kSize);
  const std::vector<float> residual = random.floats(3 * kSize);
  std::vector<uint16_t> narrow;
  std::vector<float> weight;
  for (size_t i = 0; i < kSize; ++i) {
    weight.push_back(static_cast<float>(i) / 8);
    narrow.push_back(narrowToBfloat16(weight.back()));
  }
  const std::vector<float> bias = random.floats(kSize);
  for (const NormKind kind : {NormKind::kLayer, NormKind::kRms}) {
    NormLayer norm;
    REQUIRE(norm.create({kind, kSize, 1e-5, true}, {WeightType::kBfloat16, narrow.data(),
                                                    WeightType::kFloat32, bias.data()}) == Status::kOk);
    CHECK(norm.bytes() == 2 * kSize * 4);
    std::vector<float> out(x.size());
    std::vector<float> sum(x.size());
    std::vector<float> expected(x.size());
    std::vector<float> expected_sum(x.size());
    norm.apply(out.data(), x.data(), 3, {residual.data(), sum.data()});
    (kind == NormKind::kLayer ? layerNorm : rmsNorm)(expected.data(), x.data(), 3, kSize,
                                                     {weight.data(), bias.data(), 1e-5, true},
                                                     {residual.data(), expected_sum.data()});
    CHECK(sameBits(out, expected));
    CHECK(sameBits(sum, expected_sum));
  }
}

TEST_CASE("Rows of a norm layer take its sets of weights in turn", "[layers]") {
  Random random(2);
  constexpr size_t kSize = 6;
  constexpr size_t kSets = 3;
  constexpr size_t kRows = 2 * kSets;
  const std::vector<float> x = random.floats(kRows * kSize);
  const std::vector<float> weight = random.floats(kSets * kSize);
  const std::vector<float> bias = random.floats(kSets * kSize);
  for (const NormKind kind : {NormKind::kLayer, NormKind::kRms}) {
    for (const float* given : {static_cast<const float*>(nullptr), bias.data()}) {
      NormLayer norm;
      REQUIRE(norm.create({kind, kSize, 1e-5, false, kSets},
                          {WeightType::kFloat32, weight.data(), WeightType::kFloat32, given}) == Status::kOk);
      CHECK(norm.bytes() == (given == nullptr ? 1 : 2) * kSets * kSize * 4);
      std::vector<float> out(x.size());
      norm.apply(out.data(), x.data(), kRows);
      std::vector<float> expected(x.size());
      for (size_t r = 0; r < kRows; ++r) {
        const size_t set = r % kSets * kSize;
        (kind == NormKind::kLayer ? layerNorm : rmsNorm)(
            expected.data() + r * kSize, x.data() + r * kSize, 1, kSize,
            {weight.data() + set, given == nullptr ? nullptr : given + set, 1e-5, false}, {});
      }
      CHECK(sameBits(out, expected));
    }
  }
}

TEST_CASE("No norm passes its input, and adds the residual", "[layers]") {
  const std::vector<float> x = {1, 2, 3, 4};
  const std::vector<float> residual = {10, 20, 30, 40};
  NormLayer none;
  REQUIRE(none.create({NormKind::kNone, 2}) == Status::kOk);
  std::vector<float> out(4);
  std::vector<float> sum(4);
  none.apply(out.data(), x.data(), 2);
  CHECK(out == x);
  none.apply(out.data(), x.data(), 2, {residual.data(), sum.data()});
  CHECK(out == std::vector<float>{11, 22, 33, 44});
  CHECK(sum == out);
  CHECK(none.bytes() == 0);
}

TEST_CASE("A norm layer that cannot be made leaves the old one in place", "[layers]") {
  const std::vector<float> weight = {2, 2};
  NormLayer norm;
  REQUIRE(norm.create({NormKind::kRms, 2, 1e-6, false}, {WeightType::kFloat32, weight.data()}) ==
          Status::kOk);
  for (const double eps : {0.0, -1.0, static_cast<double>(kNaN)}) {
    CHECK(norm.create({NormKind::kLayer, 2, eps, false}) == Status::kInvalidArgument);
  }
  CHECK(norm.create({NormKind::kRms, 2, 1, false, 0}) == Status::kInvalidArgument);
  CHECK(norm.create({NormKind::kRms, 4, 1, false, SIZE_MAX / 2}) == Status::kOutOfMemory);
  CHECK(norm.create({NormKind::kRms, 2, 1, false}, {WeightType::kInt8, weight.data()}) ==
        Status::kInvalidArgument);
  CHECK(norm.create({NormKind::kLayer, 2, 1, false},
                    {WeightType::kFloat32, nullptr, WeightType::kInt8, "ab"}) == Status::kInvalidArgument);
  CHECK(norm.create({NormKind::kRms, SIZE_MAX / 2, 1, false}, {WeightType::kFloat32, weight.data()}) ==
        Status::kOutOfMemory);
  std::vector<float> x = {3, 3};
  norm.apply(x.data(), x.data(), 1);
  CHECK(std::fabs(x[0] - 2) < 1e-5);
}

}  // namespace ropewalk::test
