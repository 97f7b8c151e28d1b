#include "angles/real.h"

#include <cmath>

#include "angles/quad.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

bool equal(const Real& a, const Real& b) {
  return !(a < b) && !(b < a);
}

// |a - b| <= 2^-bits |b|
bool agree(const Real& a, const Real& b, int bits) {
  const Real difference = a - b;
  if (difference.isZero()) return true;
  return !b.isZero() && difference.exponent <= b.exponent - bits;
}

bool agree(Quad a, Quad b, double tolerance = 0x1p-108) {
  return magnitude(a - b) <= magnitude(b) * tolerance;
}

// A double of either sign with a magnitude from 2^-exponents to 2^exponents.
double randomDouble(Random& random, double exponents) {
  const double magnitude = std::exp2(random.uniform(-exponents, exponents));
  return random.bits() % 2 == 0 ? magnitude : -magnitude;
}

// All 256 bits in use.
Real randomReal(Random& random, double exponents) {
  Real r = randomDouble(random, exponents);
  for (int i = 0; i < 3; ++i) r.limb[i] = random.bits();
  return r;
}

}  // namespace

TEST_CASE("Real's four operations agree with quadruple precision", "[angles]") {
  Random random(1);
  int misses = 0;
  for (int i = 0; i < 5000; ++i) {
    const double a = randomDouble(random, i % 2 == 0 ? 5 : 200);
    const double b = randomDouble(random, i % 2 == 0 ? 5 : 200);
    const Quad x = a;
    const Quad y = b;
    // Quad rounds a + b relative to the sum, but what a difference loses Real keeps: doubles differ exactly
    // in both.
    misses += !agree(toQuad(Real(a) + Real(b)), x + y);
    misses += !agree(toQuad(Real(a) - Real(b)), x - y);
    misses += !agree(toQuad(Real(a) * Real(b)), x * y);
    misses += !agree(toQuad(Real(a) / Real(b)), x / y);
    misses += (Real(a) < Real(b)) != (a < b);
  }
  CHECK(misses == 0);
}

// quadExp loses ten bits of 113 by squaring and a few on the way, and pow as many as |y log x| has.
TEST_CASE("Real's functions agree with quadruple precision", "[angles]") {
  Random random(2);
  int misses = 0;
  for (int i = 0; i < 200; ++i) {
    const double x = std::fabs(randomDouble(random, 100));
    const double y = random.uniform(-5, 5);
    const double small = random.uniform(-100, 100);
    misses += !agree(toQuad(exp(Real(small))), quadExp(small), 0x1p-98);
    misses += magnitude(toQuad(log(Real(x))) - quadLog(x)) > 0x1p-98;
    misses += !agree(toQuad(sqrt(Real(x))), quadSqrt(x));
    misses += !agree(toQuad(pow(Real(x), Real(y))), quadPow(x, y), 0x1p-90);
  }
  CHECK(misses == 0);
  CHECK(agree(toQuad(pi()), quadPi()));
}

TEST_CASE("Real's constants satisfy the series that define them", "[angles]") {
  const auto inverseTangent = [](double n) {
    Real sum;
    Real power = Real(1.0) / n;
    for (int k = 1; k < 120; k += 2) {
      sum = k % 4 == 1 ? sum + power / k : sum - power / k;
      power = power / (n * n);
    }
    return sum;
  };
  CHECK(agree(pi(), 16.0 * inverseTangent(5) - 4.0 * inverseTangent(239), 248));
  CHECK(agree(inverseTwoPi(), 1.0 / (2.0 * pi()), 248));

  Real two_atanh;  // ln 2 = 2 atanh(1/3)
  Real power = Real(2.0) / 3.0;
  for (int k = 1; k < 180; k += 2) {
    two_atanh = two_atanh + power / k;
    power = power / 9.0;
  }
  CHECK(agree(log(2.0), two_atanh, 248));

  Real e(1.0);
  for (int k = 60; k >= 1; --k) e = 1.0 + e / k;
  CHECK(agree(exp(1.0), e, 240));
}

TEST_CASE("Real's identities hold to 235 bits", "[angles]") {
  Random random(3);
  int misses = 0;
  for (int i = 0; i < 300; ++i) {
    Real x = randomReal(random, 200);
    const Real y = randomReal(random, 200);
    misses += !agree(x / y * y, x, 240);
    misses += !equal(x * y, y * x);

    x.negative = false;
    misses += !agree(exp(log(x)), x, 235);
    misses += !agree(sqrt(x) * sqrt(x), x, 235);
    const Real a = randomReal(random, 2);
    const Real b = randomReal(random, 2);
    misses += !agree(pow(x, a) * pow(x, b), pow(x, a + b), 235);
    misses += !agree(pow(pow(x, a), b), pow(x, a * b), 235);
    misses += !agree(pow(x, 3.0), x * x * x, 235);
    misses += !agree(pow(x, -1.0), 1.0 / x, 235);
  }
  CHECK(misses == 0);
  CHECK(equal(pow(7.0, 0.0), 1.0));
  CHECK(log(1.0).isZero());
  CHECK(sqrt(0.0).isZero());
}

