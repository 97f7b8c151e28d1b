// Compares inverseFrequencies32 bit for bit with the expressions of Hugging Face's modeling_rope_utils.py,
// one float32 operation after the other, as PyTorch evaluates them on a CPU.
#include <cmath>
#include <initializer_list>
#include <vector>

#include "angles/inverse_frequencies.h"
#include "angles/quad.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

FrequencyOptions optionsOf(Scaling scaling, size_t dim, double base) {
  FrequencyOptions o;
  o.scaling = scaling;
  o.dim = dim;
  o.base = base;
  return o;
}

std::vector<float> frequenciesOf(const FrequencyOptions& options) {
  std::vector<float> w(options.dim / 2);
  REQUIRE(inverseFrequencies32(options, w.data()) == Status::kOk);
  return w;
}

// base ** (torch.arange(0, dim, 2).float() / dim), the power rounded once.
std::vector<float> powers(double base, size_t dim) {
  std::vector<float> p;
  for (size_t i = 0; i < dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(dim);
    p.push_back(static_cast<float>(quadPow(static_cast<float>(base), exponent)));
  }
  return p;
}

// 1.0 / powers
std::vector<float> plain(double base, size_t dim) {
  std::vector<float> w = powers(base, dim);
  for (float& x : w) x = 1.0f / x;
  return w;
}

}  // namespace

TEST_CASE("float32 frequencies have the bits of Hugging Face's", "[angles]") {
  for (const size_t dim : std::initializer_list<size_t>{2, 6, 64, 128, 256}) {
    for (const double base : {1e4, 5e5, 1e6, 150000.0}) {
      INFO("dim = " << dim << ", base = " << base);
      const std::vector<float> w = plain(base, dim);
      CHECK(sameBits(frequenciesOf(optionsOf(Scaling::kDefault, dim, base)), w));

      FrequencyOptions linear = optionsOf(Scaling::kLinear, dim, base);
      linear.factor = 2.7;
      std::vector<float> divided = w;
      for (float& x : divided) x /= 2.7f;
      CHECK(sameBits(frequenciesOf(linear), divided));

      FrequencyOptions proportional = optionsOf(Scaling::kProportional, dim, base);
      proportional.rotary_fraction = 0.25;
      std::vector<float> quarter = w;
      std::fill(quarter.begin() + static_cast<ptrdiff_t>(dim / 8), quarter.end(), 0.0f);
      CHECK(sameBits(frequenciesOf(proportional), quarter));
    }
  }
}

TEST_CASE("float32 frequencies of another base are those of that base in double", "[angles]") {
  FrequencyOptions o = optionsOf(Scaling::kNtk, 64, 1e4);
  o.factor = 4;
  const double longer = 1e4 * std::pow(4.0, 64.0 / 62);
  CHECK(sameBits(frequenciesOf(o), plain(longer, 64)));
  o.scaling = Scaling::kDynamic;
  o.max_length = 2048;
  o.sequence_length = 4096;
  CHECK(sameBits(frequenciesOf(o), plain(1e4 * std::pow(4.0 * 2 - 3, 64.0 / 62), 64)));
  o.sequence_length = 100;
  CHECK(sameBits(frequenciesOf(o), plain(1e4, 64)));
}

TEST_CASE("float32 frequencies of YaRN have the bits of Hugging Face's", "[angles]") {
  FrequencyOptions o = optionsOf(Scaling::kYarn, 128, 1e4);
  o.original_length = 2048;
  o.factor = 10;  // low = 16, high = 41
  const std::vector<float> p = powers(1e4, 128);
  std::vector<float> expected(64);
  for (size_t i = 0; i < 64; ++i) {
    const float ramp = std::fmin(std::fmax((static_cast<float>(i) - 16) / 25.0f, 0.0f), 1.0f);
    const float extrapolated = 1 - ramp;
    const float interpolation = 1.0f / (10.0f * p[i]);
    const float extrapolation = 1.0f / p[i];
    expected[i] = interpolation * (1 - extrapolated) + extrapolation * extrapolated;
  }
  CHECK(sameBits(frequenciesOf(o), expected));
}

