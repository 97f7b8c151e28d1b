#include "kernels/norm.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

using Norm = void (*)(float*, const float*, size_t, size_t, const NormOptions&, const NormResidual&);

enum class Kind { kLayer, kRms };
constexpr Kind kKinds[] = {Kind::kLayer, Kind::kRms};

Norm normOf(Kind kind) {
  return kind == Kind::kLayer ? layerNorm : rmsNorm;
}

std::vector<float> normed(Kind kind, const std::vector<float>& x, size_t n, const NormOptions& options) {
  std::vector<float> out(x.size());
  normOf(kind)(out.data(), x.data(), n == 0 ? 3 : x.size() / n, n, options, {});
  return out;
}

std::vector<double> naive(Kind kind, const std::vector<float>& x, size_t n, const NormOptions& options) {
  std::vector<double> out;
  const auto count = static_cast<double>(n);
  for (size_t start = 0; start < x.size(); start += n) {
    double mean = 0;
    for (size_t i = 0; i < n && kind == Kind::kLayer; ++i) mean += x[start + i] / count;
    double variance = 0;
    for (size_t i = 0; i < n; ++i) variance += (x[start + i] - mean) * (x[start + i] - mean) / count;
    for (size_t i = 0; i < n; ++i) {
      double y = (x[start + i] - mean) / std::sqrt(variance + options.eps);
      if (options.weight != nullptr) y *= options.weight[i] + (options.unit_offset ? 1.0 : 0.0);
      if (options.bias != nullptr) y += options.bias[i];
      out.push_back(y);
    }
  }
  return out;
}

// Sums of n <= 1024 terms in 16 lanes: n / 16 + 6 roundings in the mean and, halved by the root, in the
// deviation; then at most 8 of subtractions, products and sums. All are shares of the row's largest result,
// before weights and bias; both of these are at most 2 in these tests.
double errorShare(Kind kind, const std::vector<float>& out, const std::vector<float>& x, size_t n,
                  const NormOptions& options) {
  const std::vector<double> expected = naive(kind, x, n, options);
  const std::vector<double> plain = naive(kind, x, n, {nullptr, nullptr, options.eps, false});
  Worst worst;
  for (size_t start = 0; start < x.size(); start += n) {
    double largest = 1;
    for (size_t i = start; i < start + n; ++i) largest = std::max(largest, std::fabs(plain[i]));
    const double roundings = 2 * (static_cast<double>(n) / 16 + 6) + 8;
    for (size_t i = start; i < start + n; ++i) {
      worst.add(out[i], expected[i], roundings * kUnit * 3 * largest);
    }
  }
  return worst.share();
}

}  // namespace

TEST_CASE("Norms agree with naive ones at any size, with and without weights", "[kernels]") {
  Random random(1);
  for (const Kind kind : kKinds) {
    for (const size_t n : kernelSizes()) {
      const std::vector<float> x = random.floats(3 * n, 5);
      const std::vector<float> weight = random.floats(n, 2);
      const std::vector<float> bias = random.floats(n, 2);
      for (const NormOptions& options :
           {NormOptions{nullptr, nullptr, 1e-5, false}, NormOptions{weight.data(), nullptr, 1e-12, false},
            NormOptions{nullptr, bias.data(), 1e-6, false},
            NormOptions{weight.data(), bias.data(), 0.1, false},
            NormOptions{weight.data(), nullptr, 1e-6, true}}) {
        INFO("kind " << static_cast<int>(kind) << ", n = " << n << ", eps = " << options.eps);
        CHECK(errorShare(kind, normed(kind, x, n, options), x, n, options) <= 1);
      }
    }
  }
}

TEST_CASE("A long row is as accurate as a short one", "[kernels]") {
  // Equal squares: a running float32 sum would round each of them the same way.
  constexpr size_t kLong = 3000001;
  std::vector<float> x(kLong, 0.3f);
  for (size_t i = 0; i < kLong; i += 2) x[i] = -0.3f;
  const NormOptions options = {nullptr, nullptr, 1e-6, false};
  for (const Kind kind : kKinds) {
    const std::vector<double> expected = naive(kind, x, kLong, options);
    const std::vector<float> out = normed(kind, x, kLong, options);
    Worst worst;
    for (size_t i = 0; i < kLong; ++i) worst.add(out[i], expected[i], 16 * kUnit);
    CHECK(worst.share() <= 1);
  }
}

