#include "analysis/sinusoid_algebra.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <initializer_list>
#include <limits>
#include <vector>

#include "angles/phase.h"
#include "angles/quad.h"
#include "catch.h"
#include "encodings/rope_plan.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

using Layout = SinusoidLayout;
constexpr Layout kLayouts[] = {Layout::kInterleaved, Layout::kConcatenated};

std::vector<float> shiftOf(size_t dim, double base, Layout layout, int64_t k) {
  std::vector<float> matrix(dim * dim, kNaN);
  REQUIRE(shiftMatrix(dim, base, layout, k, matrix.data()) == Status::kOk);
  return matrix;
}

std::vector<float> rowOf(size_t dim, double base, Layout layout, int64_t position) {
  std::vector<float> row(dim, kNaN);
  REQUIRE(sinusoidal({dim, base, layout, 1}, &position, 1, row.data()) == Status::kOk);
  return row;
}

std::vector<double> multiplied(const std::vector<float>& a, const std::vector<float>& b, size_t dim) {
  std::vector<double> product(dim * dim);
  for (size_t i = 0; i < dim; ++i) {
    for (size_t j = 0; j < dim; ++j) {
      for (size_t d = 0; d < dim; ++d)
        product[i * dim + j] += static_cast<double>(a[i * dim + d]) * static_cast<double>(b[d * dim + j]);
    }
  }
  return product;
}

// dotCurve or decayCurve at the distances.
using Curve = Status (*)(size_t, double, const int64_t*, size_t, double*);
std::vector<double> curveOf(Curve curve, size_t dim, double base, const std::vector<int64_t>& distances) {
  std::vector<double> out(distances.size(), -1);
  REQUIRE(curve(dim, base, distances.data(), distances.size(), out.data()) == Status::kOk);
  return out;
}

// e^(I distance base^(-2i/dim)), the angle in quadruple precision until its whole turns are gone.
std::complex<double> turned(size_t dim, double base, size_t i, int64_t distance) {
  const Quad w = quadPow(base, Quad(-2.0 * static_cast<double>(i)) / static_cast<double>(dim));
  const Quad turns = static_cast<double>(distance) * w / (2 * quadPi());
  const Quad rest = turns - std::nearbyint(static_cast<double>(turns));
  return std::polar(1.0, static_cast<double>(rest * 2 * quadPi()));
}

// |S_1|, |S_2|, ... summed up.
double partialSums(size_t dim, double base, int64_t distance) {
  double total = 0;
  std::complex<double> sum = 0;
  for (size_t i = 0; i < dim / 2; ++i) total += std::abs(sum += turned(dim, base, i, distance));
  return total;
}

// A product of two table entries, each rounded once, and the sum of two of them.
constexpr double kRotationError = 4 * kUnit;

}  // namespace

TEST_CASE("The shift matrix turns each pair by its own angle and mixes no others", "[analysis]") {
  for (const Layout layout : kLayouts) {
    for (const size_t dim : std::initializer_list<size_t>{2, 4, 10}) {
      for (const int64_t k : {0, 1, -1, 7, -300}) {
        const std::vector<float> matrix = shiftOf(dim, 100, layout, k);
        std::vector<double> expected(dim * dim);
        for (size_t i = 0; i < dim / 2; ++i) {
          const size_t sine = layout == Layout::kInterleaved ? 2 * i : i;
          const size_t cosine = layout == Layout::kInterleaved ? 2 * i + 1 : i + dim / 2;
          const std::complex<double> angle = turned(dim, 100, i, k);
          expected[sine * dim + sine] = expected[cosine * dim + cosine] = angle.real();
          expected[sine * dim + cosine] = angle.imag();
          expected[cosine * dim + sine] = -angle.imag();
        }
        INFO("layout " << static_cast<int>(layout) << ", dim = " << dim << ", k = " << k);
        CHECK(largestDifference(expected, matrix) <= 2.99e-8);
        for (size_t n = 0; n < dim * dim; ++n) {
          if (expected[n] == 0 && k != 0) CHECK(matrix[n] == 0);
        }
      }
    }
  }
}

