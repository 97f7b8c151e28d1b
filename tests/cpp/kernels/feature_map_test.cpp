#include "kernels/feature_map.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

using Map = void (*)(float*, const float*, size_t);

double elu1Exactly(double x) {
  return x > 0 ? x + 1 : std::exp(x);
}
double expExactly(double x) {
  return std::exp(x);
}

struct Case {
  Map map;
  double (*exactly)(double);
  double ulps;
};
const Case kCases[] = {{elu1, elu1Exactly, 1.5}, {exponential, expExactly, 1.5}};

std::vector<float> mapped(Map map, const std::vector<float>& x) {
  std::vector<float> out(x.size());
  map(out.data(), x.data(), x.size());
  return out;
}

}  // namespace

TEST_CASE("Feature maps are within 1.5 ulp at every length, in place as well", "[kernels]") {
  Random random(1);
  for (const Case& each : kCases) {
    for (const size_t n : kernelSizes()) {
      std::vector<float> x = random.floats(n, 20);
      const std::vector<float> out = mapped(each.map, x);
      Worst worst;
      for (size_t i = 0; i < n; ++i) {
        const double exact = each.exactly(x[i]);
        worst.add(out[i], exact, each.ulps * ulpOfFloat(exact));
      }
      INFO("n = " << n);
      CHECK(worst.share() <= 1);
      each.map(x.data(), x.data(), n);
      CHECK(sameBits(x, out));
    }
  }
}

TEST_CASE("e^x is right up to the end of float32 and infinite beyond", "[kernels]") {
  for (const float x : {88.29f, 88.3f, 88.31f, 88.5f, 88.72f}) {
    const double exact = std::exp(static_cast<double>(x));
    CHECK(std::fabs(mapped(exponential, {x})[0] - exact) <= 1.5 * ulpOfFloat(exact));
  }
  for (const float x : {88.73f, 89.0f, 1000.0f, 3e38f, kInfinity})
    CHECK(mapped(exponential, {x})[0] == kInfinity);
}

TEST_CASE("Feature maps have their limits, and keep NaN", "[kernels]") {
  const std::vector<float> x = {-kInfinity, -1e30f, -0.0f, 0, kInfinity, kNaN};
  const std::vector<float> a = mapped(elu1, x);
  CHECK(std::vector<float>(a.begin(), a.end() - 1) == std::vector<float>{0, 0, 1, 1, kInfinity});
  const std::vector<float> b = mapped(exponential, x);
  CHECK(std::vector<float>(b.begin(), b.end() - 1) == std::vector<float>{0, 0, 1, 1, kInfinity});
  for (const auto& out : {a, b}) CHECK(std::isnan(out.back()));
}

TEST_CASE("Unit vectors have length 1 whatever the size of their numbers, and zeros stay zeros",
          "[kernels]") {
  Random random(2);
  for (const float size : {1e-11f, 1.0f, 3e38f}) {
    for (const size_t n : kernelSizes()) {
      if (n == 0) continue;
      const std::vector<float> x = random.floats(n, size);
      const std::vector<float> out = mapped(unitVector, x);
      double squares = 0;
      for (const float v : out) squares += static_cast<double>(v) * v;
      double given = 0;
      for (const float v : x) given += static_cast<double>(v) * v;
      if (std::sqrt(given) < 1e-12) continue;
      CHECK(std::fabs(squares - 1) <= 2 * kUnit);
      CHECK(std::fabs(out[0] - x[0] / std::sqrt(given)) <= 2 * kUnit * std::fabs(out[0]));
    }
  }
  CHECK(mapped(unitVector, {0, 0, 0}) == std::vector<float>{0, 0, 0});
  CHECK(mapped(unitVector, {1e-13f, 0}) == std::vector<float>{1e-13f / 1e-12f, 0});
  CHECK(std::isnan(mapped(unitVector, {kNaN, 1})[1]));
}

}  // namespace ropewalk::test