TEST_CASE("Layer norm of a large mean is as accurate as of none", "[kernels]") {
  Random random(3);
  for (const double mean : {1e3, -1e4, 1e6, 16777000.0}) {
    for (const size_t n : {2u, 8u, 31u, 768u, 1024u}) {
      std::vector<float> x = random.floats(4 * n);
      for (float& v : x) v = static_cast<float>(v + mean);
      const NormOptions options = {nullptr, nullptr, 1e-12, false};
      const std::vector<double> expected = naive(Kind::kLayer, x, n, options);
      const std::vector<float> out = normed(Kind::kLayer, x, n, options);
      Worst worst;
      for (size_t r = 0; r < 4; ++r) {
        double largest = 0;
        for (size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(expected[r * n + i]));
        for (size_t i = 0; i < n; ++i) {
          worst.add(out[r * n + i], expected[r * n + i], 16 * kUnit * largest);
        }
      }
      INFO("mean " << mean << ", n = " << n);
      CHECK(worst.share() <= 1);
    }
  }
}

TEST_CASE("Layer norm of an outlier, first or last, keeps the others", "[kernels]") {
  Random random(4);
  for (const size_t at : {0u, 40u, 767u}) {
    std::vector<float> x = random.floats(768);
    x[at] = 1000;
    const NormOptions options = {nullptr, nullptr, 1e-5, false};
    CHECK(errorShare(Kind::kLayer, normed(Kind::kLayer, x, 768, options), x, 768, options) <= 1);
  }
}

TEST_CASE("Layer norm of equal numbers is exactly the bias, however small eps is", "[kernels]") {
  for (const size_t n : kernelSizes()) {
    for (const float value : {0.0f, -0.1f, 12345.678f, 3e38f}) {
      const std::vector<float> bias(n, 0.25f);
      CHECK(normed(Kind::kLayer, std::vector<float>(n, value), n, {nullptr, bias.data(), 1e-12, false}) ==
            bias);
    }
  }
}

TEST_CASE("Layer norm sees one unit in the last place", "[kernels]") {
  for (const size_t n : {2u, 5u, 64u, 768u}) {
    for (const float value : {1.0f, 1.7f, 12345.678f}) {
      std::vector<float> x(n, value);
      x[n / 2] = std::nextafter(value, kInfinity);
      const NormOptions options = {nullptr, nullptr, 1e-30, false};
      INFO("n = " << n << ", value " << value);
      CHECK(errorShare(Kind::kLayer, normed(Kind::kLayer, x, n, options), x, n, options) <= 1);
    }
  }
}

TEST_CASE("Layer norm does not change when a row moves, nor a norm when it grows", "[kernels]") {
  Random random(5);
  std::vector<float> x(4 * 37);
  for (float& v : x) v = static_cast<float>(random.between(-64, 64)) / 16;  // so that the sums are exact
  const NormOptions options = {nullptr, nullptr, 1e-30, false};
  const std::vector<float> before = normed(Kind::kLayer, x, 37, options);
  for (const float shift : {1.0f, -7.5f, 1024.0f}) {
    std::vector<float> moved = x;
    for (float& v : moved) v += shift;
    const std::vector<float> after = normed(Kind::kLayer, moved, 37, options);
    for (size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(after[i] - before[i]) <= 16 * kUnit * 3);
  }
  for (const Kind kind : kKinds) {
    std::vector<float> grown = x;
    for (float& v : grown) v *= 1024;
    CHECK(sameBits(normed(kind, grown, 37, options), normed(kind, x, 37, options)));
  }
}

