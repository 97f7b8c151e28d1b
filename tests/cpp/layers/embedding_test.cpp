#include "layers/embedding.h"

#include <vector>

#include "catch.h"
#include "kernels/weight_format.h"
#include "reference.h"

namespace ropewalk::test {

TEST_CASE("embed copies the rows of its ids, scaled", "[layers]") {
  constexpr size_t kRows = 9;
  Random random(1);
  for (const size_t dim : kernelSizes()) {
    const std::vector<float> table = random.floats(kRows * dim);
    const std::vector<int64_t> ids = {8, 0, 3, 3, 1};
    for (const float scale : {1.0f, -0.5f, 3.3f}) {
      std::vector<float> out(ids.size() * dim);
      REQUIRE(embed(out.data(), WeightType::kFloat32, table.data(), kRows, dim, ids.data(), ids.size(),
                    scale) == Status::kOk);
      std::vector<float> expected;
      for (const int64_t id : ids) {
        for (size_t d = 0; d < dim; ++d) {
          expected.push_back(scale * table[static_cast<size_t>(id) * dim + d]);
        }
      }
      INFO("dim = " << dim << ", scale = " << scale);
      CHECK(sameBits(out, expected));
    }
  }
}

TEST_CASE("embed refuses an id that the table does not have, and writes nothing", "[layers]") {
  const std::vector<float> table(12, 1.0f);
  for (const int64_t bad : {int64_t{-1}, int64_t{4}, INT64_MAX, INT64_MIN}) {
    const std::vector<int64_t> ids = {0, 3, bad};
    std::vector<float> out(9, 7.0f);
    CHECK(embed(out.data(), WeightType::kFloat32, table.data(), 4, 3, ids.data(), 3, 1) ==
          Status::kPositionOutOfRange);
    CHECK(out == std::vector<float>(9, 7.0f));
  }
  CHECK(embed(nullptr, WeightType::kFloat32, nullptr, 0, 3, nullptr, 0, 1) == Status::kOk);
}

TEST_CASE("embed reads the rows of a packed table as the product sees them", "[layers]") {
  constexpr size_t kRows = 35;  // two panels and a part of one
  Random random(2);
  const std::vector<int64_t> ids = {34, 0, 16, 15, 16};
  for (const size_t dim : kernelSizes()) {
    const std::vector<float> weights = random.floats(kRows * dim);
    for (const WeightFormat& format : kWeightFormats) {
      PackedMatrix table;
      REQUIRE(table.pack(WeightType::kFloat32, weights.data(), kRows, dim, format.type) == Status::kOk);
      for (const bool accumulate : {false, true}) {
        std::vector<float> out = random.floats(ids.size() * dim);
        std::vector<float> expected = out;
        std::vector<float> row(dim);
        for (size_t i = 0; i < ids.size(); ++i) {
          table.row(static_cast<size_t>(ids[i]), row.data());
          for (size_t d = 0; d < dim; ++d) {
            const float scaled = 1.5f * row[d];
            float& to = expected[i * dim + d];
            to = accumulate ? to + scaled : scaled;
          }
        }
        REQUIRE(embed(out.data(), table, ids.data(), ids.size(), 1.5f, accumulate) == Status::kOk);
        INFO("dim = " << dim << ", type " << static_cast<int>(format.type) << ", accumulate " << accumulate);
        CHECK(sameBits(out, expected));
      }
    }
  }
}

TEST_CASE("embed keeps every number of a bfloat16 table of a real vocabulary", "[layers]") {
  constexpr size_t kRows = 49152;
  constexpr size_t kDim = 64;
  std::vector<uint16_t> bits(kRows * kDim);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(0x3f80 + i * 7 % 0x300);
  PackedMatrix table;
  REQUIRE(table.pack(WeightType::kBfloat16, bits.data(), kRows, kDim, WeightType::kBfloat16) == Status::kOk);
  CHECK(table.bytes() == bits.size() * 2);
  const std::vector<int64_t> ids = {49151, 0, 31337};
  std::vector<float> out(ids.size() * kDim);
  REQUIRE(embed(out.data(), table, ids.data(), ids.size(), 1) == Status::kOk);
  std::vector<float> expected(out.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    widen(WeightType::kBfloat16, bits.data() + static_cast<size_t>(ids[i]) * kDim, kDim,
          expected.data() + i * kDim);
  }
  CHECK(sameBits(out, expected));
}

TEST_CASE("embed refuses an id that a packed table does not have, and writes nothing", "[layers]") {
  PackedMatrix table;
  REQUIRE(table.allocate(4, 3, WeightType::kInt8) == Status::kOk);
  for (const int64_t bad : {int64_t{-1}, int64_t{4}, INT64_MAX, INT64_MIN}) {
    const std::vector<int64_t> ids = {0, 3, bad};
    for (const bool accumulate : {false, true}) {
      std::vector<float> out(9, 7.0f);
      CHECK(embed(out.data(), table, ids.data(), 3, 1, accumulate) == Status::kPositionOutOfRange);
      CHECK(out == std::vector<float>(9, 7.0f));
    }
  }
}

}  // namespace ropewalk::test