TEST_CASE("float32 frequencies of LongRoPE have the bits of Hugging Face's", "[angles]") {
  std::vector<double> short_factors(32);
  std::vector<double> long_factors(32);
  for (size_t i = 0; i < 32; ++i) {
    short_factors[i] = 1 + 0.013 * static_cast<double>(i);
    long_factors[i] = 1.07 + 1.9 * static_cast<double>(i);
  }
  FrequencyOptions o = optionsOf(Scaling::kLongRope, 64, 1e4);
  o.original_length = 4096;
  o.short_factors = short_factors.data();
  o.long_factors = long_factors.data();
  for (const double length : {4096.0, 4097.0}) {
    o.sequence_length = length;
    std::vector<float> expected = powers(1e4, 64);
    for (size_t i = 0; i < 32; ++i) {
      expected[i] =
          1.0f / (static_cast<float>((length > 4096 ? long_factors : short_factors)[i]) * expected[i]);
    }
    CHECK(sameBits(frequenciesOf(o), expected));
  }
}

TEST_CASE("float32 frequencies of Llama 3 have the bits of Hugging Face's", "[angles]") {
  FrequencyOptions o = optionsOf(Scaling::kLlama3, 128, 5e5);
  o.factor = 8;
  o.original_length = 8192;
  std::vector<float> expected = plain(5e5, 128);
  for (float& w : expected) {
    const float wavelength = static_cast<float>(2 * 3.141592653589793) / w;
    float divided = wavelength > 8192.0f ? w / 8.0f : w;
    const float smooth = (8192.0f / wavelength - 1.0f) / 3.0f;
    const float smoothed = (1 - smooth) * divided / 8.0f + smooth * divided;
    const bool medium = !(wavelength < 2048.0f) && !(wavelength > 8192.0f);
    w = medium ? smoothed : divided;
  }
  CHECK(sameBits(frequenciesOf(o), expected));
}

TEST_CASE("float32 frequencies of a caller's list are its numbers rounded", "[angles]") {
  const std::vector<double> list = {1, 0.1, -1.0 / 3};
  FrequencyOptions o = optionsOf(Scaling::kCustom, 6, 1e4);
  o.inverse_frequencies = list.data();
  CHECK(frequenciesOf(o) == std::vector<float>{1, 0.1f, -1.0f / 3});
}

TEST_CASE("float32 frequencies refuse a dimension or kind that has none", "[angles]") {
  float w[4];
  CHECK(inverseFrequencies32(optionsOf(Scaling::kDefault, 0, 1e4), w) == Status::kInvalidShape);
  CHECK(inverseFrequencies32(optionsOf(Scaling::kDefault, 5, 1e4), w) == Status::kInvalidShape);
  CHECK(inverseFrequencies32(optionsOf(static_cast<Scaling>(9), 4, 1e4), w) == Status::kInvalidArgument);
  // float32 holds neither the base nor the factor.
  CHECK(inverseFrequencies32(optionsOf(Scaling::kDefault, 4, 1e-300), w) == Status::kInvalidArgument);
  FrequencyOptions tiny = optionsOf(Scaling::kLinear, 4, 1e4);
  tiny.factor = 1e-60;
  CHECK(inverseFrequencies32(tiny, w) == Status::kInvalidArgument);
}

TEST_CASE("float32 frequencies of a base beyond float32 are what float32 makes of it", "[angles]") {
  // inf ** 0 is 1 and inf ** x infinite; inverseFrequencies takes such a base.
  CHECK(frequenciesOf(optionsOf(Scaling::kDefault, 6, 1e300)) == std::vector<float>{1, 0, 0});
}

// Hidden from plain runs: while it is not so, the call does not come back.
TEST_CASE("float32 frequencies of a base that float32 rounds to 0 end", "[angles]") {
  CHECK(frequenciesOf(optionsOf(Scaling::kDefault, 2, 1e-46)) == std::vector<float>{1});
}

}  // namespace ropewalk::test
