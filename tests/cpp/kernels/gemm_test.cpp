#include "kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "catch.h"
#include "kernels/weight_format.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr size_t kMoreThanFew = 20;
static_assert(std::ranges::all_of(kWeightFormats,
                                  [](const WeightFormat& format) { return format.few_rows < kMoreThanFew; }));

PackedMatrix packedFrom(const std::vector<float>& w, size_t n, size_t k,
                        WeightType stored = WeightType::kFloat32, bool in_floats = false) {
  PackedMatrix packed;
  REQUIRE(packed.allocate(n, k, stored, in_floats) == Status::kOk);
  REQUIRE(packed.packRows(0, n, WeightType::kFloat32, w.data()) == Status::kOk);
  return packed;
}

// Contiguous a [m, k] times w, into contiguous out.
std::vector<float> product(const std::vector<float>& a, const PackedMatrix& w, size_t m,
                           const GemmOptions& options = {}) {
  std::vector<float> out(m * w.rows(), kNaN);
  gemm(out.data(), w.rows(), a.data(), w.columns(), w, m, options);
  return out;
}

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
  const PackedMatrix packed = packedFrom(w, n, k);
  return std::max(
      errorShare(product(a, packed, m), a, w, nullptr, m, n, k),
      errorShare(product(a, packed, m, {false, bias.data(), nullptr}), a, w, bias.data(), m, n, k));
}

std::vector<float> transposed(const std::vector<float>& w, size_t n, size_t k) {
  std::vector<float> b(k * n);
  for (size_t j = 0; j < n; ++j) {
    for (size_t l = 0; l < k; ++l) b[l * n + j] = w[j * k + l];
  }
  return b;
}

void square(float* row, size_t n) {
  for (size_t j = 0; j < n; ++j) row[j] *= row[j];
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

TEST_CASE("A product of any width or height agrees with sums in double", "[kernels]") {
  Random random(7);
  for (const size_t size : kernelSizes()) {
    INFO("size = " << size);
    CHECK(productShare(random, 7, size, 5) <= 1);
    CHECK(productShare(random, 1, size, 5) <= 1);
    CHECK(productShare(random, size, 9, 5) <= 1);
  }
}

TEST_CASE("A product of any depth agrees with sums in double", "[kernels]") {
  Random random(2);
  for (const size_t k : kernelSizes()) {
    INFO("k = " << k);
    CHECK(productShare(random, 7, 9, k) <= 1);
    CHECK(productShare(random, 1, 8, k) <= 1);
  }
  for (const size_t k :
       std::initializer_list<size_t>{kGemmDepth - 1, kGemmDepth, kGemmDepth + 1, 2 * kGemmDepth + 3}) {
    CHECK(productShare(random, 5, 17, k) <= 1);
    CHECK(productShare(random, 2, 17, k) <= 1);
    CHECK(productShare(random, 1, 49, k) <= 1);
  }
  CHECK(productShare(random, 131, 137, 139) <= 1);
}

TEST_CASE("The error of a long sum grows with the length of its blocks, not with its own", "[kernels]") {
  // Terms of one sign, where every rounding leans the same way: in one run of 16384 the last terms would be
  // lost by parts of 2^-24 of the sum each.
  constexpr size_t kLong = 16384;
  const std::vector<float> a(kLong, 1.0f);
  const std::vector<float> w(kLong, 1 + 0x1p-11f);
  const double exact = kLong * (1 + 0x1p-11);
  const PackedMatrix packed = packedFrom(w, 1, kLong);
  const std::vector<float> out = product(a, packed, 1);
  CHECK(std::fabs(out[0] - exact) <= (kGemmDepth + kLong / kGemmDepth) * kUnit * exact);

  Random random(8);
  const std::vector<float> x = random.floats(5 * kLong);
  const std::vector<float> y = random.floats(3 * kLong);
  const std::vector<float> many = product(x, packedFrom(y, 3, kLong), 5);
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      double sum = 0;
      double squares = 0;
      for (size_t l = 0; l < kLong; ++l) {
        const double term = static_cast<double>(x[i * kLong + l]) * y[j * kLong + l];
        sum += term;
        squares += term * term;
      }
      // A partial sum of 256 terms is about as large as the root of their squares: as many roundings of that.
      CHECK(std::fabs(many[i * 3 + j] - sum) <= 16 * kUnit * std::sqrt(kGemmDepth * squares));
    }
  }
}

