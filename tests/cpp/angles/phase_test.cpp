#include "angles/phase.h"

#include <cmath>
#include <vector>

#include "angles/exact_sine.h"
#include "angles/inverse_frequencies.h"
#include "angles/quad.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

// p w for w = 1 comes near a multiple of pi / 2: numerators of the continued fraction of pi, up to 2^53.
constexpr int64_t kHardPositions[] = {3,
                                      22,
                                      333,
                                      355,
                                      103993,
                                      104348,
                                      208341,
                                      312689,
                                      833719,
                                      1146408,
                                      4272943,
                                      5419351,
                                      80143857,
                                      165707065,
                                      245850922,
                                      411557987,
                                      1068966896,
                                      2549491779,
                                      6167950454,
                                      14885392687,
                                      21053343141,
                                      1783366216531,
                                      3587785776203,
                                      5371151992734,
                                      8958937768937,
                                      139755218526789,
                                      428224593349304,
                                      5706674932067741,
                                      6134899525417045};

std::vector<int64_t> positionsOfAllSizes(Random& random) {
  std::vector<int64_t> positions = {0,           1, 2, 7, (1 << 24) + 1, int64_t{1} << 31, int64_t{1} << 40,
                                    kMaxPosition};
  for (int bits = 2; bits <= 53; bits += 3) positions.push_back(random.between(1, (int64_t{1} << bits) - 1));
  const size_t count = positions.size();
  for (size_t i = 0; i < count; ++i) positions.push_back(-positions[i]);
  return positions;
}

// Errors of float32 results, against half a unit in the last place and against half of that of [1/2, 1).
struct FloatErrors {
  double ulps = 0;
  double absolute = 0;

  void add(double actual, const Real& exact) {
    const double error =
        std::fabs((Real(static_cast<double>(static_cast<float>(actual))) - exact).toDouble());
    absolute = std::max(absolute, error);
    const double size = exact.toDouble();
    if (std::fabs(size) >= 0x1p-40) ulps = std::max(ulps, error / ulpOfFloat(size));
  }
  void add(const SinCos& actual, const ExactSinCos& exact) {
    add(actual.sin, exact.sin);
    add(actual.cos, exact.cos);
  }
};

// Of a double, in units of its last place.
double ulpError(double actual, const Real& exact) {
  return std::fabs((actual - exact).toDouble()) / std::ldexp(1.0, exact.exponent - 53);
}

Turns randomTurns(Random& random) {
  return (Turns{random.bits()} << 64) | random.bits();
}

Real fractionOfTurn(Turns turns) {
  Real sum;
  for (int shift = 96; shift >= 0; shift -= 32) {
    sum = sum * 0x1p32 + static_cast<double>(static_cast<uint32_t>(turns >> shift));
  }
  return sum * 0x1p-128;
}

}  // namespace

TEST_CASE("The reference sine agrees with a series in quadruple precision", "[angles]") {
  Random random(1);
  int misses = 0;
  for (int i = 0; i < 100; ++i) {
    const double x = random.uniform(-3, 3);
    Quad sin = 0;
    Quad cos = 0;
    Quad term = 1;
    for (int k = 0; k < 50; ++k) {
      (k % 2 == 0 ? cos : sin) += k % 4 < 2 ? term : -term;
      term *= static_cast<Quad>(x) / (k + 1);
    }
    const ExactSinCos exact = exactSinCos(x);
    misses += magnitude(toQuad(exact.sin) - sin) > 0x1p-105 || magnitude(toQuad(exact.cos) - cos) > 0x1p-105;
  }
  CHECK(misses == 0);
}

TEST_CASE("sin and cos of every position are within 0.501 ulp of float32", "[angles]") {
  Random random(2);
  const std::vector<int64_t> positions = positionsOfAllSizes(random);
  FloatErrors errors;
  for (const double base : {1e4, 5e5, 10.0, 1e9}) {
    Real w[64];
    REQUIRE(geometricFrequencies(base, 128, 64, w) == Status::kOk);
    for (const int i : {0, 1, 5, 31, 63}) {
      const Turns frequency = turnsFromRadians(w[i]);
      for (const int64_t p : positions) {
        errors.add(sinCos(phaseAt(frequency, p)), exactSinCos(w[i] * static_cast<double>(p)));
      }
    }
  }
  CHECK(errors.ulps <= 0.501);
  CHECK(errors.absolute <= 2.99e-8);
}

TEST_CASE("sin and cos are right where the angle is nearly a multiple of a quarter turn", "[angles]") {
  const Turns frequency = turnsFromRadians(1.0);
  FloatErrors errors;
  for (const int64_t p : kHardPositions) {
    for (const int64_t position : {p, -p}) {
      errors.add(sinCos(phaseAt(frequency, position)), exactSinCos(static_cast<double>(position)));
    }
  }
  CHECK(errors.ulps <= 0.501);
  CHECK(errors.absolute <= 2.99e-8);
}

TEST_CASE("sin and cos of a phase are within 2.5 ulp of double", "[angles]") {
  Random random(3);
  double worst = 0;
  for (int i = 0; i < 1000; ++i) {
    const Turns phase = randomTurns(random);
    const SinCos actual = sinCos(phase);
    const ExactSinCos exact = exactSinCos(fractionOfTurn(phase) * (2.0 * pi()));
    worst = std::max({worst, ulpError(actual.sin, exact.sin), ulpError(actual.cos, exact.cos)});
  }
  CHECK(worst <= 2.5);
}