TEST_CASE("Norms neither overflow nor lose small rows", "[kernels]") {
  Random random(6);
  for (const Kind kind : kKinds) {
    for (const double size : {1e-42, 1e-38, 1e-30, 1e-20, 1e-10, 1e10, 1e19, 1e25, 1.5e38, 3.4e38}) {
      for (const size_t n : {1u, 2u, 3u, 7u, 64u, 100u}) {
        const std::vector<float> x = random.floats(2 * n, size);
        // Where eps counts for nothing, however small the numbers are.
        const NormOptions options = {nullptr, nullptr, size * size * 1e-20, false};
        INFO("kind " << static_cast<int>(kind) << ", size " << size << ", n = " << n);
        CHECK(errorShare(kind, normed(kind, x, n, options), x, n, options) <= 1);
      }
    }
  }
}

TEST_CASE("Rows of zeros give zeros, or the bias", "[kernels]") {
  for (const Kind kind : kKinds) {
    for (const size_t n : kernelSizes()) {
      CHECK(normed(kind, std::vector<float>(n), n, {nullptr, nullptr, 1e-6, false}) == std::vector<float>(n));
      const std::vector<float> bias(n, -3);
      CHECK(normed(kind, std::vector<float>(n), n, {nullptr, bias.data(), 1e-6, false}) == bias);
    }
  }
}

TEST_CASE("A norm with a residual is that of the rounded sum, wherever the results go", "[kernels]") {
  Random random(7);
  for (const Kind kind : kKinds) {
    for (const size_t n : kernelSizes()) {
      const std::vector<float> x = random.floats(3 * n, 2);
      const std::vector<float> residual = random.floats(3 * n, 2);
      const std::vector<float> weight = random.floats(n, 2);
      const NormOptions options = {weight.data(), nullptr, 1e-5, false};
      std::vector<float> total(3 * n);
      for (size_t i = 0; i < total.size(); ++i) total[i] = x[i] + residual[i];
      const std::vector<float> expected = normed(kind, total, n, options);
      const auto run = [&](float* out, const float* a, const NormResidual& r) {
        normOf(kind)(out, a, 3, n, options, r);
      };
      INFO("kind " << static_cast<int>(kind) << ", n = " << n);

      std::vector<float> out(3 * n);
      run(out.data(), x.data(), {residual.data(), nullptr});
      CHECK(sameBits(out, expected));
      std::vector<float> sum(3 * n);
      std::fill(out.begin(), out.end(), 0.0f);
      run(out.data(), x.data(), {residual.data(), sum.data()});
      CHECK(sameBits(out, expected));
      CHECK(sameBits(sum, total));
      // in place: the sum where x was, the result where the residual was, and the other way round
      sum = x;
      out = residual;
      run(out.data(), sum.data(), {out.data(), sum.data()});
      CHECK(sameBits(out, expected));
      CHECK(sameBits(sum, total));
      out = x;
      sum = residual;
      run(out.data(), out.data(), {sum.data(), sum.data()});
      CHECK(sameBits(out, expected));
      CHECK(sameBits(sum, total));
      out = x;
      run(out.data(), out.data(), {residual.data(), nullptr});
      CHECK(sameBits(out, expected));
      out = total;
      run(out.data(), out.data(), {});
      CHECK(sameBits(out, expected));
    }
  }
}

TEST_CASE("NaN and infinity stay in their row", "[kernels]") {
  Random random(8);
  for (const Kind kind : kKinds) {
    for (const float bad : {kNaN, kInfinity, -kInfinity}) {
      for (size_t at = 0; at < 19; ++at) {
        std::vector<float> x = random.floats(3 * 19);
        const NormOptions options = {nullptr, nullptr, 1e-5, false};
        const std::vector<float> good = normed(kind, x, 19, options);
        x[19 + at] = bad;
        const std::vector<float> out = normed(kind, x, 19, options);
        CHECK(sameBits(out.data(), good.data(), 19));
        CHECK(sameBits(out.data() + 2 * 19, good.data() + 2 * 19, 19));
        CHECK(std::isnan(out[19 + at]));
      }
    }
  }
}

}  // namespace ropewalk::test