TEST_CASE("A product of depth 0 is the bias", "[kernels]") {
  const std::vector<float> bias = {1, 2, 3};
  PackedMatrix packed;
  REQUIRE(packed.pack(WeightType::kFloat32, nullptr, 3, 0, WeightType::kFloat32) == Status::kOk);
  const GemmOptions options = {false, bias.data(), nullptr};
  for (const MatrixView& b : {MatrixView{nullptr, 0, 3, 3}}) {
    std::vector<float> out(6, kNaN);
    gemm(out.data(), 3, nullptr, 0, packed, 2, options);
    CHECK(out == std::vector<float>{1, 2, 3, 1, 2, 3});
    gemm(out.data(), 3, nullptr, 0, packed, 2, {true, bias.data(), square});
    CHECK(out == std::vector<float>{4, 16, 36, 4, 16, 36});
    gemm(out.data(), 3, nullptr, 0, packed, 2);
    CHECK(out == std::vector<float>(6, 0.0f));
    gemm(out.data(), 3, nullptr, 0, b, 2, options);
    CHECK(out == std::vector<float>{1, 2, 3, 1, 2, 3});
    gemm(out.data(), 3, nullptr, 0, b, 2);
    CHECK(out == std::vector<float>(6, 0.0f));
  }
}

TEST_CASE("A row of a product does not depend on the other rows", "[kernels]") {
  constexpr size_t kM = 75;  // more than one block of rows
  constexpr size_t kN = 53;
  constexpr size_t kK = 300;  // and of inputs
  Random random(3);
  const std::vector<float> a = random.floats(kM * kK);
  const std::vector<float> w = random.floats(kN * kK);
  const std::vector<float> bias = random.floats(kN);
  const GemmOptions options = {false, bias.data(), square};
  for (const WeightFormat& format : kWeightFormats) {
    const PackedMatrix packed = packedFrom(w, kN, kK, format.type);
    const std::vector<float> whole = product(a, packed, kM, options);
    int misses = 0;
    for (size_t first = 0; first < kM; first += 7) {
      for (size_t rows = 1; first + rows <= kM && rows < 20; ++rows) {
        const std::vector<float> part(a.begin() + static_cast<ptrdiff_t>(first * kK),
                                      a.begin() + static_cast<ptrdiff_t>((first + rows) * kK));
        const std::vector<float> out = product(part, packed, rows, options);
        misses += !sameBits(out.data(), whole.data() + first * kN, out.size());
      }
    }
    INFO("type " << static_cast<int>(format.type));
    CHECK(misses == 0);
  }
}

TEST_CASE("A product with weights of any type is that with the numbers they stand for", "[kernels]") {
  Random random(9);
  for (const WeightFormat& format : kWeightFormats) {
    for (const size_t n : std::initializer_list<size_t>{1, 8, 15, 16, 33, 67}) {
      for (const size_t k : std::initializer_list<size_t>{1, 5, 255, 256, 257, 600}) {
        const PackedMatrix packed = packedFrom(random.floats(n * k), n, k, format.type, true);
        std::vector<float> seen(n * k);
        for (size_t j = 0; j < n; ++j) packed.row(j, seen.data() + j * k);
        const PackedMatrix wide = packedFrom(seen, n, k);
        for (const size_t m : std::initializer_list<size_t>{1, 2, 3, 13, 17}) {
          const std::vector<float> a = random.floats(m * k);
          INFO("type " << static_cast<int>(format.type) << ", n = " << n << ", k = " << k << ", m = " << m);
          CHECK(sameBits(product(a, packed, m), product(a, wide, m)));
        }
      }
    }
  }
}