TEST_CASE("A tiny rest keeps its bits on both sides of every quarter turn", "[angles]") {
  Worst worst;
  for (int quarter = 0; quarter < 4; ++quarter) {
    const Turns corner = Turns{static_cast<unsigned>(quarter)} << 126;
    for (int bits = 0; bits < 124; ++bits) {
      const Turns rest = (Turns{1} << bits) | (Turns{1} << (bits / 2));
      const double exact = (fractionOfTurn(rest) * (2.0 * pi())).toDouble();
      if (exact > 1e-8) break;  // beyond, sine and angle differ
      for (const double sign : {1.0, -1.0}) {
        const SinCos s = sinCos(sign > 0 ? corner + rest : corner - rest);
        const double small[] = {s.sin, -s.cos, -s.sin, s.cos};
        worst.add(small[quarter], sign * exact, 0x1p-50 * exact);
      }
    }
  }
  CHECK(worst.share() <= 1);
}

TEST_CASE("Quarter turns give exact zeros and ones", "[angles]") {
  const double sines[] = {0, 1, 0, -1};
  const double cosines[] = {1, 0, -1, 0};
  for (unsigned quarter = 0; quarter < 4; ++quarter) {
    const SinCos s = sinCos(Turns{quarter} << 126);
    CHECK(s.sin == sines[quarter]);
    CHECK(s.cos == cosines[quarter]);
  }
}

TEST_CASE("Phases add as positions do", "[angles]") {
  Random random(4);
  int misses = 0;
  for (int i = 0; i < 1000; ++i) {
    const Turns frequency = randomTurns(random);
    const int64_t a = random.between(-kMaxPosition, kMaxPosition);
    const int64_t b = random.between(-kMaxPosition, kMaxPosition);
    misses += phaseAt(frequency, a) + phaseAt(frequency, b) != phaseAt(frequency, a + b);
    misses += phaseAt(frequency, -a) != Turns{0} - phaseAt(frequency, a);
  }
  CHECK(misses == 0);
  CHECK(phaseAt(randomTurns(random), 0) == 0);
}

TEST_CASE("turnsFromRadians rounds to the nearest unit and drops whole turns", "[angles]") {
  const Real turn = 2.0 * pi();
  CHECK(turnsFromRadians(0.0) == 0);
  CHECK(turnsFromRadians(turn * 0.25) == Turns{1} << 126);
  CHECK(turnsFromRadians(turn * -0.25) == Turns{3} << 126);
  CHECK(turnsFromRadians(turn * 1000000.25) == Turns{1} << 126);
  CHECK(turnsFromRadians(turn * 0x1p-128) == 1);
  CHECK(turnsFromRadians(turn * 0x1p-128 * 1.25) == 1);
  CHECK(turnsFromRadians(turn * 0x1p-128 * 1.75) == 2);
  CHECK(turnsFromRadians(turn * 0x1p-128 * 0.75) == 1);
  CHECK(turnsFromRadians(turn * 0x1p-128 * 0.25) == 0);
  CHECK(turnsFromRadians(turn * 0x1p-300) == 0);
  CHECK(turnsFromRadians(turn * (1.0 - Real(0x1p-130))) == 0);  // rounds up to a whole turn
}

TEST_CASE("phaseOfRadians is the phase of exactly that float", "[angles]") {
  Random random(5);
  FloatErrors errors;
  int misses = 0;
  std::vector<float> angles = {1.0f,        3.14159274f, 0x1p24f,
                               16777215.0f, 0x1p31f,     0x1p-31f,
                               0x1p-32f,    1.5e38f,     std::numeric_limits<float>::max(),
                               4.71238899f};
  for (int exponent = -40; exponent < 128; ++exponent) {
    for (int i = 0; i < 3; ++i)
      angles.push_back(static_cast<float>(std::ldexp(random.uniform(0.5, 1), exponent)));
  }
  for (const float angle : angles) {
    errors.add(sinCos(phaseOfRadians(angle)), exactSinCos(static_cast<double>(angle)));
    errors.add(sinCos(phaseOfRadians(-angle)), exactSinCos(static_cast<double>(-angle)));
    misses += phaseOfRadians(-angle) != Turns{0} - phaseOfRadians(angle);
  }
  CHECK(errors.ulps <= 0.501);
  CHECK(errors.absolute <= 2.99e-8);
  CHECK(misses == 0);
}

TEST_CASE("phaseOfRadians is off by at most what 24 bits times one unit of 1 / 2 pi make", "[angles]") {
  Random random(6);
  int misses = 0;
  for (int exponent = -149; exponent < 63; ++exponent) {
    for (int i = 0; i < 20; ++i) {
      const auto angle = static_cast<float>(std::ldexp(random.uniform(-1, 1), exponent));
      const Turns difference = phaseOfRadians(angle) - turnsFromRadians(static_cast<double>(angle));
      misses += difference > (1 << 24) && Turns{0} - difference > (1 << 24);
    }
  }
  CHECK(misses == 0);
}

TEST_CASE("phaseOfRadians of the smallest angles is within one unit", "[angles]") {
  CHECK(phaseOfRadians(0.0f) == 0);
  CHECK(phaseOfRadians(-0.0f) == 0);
  CHECK(phaseOfRadians(std::numeric_limits<float>::denorm_min()) == 0);
  for (int exponent = -149; exponent < -40; ++exponent) {
    const double angle = std::ldexp(1.0, exponent);
    const Turns exact = turnsFromRadians(angle);
    const Turns actual = phaseOfRadians(static_cast<float>(angle));
    INFO("angle = 2^" << exponent);
    CHECK((actual == exact || actual + 1 == exact));
  }
}

}  // namespace ropewalk::test
