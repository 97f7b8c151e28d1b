#include "angles/power.h"

#include <cmath>
#include <limits>

namespace ropewalk {

namespace {

constexpr double kLn2 = 0.69314718055994530942;
constexpr double kBeyondExponents = 2200;  // 2^t is 0 or infinite from here on

// ln m for m in [1/sqrt2, sqrt2): 2 atanh z, z = (m - 1) / (m + 1), |z| < 0.172.
double logNearOne(double m) {
  const double z = (m - 1) / (m + 1);
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * (z * z) + 1.0 / k;
  return 2 * z * sum;
}

// e^r for |r| <= ln2 / 2.
double expNearZero(double r) {
  double sum = 1;
  for (int k = 15; k >= 1; --k) sum = 1 + r / k * sum;
  return sum;
}

}  // namespace

double power(double x, double y) {
  if (y == 0) return 1;
  if (x == 0) return y > 0 ? 0 : std::numeric_limits<double>::infinity();
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752440) {
    m *= 2;
    --exponent;
  }
  // y log2 x in two parts, whole numbers and what is left: x^y = 2^n e^r.
  const double turns = y * exponent;
  const double rest = y * (logNearOne(m) / kLn2);
  const double bounded = std::fmax(-kBeyondExponents, std::fmin(kBeyondExponents, turns + rest));
  const double n = std::floor(bounded + 0.5);
  const double r = std::fabs(bounded) < kBeyondExponents ? (turns - n + rest) * kLn2 : 0;
  return std::ldexp(expNearZero(r), static_cast<int>(n));
}

}  // namespace ropewalk
