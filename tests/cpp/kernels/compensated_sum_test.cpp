#include "kernels/compensated_sum.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {

TEST_CASE("A compensated sum of many equal numbers is exact to 1 ulp where a plain one is not", "[kernels]") {
  constexpr size_t kTerms = 200000;
  for (const size_t n : {size_t{1}, size_t{4}, size_t{7}}) {
    std::vector<float> sum(n);
    std::vector<float> rest(n);
    const std::vector<float> x(n, 0.1f);
    float plain = 0;
    for (size_t i = 0; i < kTerms; ++i) {
      addCompensated(sum.data(), rest.data(), x.data(), n);
      plain += 0.1f;
    }
    const double exact = static_cast<double>(0.1f) * kTerms;
    CHECK(std::fabs(plain - exact) > 50 * ulpOfFloat(exact));
    for (const float s : sum) CHECK(std::fabs(s - exact) <= ulpOfFloat(exact));
  }
}

TEST_CASE("A compensated sum of terms of any sizes and signs is off by 2^-23 of their sizes", "[kernels]") {
  Random random(3);
  std::vector<float> sum(7);
  std::vector<float> rest(7);
  std::vector<double> exact(7);
  std::vector<double> sizes(7);
  for (int i = 0; i < 50000; ++i) {
    const std::vector<float> x = random.floats(7, std::ldexp(1.0, i % 40));
    addCompensated(sum.data(), rest.data(), x.data(), 7);
    for (size_t j = 0; j < 7; ++j) {
      exact[j] += x[j];
      sizes[j] += std::fabs(x[j]);
    }
  }
  Worst worst;
  for (size_t j = 0; j < 7; ++j) worst.add(sum[j], exact[j], 2 * kUnit * sizes[j]);
  CHECK(worst.share() <= 1);
}

TEST_CASE("An infinite sum stays infinite and NaN stays NaN", "[kernels]") {
  std::vector<float> sum = {kInfinity, -kInfinity, kNaN, 3e38f, 1};
  std::vector<float> rest(5);
  const std::vector<float> x = {1, 2, 3, 3e38f, kInfinity};
  for (int i = 0; i < 2; ++i) addCompensated(sum.data(), rest.data(), x.data(), 5);
  CHECK(sum[0] == kInfinity);
  CHECK(sum[1] == -kInfinity);
  CHECK(std::isnan(sum[2]));
  CHECK(sum[3] == kInfinity);
  CHECK(sum[4] == kInfinity);
  for (const float r : rest) CHECK(std::isfinite(r));
}

}  // namespace ropewalk::test
