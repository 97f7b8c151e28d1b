#include "angles/power.h"

#include <cmath>
#include <limits>
#include <random>

#include "catch.h"

namespace ropewalk::test {
namespace {

// std::pow of long double, which has 11 more bits natively; elsewhere it is as exact as the bound asks for.
bool isWithinBound(double x, double y) {
  const auto expected = std::pow(static_cast<long double>(x), static_cast<long double>(y));
  const auto bound = (2 + std::fabs(y * std::log2(x))) * std::ldexp(1.0, -52);
  return std::fabs(static_cast<long double>(power(x, y)) - expected) <= bound * expected;
}

}  // namespace

TEST_CASE("power is x^y within its bound") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-60, 60);
  std::uniform_real_distribution<double> part(0.5, 2);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::ldexp(part(random), static_cast<int>(exponent(random)));
    const double y = exponent(random) / 4;
    INFO("x " << x << ", y " << y);
    REQUIRE(isWithinBound(x, y));
  }
  for (const double x :
       {0.70710678118654746, 0.70710678118654757, 1.4142135623730949, 1.4142135623730951, 1.0}) {
    for (const double y : {0.5, 1.0, 2.0, 3.0, 100.0, 1000.0, -1000.0, 1e-300}) {
      INFO("x " << x << ", y " << y);
      REQUIRE(isWithinBound(x, y));
    }
  }
}

TEST_CASE("power of two to whole numbers is exact") {
  for (int n = -1022; n < 1024; ++n) REQUIRE(power(2, n) == std::ldexp(1.0, n));
  for (int n = 0; n < 26; ++n) REQUIRE(power(4, 0.5 * n) == std::ldexp(1.0, n));
}

TEST_CASE("power at its ends") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(power(0, 0) == 1);
  CHECK(power(7, 0) == 1);
  CHECK(power(1, 1e300) == 1);
  CHECK(power(0, 0.5) == 0);
  CHECK(power(0, -0.5) == kInfinity);
  CHECK(power(2, 1024) == kInfinity);
  CHECK(power(2, 1e300) == kInfinity);
  CHECK(power(2, -1074) == std::numeric_limits<double>::denorm_min());
  CHECK(power(2, -1076) == 0);
  CHECK(power(2, -1e300) == 0);
  CHECK(power(0.5, 1e300) == 0);
  CHECK(power(std::numeric_limits<double>::denorm_min(), 1) == std::numeric_limits<double>::denorm_min());
}

}  // namespace ropewalk::test
