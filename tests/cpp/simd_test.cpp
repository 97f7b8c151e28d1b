// Compares every operation of this build's f32x4 with a plain loop over its lanes.
#include "simd.h"

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

using simd::f32x4;
using Lanes = std::array<float, simd::kLanes>;

Lanes lanes(f32x4 a) {
  Lanes out;
  simd::store(out.data(), a);
  return out;
}

f32x4 vector(const Lanes& a) {
  return simd::load(a.data());
}

uint32_t bits(float x) {
  return std::bit_cast<uint32_t>(x);
}

// The same bits, or both NaN: which NaN an operation makes is not told.
bool same(float a, float b) {
  return bits(a) == bits(b) || (std::isnan(a) && std::isnan(b));
}

constexpr float kSpecial[] = {0.0f,      -0.0f,      1.0f,   -1.0f,      2.5f,      -3.25f,
                              1e30f,     -1e30f,     1e-40f, -1e-45f,    0x1p-126f, 3.40282347e38f,
                              kInfinity, -kInfinity, kNaN,   1.00000012f};

// Every pair of special values in every lane, then random ones.
template <class F>
void forPairs(F f) {
  const size_t n = std::size(kSpecial);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      Lanes a;
      Lanes b;
      for (size_t l = 0; l < simd::kLanes; ++l) a[l] = kSpecial[(i + 3 * l) % n];
      for (size_t l = 0; l < simd::kLanes; ++l) b[l] = kSpecial[(j + 5 * l) % n];
      f(a, b);
    }
  }
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    Lanes a;
    Lanes b;
    for (float& x : a) x = static_cast<float>(random.uniform(-100, 100));
    for (float& x : b) x = static_cast<float>(random.uniform(-100, 100));
    f(a, b);
  }
}

template <class Scalar>
int missesOf(f32x4 (*operation)(f32x4, f32x4), Scalar scalar) {
  int misses = 0;
  forPairs([&](const Lanes& a, const Lanes& b) {
    const Lanes actual = lanes(operation(vector(a), vector(b)));
    for (size_t l = 0; l < simd::kLanes; ++l) misses += !same(actual[l], scalar(a[l], b[l]));
  });
  return misses;
}

}  // namespace

TEST_CASE("Vector arithmetic rounds as float arithmetic does", "[simd]") {
  INFO("backend " << simd::kBackend);
  CHECK(missesOf(simd::add, [](float x, float y) { return x + y; }) == 0);
  CHECK(missesOf(simd::sub, [](float x, float y) { return x - y; }) == 0);
  CHECK(missesOf(simd::mul, [](float x, float y) { return x * y; }) == 0);
  CHECK(missesOf(simd::div, [](float x, float y) { return x / y; }) == 0);
  constexpr auto kRoot = [](f32x4 a, f32x4) { return simd::sqrt(a); };
  CHECK(missesOf(+kRoot, [](float x, float) { return std::sqrt(x); }) == 0);
}

TEST_CASE("min and max give the second operand where the comparison fails", "[simd]") {
  int misses = 0;
  forPairs([&](const Lanes& a, const Lanes& b) {
    const Lanes smaller = lanes(simd::min(vector(a), vector(b)));
    const Lanes larger = lanes(simd::max(vector(a), vector(b)));
    for (size_t l = 0; l < simd::kLanes; ++l) {
      misses += bits(smaller[l]) != bits(a[l] < b[l] ? a[l] : b[l]);
      misses += bits(larger[l]) != bits(a[l] > b[l] ? a[l] : b[l]);
    }
  });
  CHECK(misses == 0);
}

TEST_CASE("lessThan makes masks that select whole lanes", "[simd]") {
  int misses = 0;
  forPairs([&](const Lanes& a, const Lanes& b) {
    const f32x4 mask = simd::lessThan(vector(a), vector(b));
    const Lanes raw = lanes(mask);
    const Lanes chosen = lanes(simd::select(mask, vector(b), vector(a)));
    for (size_t l = 0; l < simd::kLanes; ++l) {
      misses += bits(raw[l]) != (a[l] < b[l] ? 0xffffffffu : 0u);
      misses += bits(chosen[l]) != bits(a[l] < b[l] ? b[l] : a[l]);
    }
  });
  CHECK(misses == 0);
}

