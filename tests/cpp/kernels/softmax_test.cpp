#include "kernels/softmax.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

std::vector<double> naiveSoftmax(const std::vector<float>& x) {
  double largest = -kInfinity;
  for (const float v : x) largest = std::max(largest, static_cast<double>(v));
  double sum = 0;
  std::vector<double> p;
  for (const float v : x) p.push_back(std::exp(v - largest));
  for (const double v : p) sum += v;
  for (double& v : p) v /= sum;
  return p;
}

// x - max rounds once (as much as half an ulp of it moves e^x), e^x is within 1.5 ulp, the sum is of n terms,
// and two roundings follow.
double errorShare(const std::vector<float>& p, const std::vector<float>& x, double spread) {
  const std::vector<double> expected = naiveSoftmax(x);
  const double tolerance = (spread + 3 + static_cast<double>(x.size()) + 2) * kUnit;
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i) worst.add(p[i], expected[i], tolerance * expected[i] + 0x1p-126);
  return worst.share();
}

// One row, in place.
void softmax(float* x, size_t n) {
  softmaxRows(x, n, x, n, 1, n);
}

}  // namespace

TEST_CASE("softmax agrees with a naive one at any size, and its rows sum to 1", "[kernels]") {
  Random random(3);
  for (const size_t n : kernelSizes()) {
    for (const double spread : {0.01, 4.0, 100.0}) {
      const std::vector<float> x = random.floats(n, spread);
      std::vector<float> p = x;
      INFO("n = " << n << ", spread = " << spread);
      softmax(p.data(), n);
      CHECK(errorShare(p, x, 2 * spread) <= 1);
      double sum = 0;
      for (const float v : p) sum += v;
      if (n > 0) CHECK(std::fabs(sum - 1) <= (static_cast<double>(n) + 2) * kUnit);
    }
  }
}

TEST_CASE("softmaxRows is softmax of every row, in place, apart and with strides", "[kernels]") {
  Random random(7);
  for (const size_t n : kernelSizes()) {
    constexpr size_t kRows = 5;
    std::vector<float> x = random.floats(kRows * n, 4);
    std::fill_n(x.begin() + static_cast<ptrdiff_t>(n), n, -kInfinity);
    if (n > 0) x[3 * n] = kNaN;
    std::vector<float> expected = x;
    for (size_t r = 0; r < kRows; ++r) softmax(expected.data() + r * n, n);
    if (n > 0) CHECK(!std::isnan(expected[4 * n]));
    std::vector<float> out(x.size(), 7.0f);
    softmaxRows(out.data(), n, x.data(), n, kRows, n);
    INFO("n = " << n);
    CHECK(sameBits(out, expected));

    std::vector<float> wide((kRows - 1) * (n + 3) + n, 7.0f);
    for (size_t r = 0; r < kRows; ++r)
      std::copy_n(x.begin() + static_cast<ptrdiff_t>(r * n), n,
                  wide.begin() + static_cast<ptrdiff_t>(r * (n + 3)));
    std::vector<float> wanted = wide;
    for (size_t r = 0; r < kRows; ++r) softmax(wanted.data() + r * (n + 3), n);
    softmaxRows(wide.data(), n + 3, wide.data(), n + 3, kRows, n);
    CHECK(sameBits(wide, wanted));
    softmaxRows(x.data(), n, x.data(), n, kRows, n);
    CHECK(sameBits(x, expected));
  }
}

TEST_CASE("softmax gives exactly 0 for -infinity wherever it stands", "[kernels]") {
  Random random(4);
  for (size_t n = 2; n < 20; ++n) {
    for (size_t hidden = 0; hidden < n; ++hidden) {
      std::vector<float> x = random.floats(n, 3);
      x[hidden] = -kInfinity;
      std::vector<float> p = x;
      softmax(p.data(), n);
      CHECK(p[hidden] == 0);
      CHECK(errorShare(p, x, 6) <= 1);
    }
  }
}

TEST_CASE("softmax of nothing but -infinity is zeros", "[kernels]") {
  for (size_t n = 0; n < 20; ++n) {
    std::vector<float> x(n, -kInfinity);
    softmax(x.data(), n);
    CHECK(x == std::vector<float>(n, 0.0f));
  }
}

TEST_CASE("softmax does not hide NaN", "[kernels]") {
  for (size_t n = 1; n < 20; ++n) {
    for (size_t at = 0; at < n; ++at) {
      for (const float others : {1.0f, -kInfinity}) {
        std::vector<float> x(n, others);
        x[at] = kNaN;
        softmax(x.data(), n);
        CHECK(std::isnan(x[at]));
      }
    }
  }
}

TEST_CASE("softmax of one entry is 1 however large or small it is", "[kernels]") {
  for (const float v : {0.0f, 1e30f, -1e30f, -3.4e38f, 3.4e38f}) {
    std::vector<float> x = {v};
    softmax(x.data(), 1);
    CHECK(x[0] == 1);
  }
}

TEST_CASE("softmax of widely spread entries keeps the largest", "[kernels]") {
  std::vector<float> x = {-1e30f, 5, -200, 5, -3e38f};
  softmax(x.data(), x.size());
  CHECK(x == std::vector<float>{0, 0.5f, 0, 0.5f, 0});
}

TEST_CASE("softmax of millions of entries still sums to 1", "[kernels]") {
  // A running float32 sum would lose the more of each term the larger it gets.
  std::vector<float> x(3000001, -0.3f);
  x.front() = 0;
  softmax(x.data(), x.size());
  double sum = 0;
  for (const float p : x) sum += p;
  CHECK(std::fabs(sum - 1) <= 16 * kUnit);
}

TEST_CASE("softmax does not change when all entries move by the same amount", "[kernels]") {
  Random random(5);
  std::vector<float> x(37);
  for (float& v : x)
    v = static_cast<float>(random.between(-64, 64)) / 16;  // so that the sums below are exact
  std::vector<float> p = x;
  softmax(p.data(), p.size());
  for (const float shift : {1.0f, -7.5f, 1000.0f}) {
    std::vector<float> moved = x;
    for (float& v : moved) v += shift;
    softmax(moved.data(), moved.size());
    CHECK(sameBits(moved, p));
  }
}

TEST_CASE("softmax keeps the order of its entries", "[kernels]") {
  Random random(6);
  std::vector<float> x = random.floats(67, 10);
  std::sort(x.begin(), x.end());
  softmax(x.data(), x.size());
  CHECK(std::is_sorted(x.begin(), x.end()));
}

}  // namespace ropewalk::test
