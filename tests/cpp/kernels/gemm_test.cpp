#include "kernels/gemm.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

// The largest error over what k roundings of the sum, one of the bias and one to spare may add.
double errorShare(const std::vector<float>& out, const std::vector<float>& a, const std::vector<float>& w,
                  const float* bias, size_t m, size_t n, size_t k) {
  Worst worst;
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = bias == nullptr ? 0 : bias[j];
      double work = std::fabs(sum);
      for (size_t l = 0; l < k; ++l) {
        const double term = static_cast<double>(a[i * k + l]) * w[j * k + l];
        sum += term;
        work += std::fabs(term);
      }
      worst.add(out[i * n + j], sum, static_cast<double>(k + 2) * kUnit * work);
    }
  }
  return worst.share();
}

double productShare(Random& random, size_t m, size_t n, size_t k) {
  const std::vector<float> a = random.floats(m * k);
  const std::vector<float> w = random.floats(n * k);
  const std::vector<float> bias = random.floats(n);
  PackedMatrix packed;
  REQUIRE(packed.pack(w.data(), n, k) == Status::kOk);
  std::vector<float> out(m * n, kNaN);
  gemm(out.data(), a.data(), packed, nullptr, m);
  std::vector<float> biased(m * n, kNaN);
  gemm(biased.data(), a.data(), packed, bias.data(), m);
  return std::max(errorShare(out, a, w, nullptr, m, n, k), errorShare(biased, a, w, bias.data(), m, n, k));
}

}  // namespace

TEST_CASE("A product of any shape agrees with sums in double", "[kernels]") {
  Random random(1);
  for (size_t m = 0; m < 20; ++m) {
    double worst = 0;
    for (size_t n = 0; n < 20; ++n) {
      for (const size_t k : std::initializer_list<size_t>{0, 1, 2, 3, 4, 7, 16, 33})
        worst = std::max(worst, productShare(random, m, n, k));
    }
    INFO("m = " << m);
    CHECK(worst <= 1);
  }
}

TEST_CASE("A product of any depth agrees with sums in double", "[kernels]") {
  Random random(2);
  for (const size_t k : kernelSizes()) {
    INFO("k = " << k);
    CHECK(productShare(random, 7, 9, k) <= 1);
    CHECK(productShare(random, 1, 8, k) <= 1);
  }
  CHECK(productShare(random, 131, 137, 139) <= 1);
}

TEST_CASE("A product of depth 0 is the bias", "[kernels]") {
  const std::vector<float> bias = {1, 2, 3};
  PackedMatrix packed;
  REQUIRE(packed.pack(nullptr, 3, 0) == Status::kOk);
  std::vector<float> out(6, kNaN);
  gemm(out.data(), nullptr, packed, bias.data(), 2);
  CHECK(out == std::vector<float>{1, 2, 3, 1, 2, 3});
  gemm(out.data(), nullptr, packed, nullptr, 2);
  CHECK(out == std::vector<float>(6, 0.0f));
}

TEST_CASE("A row of a product does not depend on the other rows", "[kernels]") {
  constexpr size_t kM = 13;
  constexpr size_t kN = 21;
  constexpr size_t kK = 37;
  Random random(3);
  const std::vector<float> a = random.floats(kM * kK);
  const std::vector<float> w = random.floats(kN * kK);
  const std::vector<float> bias = random.floats(kN);
  PackedMatrix packed;
  REQUIRE(packed.pack(w.data(), kN, kK) == Status::kOk);
  std::vector<float> whole(kM * kN);
  gemm(whole.data(), a.data(), packed, bias.data(), kM);
  for (size_t first = 0; first < kM; ++first) {
    for (size_t rows = 1; first + rows <= kM; ++rows) {
      std::vector<float> part(rows * kN);
      gemm(part.data(), a.data() + first * kK, packed, bias.data(), rows);
      CHECK(sameBits(part.data(), whole.data() + first * kN, part.size()));
    }
  }
}

TEST_CASE("NaN and infinity stay in their row and column", "[kernels]") {
  Random random(4);
  std::vector<float> a = random.floats(9 * 5);
  std::vector<float> w = random.floats(10 * 5);
  a[3 * 5 + 2] = kNaN;
  w[6 * 5 + 4] = kInfinity;
  PackedMatrix packed;
  REQUIRE(packed.pack(w.data(), 10, 5) == Status::kOk);
  std::vector<float> out(90);
  gemm(out.data(), a.data(), packed, nullptr, 9);
  for (size_t i = 0; i < 9; ++i) {
    for (size_t j = 0; j < 10; ++j) {
      CHECK(std::isnan(out[i * 10 + j]) == (i == 3));
      if (i != 3) CHECK(std::isinf(out[i * 10 + j]) == (j == 6));
    }
  }
}

TEST_CASE("A matrix can be packed again with another shape", "[kernels]") {
  Random random(5);
  const std::vector<float> w = random.floats(12);
  PackedMatrix packed;
  CHECK(packed.rows() == 0);
  REQUIRE(packed.pack(w.data(), 3, 4) == Status::kOk);
  REQUIRE(packed.pack(w.data(), 2, 6) == Status::kOk);
  CHECK(packed.rows() == 2);
  CHECK(packed.columns() == 6);
  std::vector<float> out(2);
  gemm(out.data(), w.data(), packed, nullptr, 1);
  CHECK(errorShare(out, w, w, nullptr, 1, 2, 6) <= 1);
}

TEST_CASE("A matrix too large to pack leaves the packed one as it was", "[kernels]") {
  const std::vector<float> w = {1, 2};
  PackedMatrix packed;
  REQUIRE(packed.pack(w.data(), 1, 2) == Status::kOk);
  CHECK(packed.pack(w.data(), SIZE_MAX / 16, 32) == Status::kOutOfMemory);
  CHECK(packed.pack(w.data(), SIZE_MAX / 8, 1) == Status::kOutOfMemory);
  // Sizes that overflow when they are rounded up to whole panels.
  REQUIRE(packed.pack(w.data(), SIZE_MAX - 3, 1) == Status::kOutOfMemory);
  CHECK(packed.rows() == 1);
  CHECK(packed.columns() == 2);
  std::vector<float> out(1);
  gemm(out.data(), w.data(), packed, nullptr, 1);
  CHECK(out[0] == 5);
}

}  // namespace ropewalk::test