TEST_CASE("The shift by nothing is the identity", "[analysis]") {
  for (const Layout layout : kLayouts)
    CHECK(shiftOf(4, 10000, layout, 0) == std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
}

TEST_CASE("The shift matrix takes PE(p) to PE(p + k)", "[analysis]") {
  Random random(1);
  for (const Layout layout : kLayouts) {
    for (const size_t dim : std::initializer_list<size_t>{2, 6, 64}) {
      for (const double base : {10000.0, 50.0, 1e8}) {
        for (const int64_t largest : {int64_t{100}, int64_t{1} << 30, kMaxPosition / 2}) {
          const int64_t p = random.between(-largest, largest);
          const int64_t k = random.between(-largest, largest);
          const std::vector<float> matrix = shiftOf(dim, base, layout, k);
          const std::vector<float> from = rowOf(dim, base, layout, p);
          std::vector<double> shifted(dim);
          for (size_t i = 0; i < dim; ++i) {
            for (size_t d = 0; d < dim; ++d)
              shifted[i] += static_cast<double>(matrix[i * dim + d]) * static_cast<double>(from[d]);
          }
          INFO("dim = " << dim << ", base = " << base << ", p = " << p << ", k = " << k);
          CHECK(largestDifference(shifted, rowOf(dim, base, layout, p + k)) <= kRotationError);
        }
      }
    }
  }
}

TEST_CASE("Two shifts are one, and a shift and its opposite none", "[analysis]") {
  Random random(2);
  for (const Layout layout : kLayouts) {
    for (const int64_t largest : {int64_t{100}, int64_t{1} << 40, kMaxPosition / 2}) {
      constexpr size_t kDim = 12;
      const int64_t a = random.between(-largest, largest);
      const int64_t b = random.between(-largest, largest);
      const std::vector<float> shift_a = shiftOf(kDim, 10000, layout, a);
      const std::vector<float> shift_b = shiftOf(kDim, 10000, layout, b);
      const std::vector<double> both = multiplied(shift_a, shift_b, kDim);
      CHECK(largestDifference(both, shiftOf(kDim, 10000, layout, a + b)) <= kRotationError);
      CHECK(largestDifference(both, multiplied(shift_b, shift_a, kDim)) <= 0x1p-50);
      const std::vector<double> none = multiplied(shift_a, shiftOf(kDim, 10000, layout, -a), kDim);
      CHECK(largestDifference(none, shiftOf(kDim, 10000, layout, 0)) <= kRotationError);
    }
  }
}

TEST_CASE("Shift matrices are orthogonal", "[analysis]") {
  for (const Layout layout : kLayouts) {
    for (const int64_t k : {int64_t{3}, int64_t{-12345}, kMaxPosition}) {
      constexpr size_t kDim = 10;
      const std::vector<float> matrix = shiftOf(kDim, 10000, layout, k);
      std::vector<float> transposed(kDim * kDim);
      for (size_t n = 0; n < kDim * kDim; ++n) transposed[n % kDim * kDim + n / kDim] = matrix[n];
      const std::vector<double> product = multiplied(matrix, transposed, kDim);
      CHECK(largestDifference(product, shiftOf(kDim, 10000, layout, 0)) <= kRotationError);
      CHECK(transposed == shiftOf(kDim, 10000, layout, -k));
    }
  }
}

TEST_CASE("The dot curve is the sum of the cosines, even in the distance", "[analysis]") {
  const std::vector<int64_t> distances = {0, 1, 2, 3, 50, 1000, 99999};
  std::vector<int64_t> opposite = distances;
  for (int64_t& k : opposite) k = -k;
  for (const size_t dim : std::initializer_list<size_t>{2, 4, 30, 128}) {
    for (const double base : {10000.0, 30.0}) {
      const std::vector<double> curve = curveOf(dotCurve, dim, base, distances);
      std::vector<double> expected;
      for (const int64_t k : distances) {
        double sum = 0;
        for (size_t i = 0; i < dim / 2; ++i) sum += turned(dim, base, i, k).real();
        expected.push_back(sum);
      }
      // Each cosine is right to a few 2^-53, each sum to a rounding of at most dim / 2.
      const double tolerance = static_cast<double>(dim * dim) * 0x1p-51;
      INFO("dim = " << dim << ", base = " << base);
      CHECK(largestDifference(curve, expected) <= tolerance);
      CHECK(curve == curveOf(dotCurve, dim, base, opposite));
      CHECK(curve[0] == static_cast<double>(dim / 2));
    }
  }
}

TEST_CASE("The dot curve is the dot product of any two rows that far apart", "[analysis]") {
  Random random(3);
  constexpr size_t kDim = 48;
  for (const int64_t largest : {int64_t{40}, int64_t{1} << 33, kMaxPosition / 2}) {
    for (int n = 0; n < 20; ++n) {
      const int64_t p = random.between(-largest, largest);
      const int64_t k = random.between(-largest, largest);
      const std::vector<float> a = rowOf(kDim, 10000, Layout::kInterleaved, p);
      const std::vector<float> b = rowOf(kDim, 10000, Layout::kInterleaved, p + k);
      double dot = 0;
      for (size_t d = 0; d < kDim; ++d) dot += static_cast<double>(a[d]) * static_cast<double>(b[d]);
      // Both factors of each product were rounded once.
      CHECK(std::fabs(dot - curveOf(dotCurve, kDim, 10000, {k})[0]) <= kDim * kUnit);
    }
  }
}

TEST_CASE("The decay curve is Su's", "[analysis]") {
  const std::vector<double> curve = curveOf(decayCurve, 128, 10000, {0, 1, 2, 10, 50, 100, 128, 256, -50});
  const std::vector<double> published = {32.5,      31.538166, 28.955988, 17.954137, 12.629452,
                                         10.227330, 9.272903,  6.543097,  12.629452};
  CHECK(largestDifference(published, curve) <= 5.1e-7);
}

TEST_CASE("The decay curve is the mean size of the partial sums", "[analysis]") {
  const std::vector<int64_t> distances = {0, 1, -1, 17, 5000, -123456};
  for (const size_t dim : std::initializer_list<size_t>{2, 4, 6, 90}) {
    for (const double base : {10000.0, 2.0}) {
      std::vector<double> expected;
      for (const int64_t k : distances)
        expected.push_back(2 * partialSums(dim, base, k) / static_cast<double>(dim));
      INFO("dim = " << dim << ", base = " << base);
      CHECK(largestDifference(curveOf(decayCurve, dim, base, distances), expected) <=
            static_cast<double>(dim * dim) * 0x1p-51);
    }
  }
}

TEST_CASE("The decay bound is the largest step of the pairs times the partial sums", "[analysis]") {
  // h = 3 + 4i alone: its step to the zero behind it is 5, and |S_1| = 1.
  const double one[] = {3, 4};
  const int64_t distances[] = {0, 9, kMaxPosition};
  double out[3] = {};
  REQUIRE(decayBound(2, 10000, one, distances, 3, out) == Status::kOk);
  for (const double bound : out) CHECK(std::fabs(bound - 5) <= 0x1p-50);
  // Steps of 12 + 5i and -12 - 5i beat the last one, of size 1.
  const double three[] = {1, 0, 13, 5, 1, 0};
  REQUIRE(decayBound(6, 10000, three, distances, 2, out) == Status::kOk);
  for (size_t n = 0; n < 2; ++n) CHECK(std::fabs(out[n] - 13 * partialSums(6, 10000, distances[n])) <= 1e-13);
}

TEST_CASE("No score of a query and a key exceeds the decay bound at its distance", "[analysis]") {
  Random random(4);
  for (const Pairing pairing : {Pairing::kInterleaved, Pairing::kHalf}) {
    for (const size_t dim : std::initializer_list<size_t>{2, 8, 64}) {
      const size_t pairs = dim / 2;
      RopePlan plan = planOf(ropeOptions(dim, dim, pairing));
      for (int n = 0; n < 200; ++n) {
        // Close to each other for half of the cases: the bound of unrelated ones is loose.
        std::vector<float> q = random.floats(dim);
        std::vector<float> k = random.floats(dim);
        if (n % 2 == 0) {
          std::fill(q.begin(), q.end(), 1.0f);
          std::fill(k.begin(), k.end(), 1.0f);
        }
        std::vector<double> h(dim);
        for (size_t j = 0; j < pairs; ++j) {
          const double qx = q[firstOf(pairing, j)];
          const double qy = q[secondOf(pairing, j, pairs)];
          const double kx = k[firstOf(pairing, j)];
          const double ky = k[secondOf(pairing, j, pairs)];
          h[2 * j] = qx * kx + qy * ky;
          h[2 * j + 1] = qy * kx - qx * ky;
        }
        const int64_t largest = n < 100 ? 200 : kMaxPosition / 2;
        const int64_t at_q = random.between(-largest, largest);
        const int64_t at_k = random.between(-largest, largest);
        REQUIRE(plan.rotate(headsFirst(q.data(), 1, 1, 1, dim), {nullptr, false, at_q}) == Status::kOk);
        REQUIRE(plan.rotate(headsFirst(k.data(), 1, 1, 1, dim), {nullptr, false, at_k}) == Status::kOk);
        double score = 0;
        for (size_t d = 0; d < dim; ++d) score += static_cast<double>(q[d]) * static_cast<double>(k[d]);
        const int64_t distance = at_q - at_k;
        double bound = 0;
        REQUIRE(decayBound(dim, 10000, h.data(), &distance, 1, &bound) == Status::kOk);
        INFO("dim = " << dim << ", positions " << at_q << " and " << at_k);
        // The turned float32 numbers are off by three roundings each.
        CHECK(std::fabs(score) <= bound + 6 * kUnit * 2 * static_cast<double>(dim));
        // And the bound has the curve's shape.
        double step = 0;
        for (size_t j = 0; j < pairs; ++j) {
          const bool last = j + 1 == pairs;
          step = std::max(step, std::hypot((last ? 0 : h[2 * j + 2]) - h[2 * j],
                                           (last ? 0 : h[2 * j + 3]) - h[2 * j + 1]));
        }
        const double mean = curveOf(decayCurve, dim, 10000, {distance})[0];
        CHECK(std::fabs(bound - step * mean * static_cast<double>(pairs)) <= 1e-13 * (bound + 1));
      }
    }
  }
}

TEST_CASE("Curves at no distance at all are no error", "[analysis]") {
  const double h[] = {1, 0};
  CHECK(dotCurve(2, 10000, nullptr, 0, nullptr) == Status::kOk);
  CHECK(decayCurve(2, 10000, nullptr, 0, nullptr) == Status::kOk);
  CHECK(decayBound(2, 10000, h, nullptr, 0, nullptr) == Status::kOk);
}

TEST_CASE("The algebra refuses sizes, bases and distances out of range and writes nothing", "[analysis]") {
  const std::vector<double> h(16, 1.0);
  std::vector<double> out(2, 7.0);
  std::vector<float> matrix(64, 7.0f);
  using Call = std::function<Status(size_t dim, double base, int64_t k)>;
  std::vector<Call> calls = {
      [&](size_t dim, double base, int64_t k) {
        const int64_t distances[] = {0, k};
        return dotCurve(dim, base, distances, 2, out.data());
      },
      [&](size_t dim, double base, int64_t k) {
        const int64_t distances[] = {0, k};
        return decayCurve(dim, base, distances, 2, out.data());
      },
      [&](size_t dim, double base, int64_t k) {
        const int64_t distances[] = {0, k};
        return decayBound(dim, base, h.data(), distances, 2, out.data());
      },
  };
  for (const Layout layout : kLayouts) {
    calls.emplace_back([&matrix, layout](size_t dim, double base, int64_t k) {
      return shiftMatrix(dim, base, layout, k, matrix.data());
    });
  }
  for (const Call& call : calls) {
    for (const size_t dim : std::initializer_list<size_t>{0, 1, 3, 7})
      CHECK(call(dim, 10000, 1) == Status::kInvalidShape);
    // 1e-300^(-2/4) is 1e150 radians a position: more than a phase has room for.
    for (const double base : {0.0, -2.0, static_cast<double>(kNaN), static_cast<double>(kInfinity), 1e-300})
      CHECK(call(4, base, 1) == Status::kInvalidArgument);
    for (const int64_t k : {kMaxPosition + 1, -kMaxPosition - 1, std::numeric_limits<int64_t>::min(),
                            std::numeric_limits<int64_t>::max()}) {
      CHECK(call(4, 10000, k) == Status::kPositionOutOfRange);
    }
  }
  for (const Layout layout : {Layout::kTensor2Tensor, static_cast<Layout>(3), static_cast<Layout>(-1)})
    CHECK(shiftMatrix(8, 10000, layout, 1, matrix.data()) == Status::kInvalidArgument);
  CHECK(out == std::vector<double>(2, 7.0));
  CHECK(matrix == std::vector<float>(64, 7.0f));
  for (const Call& call : calls) CHECK(call(4, 10000, -kMaxPosition) == Status::kOk);
}

}  // namespace ropewalk::test
