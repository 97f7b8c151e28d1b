#include "encodings/fire.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

struct FireData {
  std::vector<float> hidden_weights, hidden_bias, out_weights, out_bias;

  FireData(size_t heads, size_t width) {
    Random random(heads + 31 * width);
    hidden_weights = random.floats(width, 2);
    hidden_bias = random.floats(width);
    out_weights = random.floats(heads * width);
    out_bias = random.floats(heads);
  }

  FireTerms terms(double c, double threshold) const {
    return {c,
            threshold,
            hidden_bias.size(),
            hidden_weights.data(),
            hidden_bias.data(),
            out_weights.data(),
            out_bias.data()};
  }
};

double shareOf(double c, double threshold, double distance, double position) {
  return std::log1p(c * distance) / std::log1p(c * std::max(threshold, position));
}

// Checks one bias. psi of the distance and of the normalizer, their ratio, and for each hidden number two
// roundings and one of the sum behind it; twice the terms, since mulAdd may round twice.
void addTo(Worst& worst, float actual, const FireTerms& terms, size_t h, double share) {
  const auto bias = static_cast<double>(terms.out_bias[h]);
  double want = bias;
  double size = std::fabs(bias);
  for (size_t w = 0; w < terms.width; ++w) {
    const auto slope = static_cast<double>(terms.hidden_weights[w]);
    const auto start = static_cast<double>(terms.hidden_bias[w]);
    const auto out = static_cast<double>(terms.out_weights[h * terms.width + w]);
    want += out * std::max(0.0, slope * share + start);
    size += std::fabs(out) * (std::fabs(slope * share) + std::fabs(start));
  }
  worst.add(actual, want, kUnit * (2 * static_cast<double>(terms.width) + 8) * size);
}

TEST_CASE("FIRE is its network of the normalized distance", "[encodings]") {
  for (const size_t width : {size_t{0}, size_t{1}, size_t{5}, size_t{32}}) {
    const FireData data(3, width);
    for (const double threshold : {1e-3, 4.0, 1e6}) {
      const FireTerms terms = data.terms(0.3, threshold);
      for (const int64_t offset : {int64_t{0}, int64_t{-3}, int64_t{5}, int64_t{100000}}) {
        std::vector<float> out(3 * 4 * 7);
        REQUIRE(fireBias({terms, 3, 4, 7, offset}, out.data()) == Status::kOk);
        Worst worst;
        for (size_t h = 0; h < 3; ++h) {
          for (int64_t i = 0; i < 4; ++i) {
            for (int64_t j = 0; j < 7; ++j) {
              const auto distance = static_cast<double>(std::abs(i + offset - j));
              const size_t at = (h * 4 + static_cast<size_t>(i)) * 7 + static_cast<size_t>(j);
              addTo(worst, out[at], terms, h,
                    shareOf(0.3, threshold, distance, static_cast<double>(i + offset)));
            }
          }
        }
        CHECK(worst.share() <= 1);
      }
    }
  }
}

TEST_CASE("FIRE adds to rows of any length, and a bias has the same bits in each", "[encodings]") {
  const FireData data(2, 6);
  const FireTerms terms = data.terms(0.1, 16);
  std::vector<float> psi(2000);
  REQUIRE(fireDistances({terms, 1, 1, psi.size(), 0}, psi.data()) == Status::kOk);
  std::vector<float> whole(psi.size(), 0);
  addFire(whole.data(), psi.data(), whole.size(), terms, 1, 40);
  for (const size_t n : kernelSizes()) {
    std::vector<float> part(n, 0);
    addFire(part.data(), psi.data() + 1, n, terms, 1, 40);
    CHECK(std::equal(part.begin(), part.end(), whole.begin() + 1));
  }
}

TEST_CASE("FIRE's share of the way back lies in [0, 1] and ends at 1, at any length", "[encodings]") {
  // A network that gives the share itself.
  const float one = 1;
  const float zero = 0;
  const FireTerms terms = {0.1, 64, 1, &one, &zero, &one, &zero};
  for (const int64_t position : {int64_t{0}, int64_t{63}, int64_t{64}, int64_t{1000}}) {
    std::vector<float> row(static_cast<size_t>(position) + 1);
    REQUIRE(fireBias({terms, 1, 1, row.size(), position}, row.data()) == Status::kOk);
    CHECK(std::is_sorted(row.rbegin(), row.rend()));
    CHECK(row.back() == 0);
    CHECK(row.front() <= 1);
    if (position >= 64) CHECK(row.front() == 1);
  }
}

TEST_CASE("A number of FIRE's network that is NaN, or infinite where the share is 0, is seen in the bias",
          "[encodings]") {
  const float zero = 0;
  for (const bool of_weight : {false, true}) {
    for (const float bad : {kNaN, kInfinity}) {
      const float weights[] = {of_weight ? bad : 1, 1};
      const float biases[] = {of_weight ? 0 : bad, 0};
      const float out_weights[] = {5, 1};
      const FireTerms terms = {0.1, 64, 2, weights, biases, out_weights, &zero};
      std::vector<float> row(5);
      REQUIRE(fireBias({terms, 1, 1, row.size(), 4}, row.data()) == Status::kOk);
      INFO(bad << (of_weight ? " among weights" : " among biases"));
      for (const float bias : row) CHECK(!std::isfinite(bias));
      CHECK(std::isnan(row.back()) == (of_weight || std::isnan(bad)));  // infinity times a share of 0
    }
  }
}

TEST_CASE("FIRE takes empty sizes and refuses numbers that give no share", "[encodings]") {
  const FireData data(1, 2);
  float out = 7;
  CHECK(fireBias({data.terms(1, 1), 1, 0, 3, 0}, &out) == Status::kOk);
  CHECK(fireBias({data.terms(1, 1), 1, 3, 0, 0}, &out) == Status::kOk);
  CHECK(fireBias({data.terms(1, 1), 0, 3, 2, 0}, &out) == Status::kOk);
  for (const double bad : {0.0, -1.0, static_cast<double>(kNaN), static_cast<double>(kInfinity)}) {
    CHECK(fireBias({data.terms(bad, 1), 1, 1, 1, 0}, &out) == Status::kInvalidArgument);
    CHECK(fireBias({data.terms(1, bad), 1, 1, 1, 0}, &out) == Status::kInvalidArgument);
  }
  CHECK(fireBias({data.terms(1e-30, 1e-30), 1, 1, 1, 0}, &out) == Status::kInvalidArgument);
  CHECK(out == 7);
}

}  // namespace
}  // namespace ropewalk::test
