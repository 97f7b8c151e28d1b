#include "analysis/sinusoid_algebra.h"

#include <cmath>
#include <complex>
#include <vector>

#include "angles/phase.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

std::vector<float> rowOf(size_t dim, SinusoidLayout layout, int64_t position) {
  std::vector<float> row(dim);
  REQUIRE(sinusoidal({dim, 10000, layout, 1}, &position, 1, row.data()) == Status::kOk);
  return row;
}

double frequency(size_t dim, size_t i) {
  return std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
}

}  // namespace

TEST_CASE("The shift matrix takes every row to the one k further on", "[analysis]") {
  constexpr size_t kDim = 12;
  for (const auto layout : {SinusoidLayout::kInterleaved, SinusoidLayout::kConcatenated}) {
    for (const int64_t k : {int64_t{0}, int64_t{1}, int64_t{-7}, int64_t{100000}, kMaxPosition - 60}) {
      std::vector<float> matrix(kDim * kDim, kNaN);
      REQUIRE(shiftMatrix(kDim, 10000, layout, k, matrix.data()) == Status::kOk);
      for (const int64_t p : {0, 3, 50}) {
        const std::vector<float> from = rowOf(kDim, layout, p);
        const std::vector<float> to = rowOf(kDim, layout, p + k);
        Worst worst;
        for (size_t r = 0; r < kDim; ++r) {
          double sum = 0;
          for (size_t c = 0; c < kDim; ++c) sum += static_cast<double>(matrix[r * kDim + c]) * from[c];
          worst.add(to[r], sum, 3 * kUnit);  // five roundings of half a unit each
        }
        INFO("k = " << k << ", p = " << p);
        CHECK(worst.share() <= 1);
      }
    }
  }
}

TEST_CASE("The dot curve is the dot product of two rows", "[analysis]") {
  const std::vector<int64_t> distances = {0, 1, -1, 50, 4000};
  std::vector<double> curve(distances.size());
  REQUIRE(dotCurve(64, 10000, distances.data(), distances.size(), curve.data()) == Status::kOk);
  const std::vector<float> origin = rowOf(64, SinusoidLayout::kInterleaved, 100);
  for (size_t n = 0; n < distances.size(); ++n) {
    const std::vector<float> other = rowOf(64, SinusoidLayout::kInterleaved, 100 + distances[n]);
    double sum = 0;
    for (size_t d = 0; d < 64; ++d) sum += static_cast<double>(origin[d]) * other[d];
    CHECK(std::fabs(curve[n] - sum) <= 64 * kUnit);
  }
  CHECK(curve[0] == 32);
  CHECK(curve[1] == curve[2]);
}

TEST_CASE("The decay curve is Su's", "[analysis]") {
  const std::vector<int64_t> distances = {0, 1, 2, 10, 50, 100, 128, 256};
  const double published[] = {32.5,      31.538166, 28.955988, 17.954137,
                              12.629452, 10.227330, 9.272903,  6.543097};
  std::vector<double> curve(distances.size());
  REQUIRE(decayCurve(128, 10000, distances.data(), distances.size(), curve.data()) == Status::kOk);
  for (size_t n = 0; n < distances.size(); ++n) CHECK(std::fabs(curve[n] - published[n]) <= 5.1e-7);
}

TEST_CASE("The decay bound bounds every score", "[analysis]") {
  constexpr size_t kDim = 16;
  Random random(1);
  std::vector<int64_t> distances(200);
  for (int64_t& d : distances) d = random.between(-5000, 5000);
  for (int sample = 0; sample < 20; ++sample) {
    std::vector<double> h(kDim);
    for (double& x : h) x = random.uniform(-1, 1);
    std::vector<double> bound(distances.size());
    REQUIRE(decayBound(kDim, 10000, h.data(), distances.data(), distances.size(), bound.data()) ==
            Status::kOk);
    int misses = 0;
    for (size_t n = 0; n < distances.size(); ++n) {
      std::complex<double> score = 0;
      for (size_t i = 0; i < kDim / 2; ++i) {
        const double angle = static_cast<double>(distances[n]) * frequency(kDim, i);
        score += std::complex<double>(h[2 * i], h[2 * i + 1]) * std::polar(1.0, angle);
      }
      misses += std::fabs(score.real()) > bound[n] * (1 + 1e-12);
    }
    CHECK(misses == 0);
  }
}

TEST_CASE("The decay bound of one pair is its size", "[analysis]") {
  const double h[] = {3, 4};
  const int64_t distance = 77;
  double bound = 0;
  REQUIRE(decayBound(2, 10000, h, &distance, 1, &bound) == Status::kOk);
  CHECK(std::fabs(bound - 5) <= 1e-14);
}

TEST_CASE("The algebra refuses odd dimensions, far distances and bases that do not turn", "[analysis]") {
  float matrix[16];
  double curve = 0;
  const int64_t far = kMaxPosition + 1;
  const int64_t near = 1;
  const auto layout = SinusoidLayout::kInterleaved;
  CHECK(shiftMatrix(3, 10000, layout, 1, matrix) == Status::kInvalidShape);
  CHECK(shiftMatrix(0, 10000, layout, 1, matrix) == Status::kInvalidShape);
  CHECK(shiftMatrix(4, 10000, SinusoidLayout::kTensor2Tensor, 1, matrix) == Status::kInvalidArgument);
  CHECK(shiftMatrix(4, -1, layout, 1, matrix) == Status::kInvalidArgument);
  CHECK(shiftMatrix(4, 10000, layout, far, matrix) == Status::kPositionOutOfRange);
  CHECK(dotCurve(5, 10000, &near, 1, &curve) == Status::kInvalidShape);
  CHECK(dotCurve(4, 10000, &far, 1, &curve) == Status::kPositionOutOfRange);
  CHECK(decayCurve(5, 10000, &near, 1, &curve) == Status::kInvalidShape);
  CHECK(decayCurve(4, 10000, &far, 1, &curve) == Status::kPositionOutOfRange);
  CHECK(decayBound(5, 10000, nullptr, &near, 1, &curve) == Status::kInvalidShape);
  CHECK(decayBound(4, 10000, nullptr, &far, 1, &curve) == Status::kPositionOutOfRange);
}

}  // namespace ropewalk::test
