// Compares the fast computation of rows bit for bit with one entry at a time.
#include "angles/sin_cos_rows.h"

#include <bit>
#include <cmath>
#include <vector>

#include "angles/inverse_frequencies.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

std::vector<Turns> turnsOf(double base, size_t pairs) {
  if (pairs == 0) return {};
  std::vector<Real> radians(pairs);
  REQUIRE(geometricFrequencies(base, static_cast<double>(2 * pairs), pairs, radians.data()) == Status::kOk);
  std::vector<Turns> turns;
  for (const Real& w : radians) turns.push_back(turnsFromRadians(w));
  return turns;
}

// Entries of the rows at these positions, in both forms, that differ from the definition.
size_t missesOf(SinCosRows& rows, const std::vector<Turns>& turns, const std::vector<int64_t>& positions,
                double scale) {
  const size_t pairs = turns.size();
  size_t misses = 0;
  const auto differ = [](float a, float b) {
    return std::bit_cast<uint32_t>(a) != std::bit_cast<uint32_t>(b);
  };
  for (const int64_t p : positions) {
    std::vector<float> sin(pairs, kNaN);  // of exactly this size: the sanitizer guards their ends
    std::vector<float> cos(pairs, kNaN);
    std::vector<float> both(2 * pairs, kNaN);
    rows.fill(p, scale, SeparateSinCos{sin.data(), cos.data()});
    rows.fill(p, scale, InterleavedSinCos{both.data()});
    for (size_t j = 0; j < pairs; ++j) {
      const SinCos exact = sinCos(phaseAt(turns[j], p));
      const auto s = static_cast<float>(exact.sin * scale);
      const auto c = static_cast<float>(exact.cos * scale);
      misses += differ(sin[j], s) + differ(cos[j], c) + differ(both[2 * j], s) + differ(both[2 * j + 1], c);
    }
  }
  return misses;
}

size_t missesOf(const std::vector<Turns>& turns, const std::vector<int64_t>& positions, double scale) {
  SinCosRows rows;
  rows.create(turns.data(), turns.size());
  rows.expect(positions.size());
  return missesOf(rows, turns, positions, scale);
}

std::vector<int64_t> run(int64_t first, int64_t count, int64_t step = 1) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < count; ++i) positions.push_back(first + i * step);
  return positions;
}

}  // namespace

TEST_CASE("Rows of every width have the bits of sinCos", "[angles]") {
  for (size_t pairs = 0; pairs < 40; ++pairs) {
    INFO("pairs = " << pairs);
    CHECK(missesOf(turnsOf(10000, pairs), run(-70, 150), 1) == 0);
  }
}

TEST_CASE("Rows so wide that their table is small, or too large to be made, have the bits of sinCos",
          "[angles]") {
  for (const size_t pairs : std::vector<size_t>{500, 1700, 2500, 4096, 6553, 6554}) {
    INFO("pairs = " << pairs);
    CHECK(missesOf(turnsOf(10000, pairs), run(-9, 60), 1) == 0);
  }
}

TEST_CASE("Rows of random plans have the bits of sinCos at every distance", "[angles]") {
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    const double base = std::pow(10, random.uniform(-1, 9));
    const auto pairs = static_cast<size_t>(random.between(1, 150));
    const int64_t size = int64_t{1} << random.between(0, 52);
    INFO("base " << base << ", pairs " << pairs << ", size " << size);
    const std::vector<Turns> turns = turnsOf(base, pairs);
    CHECK(missesOf(turns, run(random.between(-size, size), random.between(1, 400)), 1) == 0);
  }
  const std::vector<Turns> turns = turnsOf(10000, 64);
  CHECK(missesOf(turns, run(kMaxPosition - 299, 300), 1) == 0);
  CHECK(missesOf(turns, run(-kMaxPosition, 300), 1) == 0);
}

TEST_CASE("Rows of slow frequencies, whose sines hardly leave zero, have the bits of sinCos", "[angles]") {
  CHECK(missesOf(turnsOf(1e8, 64), run(0, 2000), 1) == 0);
  CHECK(missesOf(turnsOf(1e30, 64), run(-500, 1000), 1) == 0);
  CHECK(missesOf(std::vector<Turns>(20, 0), run(-10, 100), 1) == 0);  // which never turn
}