TEST_CASE("mulAdd and its kin round once or twice, and nothing else", "[simd]") {
  Random random(2);
  int misses = 0;
  for (int i = 0; i < 2000; ++i) {
    Lanes a;
    Lanes b;
    Lanes c;
    for (float& x : a) x = static_cast<float>(random.uniform(-2, 2));
    for (float& x : b) x = static_cast<float>(random.uniform(-2, 2));
    for (float& x : c) x = static_cast<float>(random.uniform(-2, 2));
    const Lanes plus = lanes(simd::mulAdd(vector(a), vector(b), vector(c)));
    const Lanes negative = lanes(simd::negMulAdd(vector(a), vector(b), vector(c)));
    for (size_t l = 0; l < simd::kLanes; ++l) {
      const float product = a[l] * b[l];
      misses += plus[l] != product + c[l] && plus[l] != std::fma(a[l], b[l], c[l]);
      misses += negative[l] != c[l] - product && negative[l] != std::fma(-a[l], b[l], c[l]);
    }
  }
  CHECK(misses == 0);
}

TEST_CASE("exp2Shifted makes every power of two that is a normal number, and 0 below", "[simd]") {
  for (int n = -127; n <= 127; ++n) {
    const float power = simd::lane1(simd::exp2Shifted(simd::splat(simd::kExp2Shift + static_cast<float>(n))));
    CHECK(power == (n == -127 ? 0 : std::ldexp(1.0f, n)));
  }
}

TEST_CASE("Lanes go where the names say", "[simd]") {
  const f32x4 a = vector({0, 1, 2, 3});
  const f32x4 b = vector({4, 5, 6, 7});
  CHECK(lanes(simd::splat(9)) == Lanes{9, 9, 9, 9});
  CHECK(lanes(simd::swapHalves(a)) == Lanes{2, 3, 0, 1});
  CHECK(lanes(simd::swapNeighbours(a)) == Lanes{1, 0, 3, 2});
  CHECK(lanes(simd::evens(a, b)) == Lanes{0, 2, 4, 6});
  CHECK(lanes(simd::odds(a, b)) == Lanes{1, 3, 5, 7});
  CHECK(lanes(simd::zipLow(a, b)) == Lanes{0, 4, 1, 5});
  CHECK(lanes(simd::zipHigh(a, b)) == Lanes{2, 6, 3, 7});
  CHECK(simd::lane0(b) == 4);
  CHECK(simd::lane1(b) == 5);
}

TEST_CASE("sum adds in one order in every backend, and maxLane finds the largest", "[simd]") {
  Random random(4);
  int misses = 0;
  for (int i = 0; i < 500; ++i) {
    Lanes a;
    for (float& x : a)
      x = static_cast<float>(std::ldexp(random.uniform(-1, 1), static_cast<int>(random.between(0, 30))));
    misses += simd::sum(vector(a)) != (a[0] + a[2]) + (a[1] + a[3]);
    misses += simd::maxLane(vector(a)) != *std::max_element(a.begin(), a.end());
  }
  CHECK(misses == 0);
}

TEST_CASE("loadN and storeN touch n floats and no more", "[simd]") {
  const f32x4 a = vector({1, 2, 3, 4});
  for (size_t n = 0; n < simd::kLanes; ++n) {
    std::vector<float> exact(n);  // the sanitizer guards its end
    simd::storeN(exact.data(), a, n);
    Lanes expected = {0, 0, 0, 0};
    for (size_t i = 0; i < n; ++i) expected[i] = static_cast<float>(i + 1);
    CHECK(lanes(simd::loadN(exact.data(), n)) == expected);

    std::vector<float> longer(simd::kLanes, -1.0f);
    simd::storeN(longer.data(), a, n);
    for (size_t i = 0; i < simd::kLanes; ++i) CHECK(longer[i] == (i < n ? expected[i] : -1.0f));
  }
}

TEST_CASE("loadF16 is exact for every float16", "[simd]") {
  int misses = 0;
  for (uint32_t first = 0; first < 0x10000; first += simd::kLanes) {
    // Three places in, so that no alignment helps, and as long as what is read.
    std::vector<uint16_t> halves(7);
    for (uint32_t i = 0; i < simd::kLanes; ++i) halves[3 + i] = static_cast<uint16_t>(first + i);
    const simd::F16Constants constants;
    const Lanes wide = lanes(simd::loadF16(halves.data() + 3, constants));
    const Lanes finite =
        lanes(simd::mul(simd::loadSmallF16(halves.data() + 3, constants.mask), constants.scale));
    for (uint32_t i = 0; i < simd::kLanes; ++i) {
      const uint32_t half = first + i;
      const uint32_t mantissa = half & 0x3ff;
      const int exponent = static_cast<int>(half >> 10 & 0x1f);
      const float sign = (half & 0x8000) != 0 ? -1.0f : 1.0f;
      if (exponent == 31) {
        misses += bits(wide[i]) != ((half & 0x8000) << 16 | 0x7f800000 | mantissa << 13);
      } else {
        const double significand = exponent == 0 ? mantissa : mantissa + 1024;
        const double expected = std::ldexp(significand, std::max(exponent, 1) - 25);
        misses += bits(wide[i]) != bits(sign * static_cast<float>(expected));
        misses += bits(finite[i]) != bits(wide[i]);
      }
    }
  }
  CHECK(misses == 0);
}