TEST_CASE("Real's log keeps its relative accuracy beside 1", "[angles]") {
  for (int bits = 1; bits <= 52; ++bits) {
    const Real x = 1.0 + std::ldexp(1.0, -bits);
    INFO("x = 1 + 2^-" << bits);
    CHECK(agree(log(x * x), 2.0 * log(x), 235));
  }
}

TEST_CASE("Real's subtraction cancels exactly", "[angles]") {
  CHECK((Real(1.5) - Real(1.5)).isZero());
  CHECK(!(Real(1.5) - Real(1.5)).negative);
  const Real beside = Real(1.0) + 0x1p-255;  // the last of the 256 bits
  CHECK(equal(beside - 1.0, 0x1p-255));
  CHECK(equal(1.0 - beside, -0x1p-255));
  CHECK(equal(Real(0x1p100) - (Real(0x1p100) - 1.0), 1.0));
  // Further apart than the significand is long: the small one is lost, or takes at most the last bit.
  CHECK(equal(Real(1.0) + 0x1p-300, 1.0));
  CHECK(agree(Real(1.0) - 0x1p-300, 1.0, 254));
  CHECK(equal(Real(0x1p-300) + 1.0, 1.0));
}

TEST_CASE("Real treats signs and zero as numbers do", "[angles]") {
  const Real zero;
  CHECK(Real(0.0).isZero());
  CHECK(Real(-0.0).isZero());
  CHECK(!(-zero).negative);
  CHECK((zero * Real(-3.0)).isZero());
  CHECK((zero / Real(-3.0)).isZero());
  CHECK(equal(zero + Real(-3.0), -3.0));
  CHECK(equal(zero - Real(-3.0), 3.0));
  CHECK(equal(Real(-3.0) * Real(-4.0), 12.0));
  CHECK(equal(Real(-3.0) + Real(1.0), -2.0));
  CHECK(Real(-3.0) < Real(-2.0));
  CHECK(Real(-1.0) < zero);
  CHECK(zero < Real(0x1p-1000));
  CHECK(!(zero < zero));
  CHECK(Real(2.0) > Real(-0x1p500));
}

TEST_CASE("Real's floor and ceil are right at integers and just beside them", "[angles]") {
  for (const double n : {-4503599627370495.0, -3.0, -1.0, 0.0, 1.0, 2.0, 1048576.0, 4503599627370495.0}) {
    INFO("n = " << n);
    const Real least = std::ldexp(1.0, -200);  // far below a double's bits of n
    CHECK(equal(floor(n), n));
    CHECK(equal(ceil(n), n));
    CHECK(equal(floor(n + least), n));
    CHECK(equal(ceil(n + least), n + 1));
    CHECK(equal(floor(n - least), n - 1));
    CHECK(equal(ceil(n - least), n));
    CHECK(equal(floor(Real(n) + 0.5), n));
    CHECK(equal(ceil(Real(n) + 0.5), n + 1));
  }
}

TEST_CASE("Real converts to double and float rounding once, ties to even", "[angles]") {
  Random random(4);
  int misses = 0;
  for (int i = 0; i < 2000; ++i) {
    const double x = randomDouble(random, 100);
    misses += Real(x).toDouble() != x;
    misses += Real(x).toFloat() != static_cast<float>(x);
  }
  CHECK(misses == 0);

  const Real sticky = std::ldexp(1.0, -230);
  for (const double sign : {1.0, -1.0}) {
    // Halfway between 1 and its neighbour, and between that and the next.
    CHECK((sign * (Real(1.0) + 0x1p-53)).toDouble() == sign * 1);
    CHECK((sign * (Real(1.0) + 0x1p-53 + sticky)).toDouble() == sign * (1 + 0x1p-52));
    CHECK((sign * (Real(1.0) + 0x1p-53 - sticky)).toDouble() == sign * 1);
    CHECK((sign * (Real(1.0) + 0x1p-52 + 0x1p-53)).toDouble() == sign * (1 + 0x1p-51));
    CHECK((sign * (Real(2.0) - 0x1p-53)).toDouble() == sign * 2);  // carries into the exponent

    CHECK((sign * (Real(1.0) + 0x1p-24)).toFloat() == static_cast<float>(sign));
    CHECK((sign * (Real(1.0) + 0x1p-24 + sticky)).toFloat() == static_cast<float>(sign * (1 + 0x1p-23)));
    CHECK((sign * (Real(1.0) + 0x1p-24 - sticky)).toFloat() == static_cast<float>(sign));
    CHECK((sign * (Real(1.0) + 0x1p-23 + 0x1p-24)).toFloat() == static_cast<float>(sign * (1 + 0x1p-22)));
    CHECK((sign * (Real(2.0) - 0x1p-25)).toFloat() == static_cast<float>(sign * 2));
  }
}

TEST_CASE("Real converts to subnormal numbers rounding once", "[angles]") {
  // Just below halfway between the first two subnormals: a first rounding to full precision would reach the
  // tie.
  CHECK((Real(0x1p-149) * (1.5 - Real(0x1p-100))).toFloat() == 0x1p-149f);
  CHECK((Real(0x1p-1074) * (1.5 - Real(0x1p-100))).toDouble() == 0x1p-1074);
  CHECK((Real(0x1p-149) * 0.5).toFloat() == 0);
  CHECK((Real(0x1p-149) * 1.5).toFloat() == 0x1p-148f);
}

}  // namespace ropewalk::test