TEST_CASE("A product of few rows has those bits for inputs of any size", "[kernels]") {
  constexpr size_t kM = kMoreThanFew;
  constexpr size_t kN = 24;
  constexpr size_t kK = 40;
  Random random(11);
  std::vector<float> w = random.floats(kN * kK);
  for (size_t i = 0; i < w.size(); i += 3) w[i] *= 0x1p-18f;  // subnormal numbers of float16
  for (const WeightFormat& format : kWeightFormats) {
    const PackedMatrix packed = packedFrom(w, kN, kK, format.type);
    for (const float size :
         {0x1p-148f, 0x1p-130f, 1.0f, 32767.9f, 32768.0f, 65536.0f, 0x1p100f, kInfinity, kNaN}) {
      for (size_t rows = 1; rows < kM; ++rows) {
        std::vector<float> a = random.floats(kM * kK);
        for (size_t r = 0; r < rows; ++r) a[r * kK + 7 + r] = size;
        const std::vector<float> whole = product(a, packed, kM);
        a.resize(rows * kK);
        const std::vector<float> out = product(a, packed, rows);
        int misses = 0;
        for (size_t i = 0; i < out.size(); ++i)
          misses += !(out[i] == whole[i] || (std::isnan(out[i]) && std::isnan(whole[i])));
        INFO("type " << static_cast<int>(format.type) << ", input " << size << ", rows " << rows);
        CHECK(misses == 0);
      }
    }
  }
}

TEST_CASE("A product with a matrix as it lies is that with it packed, whatever the strides", "[kernels]") {
  Random random(10);
  for (const size_t m : std::initializer_list<size_t>{1, 2, 7, 70}) {
    for (const size_t n : std::initializer_list<size_t>{1, 4, 16, 21, 40}) {
      for (const size_t k : std::initializer_list<size_t>{1, 9, 300}) {
        const std::vector<float> a = random.floats(m * k);
        const std::vector<float> w = random.floats(n * k);
        const std::vector<float> bias = random.floats(n);
        const GemmOptions options = {false, bias.data(), square};
        const std::vector<float> expected = product(a, packedFrom(w, n, k), m, options);

        const std::vector<float> b = transposed(w, n, k);
        PackedMatrix packed;
        REQUIRE(packed.pack(WeightType::kFloat32, b.data(), n, k, WeightType::kFloat32,
                            WeightLayout::kInOut) == Status::kOk);
        CHECK(sameBits(product(a, packed, m, options), expected));

        // Rows with other numbers between them; the last ends where the array does.
        const auto spread = [](const std::vector<float>& x, size_t rows, size_t columns, size_t stride) {
          std::vector<float> wide((rows - 1) * stride + columns, kNaN);
          for (size_t i = 0; i < rows; ++i) std::copy_n(&x[i * columns], columns, &wide[i * stride]);
          return wide;
        };
        const std::vector<float> wide_a = spread(a, m, k, k + 3);
        const std::vector<float> wide_b = spread(b, k, n, n + 5);
        for (const bool raw : {false, true}) {
          std::vector<float> out((m - 1) * (n + 2) + n, 7.0f);
          if (raw) {
            gemm(out.data(), n + 2, wide_a.data(), k + 3, {wide_b.data(), k, n, n + 5}, m, options);
          } else {
            gemm(out.data(), n + 2, wide_a.data(), k + 3, packed, m, options);
          }
          std::vector<float> wanted((m - 1) * (n + 2) + n, 7.0f);
          for (size_t i = 0; i < m; ++i) std::copy_n(&expected[i * n], n, &wanted[i * (n + 2)]);
          INFO("m = " << m << ", n = " << n << ", k = " << k << ", raw = " << raw);
          CHECK(sameBits(out, wanted));
        }
      }
    }
  }
}