TEST_CASE("Rows have the bits of sinCos at every scale", "[angles]") {
  Random random(2);
  const std::vector<Turns> turns = turnsOf(10000, 33);
  for (const double scale : {0.0, -1.0, 0x1p-64, -0x1p64, 0x1p-65, 1e-42, 1e-300, 1e38, 1e300, -3.4e38}) {
    INFO("scale " << scale);
    CHECK(missesOf(turns, run(random.between(-1000, 1000), 200), scale) == 0);
  }
  for (int i = 0; i < 50; ++i) {
    const double scale = std::ldexp(random.uniform(-1, 1), static_cast<int>(random.between(-60, 60)));
    INFO("scale " << scale);
    CHECK(missesOf(turns, run(random.between(-1000, 1000), 100), scale) == 0);
  }
}

TEST_CASE("Rows come in any order, and with any scale after any other", "[angles]") {
  Random random(3);
  const std::vector<Turns> turns = turnsOf(10000, 21);
  CHECK(missesOf(turns, run(500, 500, -1), 1) == 0);
  CHECK(missesOf(turns, run(-500, 300, 7), 1) == 0);
  SinCosRows rows;
  rows.create(turns.data(), turns.size());
  for (int i = 0; i < 300; ++i) {
    if (i % 50 == 10) rows.expect(static_cast<size_t>(20 * i));  // a larger table for the old one
    const double scale = random.between(0, 3) == 0 ? 0.5 : 1;
    CHECK(missesOf(rows, turns, {random.between(0, 100)}, scale) == 0);
  }
}

// The inverse of an odd number mod 2^128, by Newton's method: each step doubles the bits that are right.
Turns inverse(Turns odd) {
  Turns x = odd;
  for (int i = 0; i < 7; ++i) x *= 2 - odd * x;
  return x;
}

// Where sums of angles err, the nearest float changes only if a sine lies within a few 2^-53 of the middle of
// two floats: frequencies are chosen so that at this position all of them do.
TEST_CASE("Sines halfway between two floats have the bits of sinCos", "[angles]") {
  Random random(5);
  size_t misses = 0;
  for (int i = 0; i < 2000; ++i) {
    const int64_t position = 2 * random.between(-1000000, 1000000) + 1;
    std::vector<Turns> turns(16);
    for (Turns& f : turns) {
      const auto below = static_cast<float>(random.uniform(0.1, 1));
      const double middle = below + std::ldexp(1.0, std::ilogb(below) - 24);
      f = turnsFromRadians(Real(std::asin(middle))) * inverse(phaseAt(1, position));
    }
    SinCosRows rows;
    rows.create(turns.data(), turns.size());
    rows.expect(4096);
    misses += missesOf(rows, turns, {position - random.between(1, 255), position}, 1);
  }
  CHECK(misses == 0);
}

TEST_CASE("sumAngles answers false where the margin spans two floats, and stores the nearest elsewhere",
          "[angles]") {
  Random random(4);
  for (size_t n = 0; n < 20; ++n) {
    std::vector<double> a(2 * n);
    std::vector<double> b(2 * n);
    for (double& x : a) x = random.uniform(-1, 1);
    for (double& x : b) x = random.uniform(-1, 1);
    const AngleRow left = {a.data(), a.data() + n};
    const AngleRow right = {b.data(), b.data() + n};
    std::vector<float> sin(n, kNaN);
    std::vector<float> cos(n, kNaN);
    const SeparateSinCos out = {sin.data(), cos.data()};
    CHECK(sumAngles(out, left, right, 0, n, 0));
    size_t misses = 0;
    for (size_t j = 0; j < n; ++j) {
      misses += cos[j] != static_cast<float>(a[j] * b[j] - a[n + j] * b[n + j]);
      misses += sin[j] != static_cast<float>(a[n + j] * b[j] + a[j] * b[n + j]);
    }
    CHECK(misses == 0);
    CHECK(sumAngles(out, left, right, 0, n, 1e-3) == (n == 0));
    for (size_t j = 0; j < n; ++j) {  // one doubtful entry is enough, wherever it stands
      std::vector<double> one(2 * n, 0.5);
      std::vector<double> unit(2 * n, 0.0);
      std::fill_n(unit.begin(), n, 1.0);
      one[random.between(0, 1) == 0 ? j : n + j] = 0.5 + 0x1p-25;  // halfway between two floats
      CHECK(!sumAngles(out, {one.data(), one.data() + n}, {unit.data(), unit.data() + n}, 0, n, 0x1p-50));
    }
  }
}

}  // namespace ropewalk::test
