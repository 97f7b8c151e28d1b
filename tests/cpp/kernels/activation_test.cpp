#include "kernels/activation.h"

#include <cmath>
#include <limits>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr Activation kAll[] = {Activation::kGelu, Activation::kGeluTanh, Activation::kSilu, Activation::kRelu,
                               Activation::kTanh};
constexpr double kTwoOverPiRoot = 0.79788456080286535588;

std::vector<float> activated(Activation f, const std::vector<float>& x) {
  std::vector<float> out(x.size());
  activate(f, out.data(), x.data(), x.size());
  return out;
}

double exact(Activation f, double x) {
  switch (f) {
    case Activation::kGelu:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh:
      return x / (1 + std::exp(-2 * kTwoOverPiRoot * (x + 0.044715 * x * x * x)));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kRelu:
      return x > 0 ? x : 0;
    case Activation::kTanh:
      return std::tanh(x);
  }
  return kNaN;
}

// What the header promises: ulps of the result, with the roundings of the exponential's argument where there
// are any; and how near to 0 a result may be called 0.
double tolerance(Activation f, double x) {
  const double u = 2 * kTwoOverPiRoot * std::fabs(x + 0.044715 * x * x * x);
  const double y = exact(f, x);
  switch (f) {
    case Activation::kGelu:
      return 5 * ulpOfFloat(y) + 1e-38;
    case Activation::kGeluTanh:
      return (6 + 3 * std::min(u, 90.0)) * kUnit * std::fabs(y) + 4e-36;
    case Activation::kSilu:
      return 4 * ulpOfFloat(y) + 2e-36;
    case Activation::kRelu:
      return 0;
    case Activation::kTanh:
      return 2 * ulpOfFloat(y);
  }
  return 0;
}

// Dense where the functions bend, and every power of two with its neighbours.
std::vector<float> arguments() {
  std::vector<float> x;
  for (int i = -400000; i <= 400000; ++i) x.push_back(static_cast<float>(i) / 20000);
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) / 40);
  for (int e = -149; e < 128; ++e) {
    const float power = std::ldexp(1.0f, e);
    for (const float v : {power, std::nextafter(power, 0.0f), power * 1.37f}) {
      x.push_back(v);
      x.push_back(-v);
    }
  }
  for (const float edge : {0.625f, 1.0f, 9.02f, 13.2f, 13.21f, 16.0f, 87.33f, 88.5f}) {
    for (const float v : {std::nextafter(edge, 0.0f), edge, std::nextafter(edge, 1e9f)}) {
      x.push_back(v);
      x.push_back(-v);
    }
  }
  return x;
}

}  // namespace

TEST_CASE("Activations are as accurate as they say", "[kernels]") {
  const std::vector<float> x = arguments();
  for (const Activation f : kAll) {
    const std::vector<float> y = activated(f, x);
    Worst worst;
    for (size_t i = 0; i < x.size(); ++i) {
      worst.add(y[i], exact(f, x[i]), tolerance(f, x[i]));
    }
    INFO("activation " << static_cast<int>(f));
    CHECK(worst.share() <= 1);
  }
}

TEST_CASE("Activations of every size are those of each number alone, and may be in place", "[kernels]") {
  Random random(1);
  for (const Activation f : kAll) {
    for (const size_t n : kernelSizes()) {
      const std::vector<float> x = random.floats(n, 4);
      const std::vector<float> y = activated(f, x);
      std::vector<float> alone;
      for (const float v : x) alone.push_back(activated(f, {v})[0]);
      INFO("activation " << static_cast<int>(f) << ", n = " << n);
      CHECK(sameBits(y, alone));
      std::vector<float> in_place = x;
      activate(f, in_place.data(), in_place.data(), n);
      CHECK(sameBits(in_place, y));
    }
  }
}

TEST_CASE("Gated activations are the activation times the other row, wherever they go", "[kernels]") {
  Random random(2);
  for (const Activation f : kAll) {
    for (const size_t n : kernelSizes()) {
      const std::vector<float> gate = random.floats(n, 4);
      const std::vector<float> up = random.floats(n, 4);
      std::vector<float> expected = activated(f, gate);
      for (size_t i = 0; i < n; ++i) expected[i] *= up[i];
      std::vector<float> out(n);
      activateGated(f, out.data(), gate.data(), up.data(), n);
      CHECK(sameBits(out, expected));
      out = gate;
      activateGated(f, out.data(), out.data(), up.data(), n);
      CHECK(sameBits(out, expected));
      out = up;
      activateGated(f, out.data(), gate.data(), out.data(), n);
      CHECK(sameBits(out, expected));
    }
  }
}

TEST_CASE("Activations have their limits at infinity and pass NaN on in its lane", "[kernels]") {
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (const Activation f : kAll) {
    const std::vector<float> y =
        activated(f, {kInfinity, -kInfinity, kNaN, 1, kLargest, -kLargest, 0, -1e30f});
    const bool bounded = f == Activation::kTanh;
    INFO("activation " << static_cast<int>(f));
    CHECK(y[0] == (bounded ? 1 : kInfinity));
    CHECK(y[1] == (bounded ? -1 : 0));
    CHECK(std::isnan(y[2]));
    CHECK(y[3] == activated(f, {1})[0]);
    CHECK(y[4] == (bounded ? 1 : kLargest));
    CHECK(y[5] == (bounded ? -1 : 0));
    CHECK(y[6] == 0);
    CHECK(y[7] == (bounded ? -1 : 0));
  }
}

TEST_CASE("Activations have the symmetries of their formulas", "[kernels]") {
  Random random(3);
  const std::vector<float> x = random.floats(4000, 6);
  std::vector<float> negative = x;
  for (float& v : negative) v = -v;
  std::vector<float> odd = activated(Activation::kTanh, negative);
  for (float& v : odd) v = -v;
  CHECK(sameBits(odd, activated(Activation::kTanh, x)));
  for (const Activation f : {Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    // x s(x) with s(x) + s(-x) = 1, so f(x) - f(-x) = x.
    const std::vector<float> right = activated(f, x);
    const std::vector<float> left = activated(f, negative);
    Worst worst;
    for (size_t i = 0; i < x.size(); ++i) {
      worst.add(static_cast<double>(right[i]) - left[i], x[i], 8 * kUnit * std::fabs(x[i]));
    }
    CHECK(worst.share() <= 1);
  }
}

}  // namespace ropewalk::test