TEST_CASE("A product can be added to what out holds", "[kernels]") {
  Random random(11);
  for (const size_t m : std::initializer_list<size_t>{1, 2, 3, 8, 20}) {
    for (const size_t k : std::initializer_list<size_t>{7, 600}) {
      constexpr size_t kN = 21;
      const std::vector<float> a = random.floats(m * k);
      const std::vector<float> w = random.floats(kN * k);
      const std::vector<float> bias = random.floats(kN);
      const std::vector<float> before = random.floats(m * kN);
      const PackedMatrix packed = packedFrom(w, kN, k);
      const std::vector<float> b = transposed(w, kN, k);
      std::vector<float> out = before;
      gemm(out.data(), kN, a.data(), k, packed, m, {true, bias.data(), nullptr});
      std::vector<float> raw = before;
      gemm(raw.data(), kN, a.data(), k, {b.data(), k, kN, kN}, m, {true, bias.data(), nullptr});
      CHECK(sameBits(out, raw));
      Worst worst;
      for (size_t i = 0; i < out.size(); ++i) {
        double sum = static_cast<double>(before[i]) + bias[i % kN];
        double work = std::fabs(before[i]) + std::fabs(bias[i % kN]);
        for (size_t l = 0; l < k; ++l) {
          const double term = static_cast<double>(a[i / kN * k + l]) * w[i % kN * k + l];
          sum += term;
          work += std::fabs(term);
        }
        worst.add(out[i], sum, static_cast<double>(k + 3) * kUnit * work);
      }
      INFO("m = " << m << ", k = " << k);
      CHECK(worst.share() <= 1);
    }
  }
}

TEST_CASE("What few rows are added to has the bits that it has among many rows", "[kernels]") {
  constexpr size_t kM = kMoreThanFew;
  constexpr size_t kN = 53;
  constexpr size_t kK = 300;
  Random random(12);
  const std::vector<float> a = random.floats(kM * kK);
  const std::vector<float> w = random.floats(kN * kK);
  const std::vector<float> before = random.floats(kM * kN);
  for (const WeightFormat& format : kWeightFormats) {
    const PackedMatrix packed = packedFrom(w, kN, kK, format.type);
    std::vector<float> whole = before;
    gemm(whole.data(), kN, a.data(), kK, packed, kM, {true, nullptr, nullptr});
    for (size_t rows = 1; rows < kM; ++rows) {
      std::vector<float> out = before;
      gemm(out.data(), kN, a.data(), kK, packed, rows, {true, nullptr, nullptr});
      INFO("type " << static_cast<int>(format.type) << ", rows " << rows);
      CHECK(std::equal(out.begin() + static_cast<ptrdiff_t>(rows * kN), out.end(),
                       before.begin() + static_cast<ptrdiff_t>(rows * kN)));
      CHECK(sameBits(out.data(), whole.data(), rows * kN));
    }
  }
}

TEST_CASE("An activation is called once for every finished row", "[kernels]") {
  Random random(12);
  for (const size_t m : std::initializer_list<size_t>{1, 2, 9, 130}) {
    const std::vector<float> a = random.floats(m * 30);
    const std::vector<float> bias = random.floats(19);
    const PackedMatrix packed = packedFrom(random.floats(19 * 30), 19, 30);
    std::vector<float> expected = product(a, packed, m, {false, bias.data(), nullptr});
    square(expected.data(), expected.size());
    CHECK(sameBits(product(a, packed, m, {false, bias.data(), square}), expected));
  }
}

TEST_CASE("NaN and infinity stay in their row and column", "[kernels]") {
  Random random(4);
  std::vector<float> a = random.floats(9 * 5);
  std::vector<float> w = random.floats(10 * 5);
  a[3 * 5 + 2] = kNaN;
  w[6 * 5 + 4] = kInfinity;
  for (const WeightType type : {WeightType::kFloat32, WeightType::kFloat16, WeightType::kBfloat16}) {
    const std::vector<float> out = product(a, packedFrom(w, 10, 5, type), 9);
    for (size_t i = 0; i < 9; ++i) {
      for (size_t j = 0; j < 10; ++j) {
        CHECK(std::isnan(out[i * 10 + j]) == (i == 3));
        if (i != 3) CHECK(std::isinf(out[i * 10 + j]) == (j == 6));
      }
    }
  }
}

}  // namespace ropewalk::test
