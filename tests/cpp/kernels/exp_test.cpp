#include "kernels/exp.h"

#include <cmath>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

float expOf(float x) {
  return simd::lane1(exp(simd::splat(x)));
}

}  // namespace

TEST_CASE("exp is within 1.5 ulp for results that are normal numbers", "[kernels]") {
  Worst worst;
  constexpr int kSteps = 400000;
  for (int i = 0; i <= kSteps; ++i) {
    const auto x = static_cast<float>(-87.33 + (88.3 + 87.33) * i / kSteps);
    const double exact = std::exp(static_cast<double>(x));
    worst.add(expOf(x), exact, 1.5 * ulpOfFloat(exact));
  }
  CHECK(worst.share() <= 1);
}

TEST_CASE("exp is within 1.5 ulp where its reduction changes", "[kernels]") {
  Worst worst;
  for (int n = -125; n < 127; ++n) {
    auto x = static_cast<float>((n + 0.5) * 0.6931471805599453);
    for (int i = 0; i < 5; ++i) x = std::nextafter(x, -kInfinity);
    for (int i = 0; i < 10; ++i) {
      const double exact = std::exp(static_cast<double>(x));
      worst.add(expOf(x), exact, 1.5 * ulpOfFloat(exact));
      x = std::nextafter(x, kInfinity);
    }
  }
  CHECK(worst.share() <= 1);
}

TEST_CASE("exp falls through the subnormal numbers to 0 and never rises", "[kernels]") {
  float before = expOf(-87.3f);
  for (float x = -87.3f; x > -87.8f; x = std::nextafter(x, -kInfinity)) {
    const float y = expOf(x);
    const double exact = std::exp(static_cast<double>(x));
    CHECK((y == 0 || std::fabs(y - exact) <= 1.5 * ulpOfFloat(exact)));
    CHECK((y >= 0 && y <= before * (1 + 0x1p-22f)));
    before = y;
  }
  CHECK(before == 0);
}

TEST_CASE("exp is 1 at 0, 0 far below and NaN for NaN", "[kernels]") {
  CHECK(expOf(0) == 1);
  CHECK(expOf(-0.0f) == 1);
  for (const float x : {-87.69f, -88.0f, -88.02f, -88.03f, -104.0f, -1e10f, -3.4e38f, -kInfinity})
    CHECK(expOf(x) == 0);
  CHECK(std::isnan(expOf(kNaN)));
}

TEST_CASE("A scaled exp is within 1.5 ulp and a rounding of its exponent", "[kernels]") {
  for (const float scale : {1.0f, 0.125f, 0.0883883f, 3.7f, 0x1p-100f, 0x1p100f}) {
    const ScaledExp exp_of(scale);
    Worst worst;
    constexpr int kSteps = 100000;
    for (int i = 0; i <= kSteps; ++i) {
      const auto x = static_cast<float>(-87.3 * i / kSteps / static_cast<double>(scale));
      const double exponent = static_cast<double>(scale) * static_cast<double>(x);
      const double exact = std::exp(exponent);
      const double allowed = 1.5 * ulpOfFloat(exact) + 0x1p-23 * std::fabs(exponent) * exact;
      worst.add(simd::lane1(exp_of(simd::splat(x))), exact, allowed);
    }
    INFO("scale " << scale);
    CHECK(worst.share() <= 1);
    CHECK(simd::lane0(exp_of(simd::splat(0))) == 1);
    for (const float far : {-88.1f / scale, -120 / scale, -kInfinity, -3.4e38f})
      CHECK((far > -88 / scale || simd::lane0(exp_of(simd::splat(far))) == 0));
    CHECK(std::isnan(simd::lane0(exp_of(simd::splat(kNaN)))));
  }
}

TEST_CASE("exp treats each lane on its own", "[kernels]") {
  const float x[] = {0, -kInfinity, kNaN, -1};
  float y[4];
  simd::store(y, exp(simd::load(x)));
  CHECK(y[0] == 1);
  CHECK(y[1] == 0);
  CHECK(std::isnan(y[2]));
  CHECK(y[3] == expOf(-1));
}

}  // namespace ropewalk::test