TEST_CASE("loadBf16 is the upper half of a float for every bfloat16", "[simd]") {
  int misses = 0;
  for (uint32_t first = 0; first < 0x10000; first += simd::kLanes) {
    std::vector<uint16_t> halves(5);
    for (uint32_t i = 0; i < simd::kLanes; ++i) halves[1 + i] = static_cast<uint16_t>(first + i);
    const Lanes wide = lanes(simd::loadBf16(halves.data() + 1));
    for (uint32_t i = 0; i < simd::kLanes; ++i) misses += bits(wide[i]) != (first + i) << 16;
  }
  CHECK(misses == 0);
}

TEST_CASE("loadBf16Split parts every bfloat16 from its neighbour", "[simd]") {
  int misses = 0;
  for (uint32_t first = 0; first < 0x10000; first += 2 * simd::kLanes) {
    std::vector<uint16_t> halves(9);
    for (uint32_t i = 0; i < 2 * simd::kLanes; ++i) halves[1 + i] = static_cast<uint16_t>(first + i);
    f32x4 two[2];
    simd::loadBf16Split(halves.data() + 1, simd::upperHalves(), two);
    const Lanes even = lanes(two[0]);
    const Lanes odd = lanes(two[1]);
    for (uint32_t i = 0; i < simd::kLanes; ++i) {
      misses += bits(even[i]) != (first + 2 * i) << 16;
      misses += bits(odd[i]) != (first + 2 * i + 1) << 16;
    }
  }
  CHECK(misses == 0);
}

TEST_CASE("loadI8 is exact for every signed byte", "[simd]") {
  for (int first = -128; first < 128; first += 16) {
    std::vector<int8_t> bytes(17);
    for (int i = 0; i < 16; ++i) bytes[static_cast<size_t>(1 + i)] = static_cast<int8_t>(first + i);
    f32x4 wide[4];
    simd::loadI8(bytes.data() + 1, wide);
    for (int v = 0; v < 4; ++v) {
      const auto x = static_cast<float>(first + 4 * v);
      CHECK(lanes(wide[v]) == Lanes{x, x + 1, x + 2, x + 3});
    }
  }
}

TEST_CASE("Pairs of doubles round as double arithmetic does, and once more to floats", "[simd]") {
  Random random(5);
  int misses = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> x(5);  // one place in, so that no alignment helps
    for (double& v : x) v = std::ldexp(random.uniform(-1, 1), static_cast<int>(random.between(-150, 20)));
    const double* a = x.data() + 1;
    const double* b = x.data() + 3;
    const simd::f64x2 va = simd::load(a);
    const simd::f64x2 vb = simd::load(b);
    // A double that is itself a float shows in the narrowed result exactly; the rest is in the difference.
    const auto check = [&](simd::f64x2 actual, double first, double second) {
      const simd::f64x2 rest = simd::sub(actual, simd::load(std::array{first, second}.data()));
      misses += lanes(simd::narrow(actual, rest)) !=
                Lanes{static_cast<float>(first), static_cast<float>(second), 0, 0};
    };
    check(va, a[0], a[1]);
    check(simd::add(va, vb), a[0] + b[0], a[1] + b[1]);
    check(simd::sub(va, vb), a[0] - b[0], a[1] - b[1]);
    check(simd::mul(va, vb), a[0] * b[0], a[1] * b[1]);
    check(simd::splatDouble(a[0]), a[0], a[0]);
  }
  CHECK(misses == 0);
}

TEST_CASE("load and store need no alignment", "[simd]") {
  const std::vector<float> x = {0, 1, 2, 3, 4};
  std::vector<float> y(5);
  simd::store(y.data() + 1, simd::load(x.data() + 1));
  CHECK(y == x);
}

}  // namespace ropewalk::test
