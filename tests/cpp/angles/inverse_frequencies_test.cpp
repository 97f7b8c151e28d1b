#include "angles/inverse_frequencies.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "angles/quad.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr double kDoubleNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kDoubleInfinity = std::numeric_limits<double>::infinity();

struct Frequencies {
  std::vector<double> w;
  double attention_factor = 0;
};

Frequencies frequenciesOf(const FrequencyOptions& options) {
  std::vector<Real> w(options.dim / 2);
  Frequencies f;
  REQUIRE(inverseFrequencies(options, w.data(), &f.attention_factor) == Status::kOk);
  for (const Real& x : w) f.w.push_back(x.toDouble());
  return f;
}

Status statusOf(const FrequencyOptions& options) {
  std::vector<Real> w(options.dim / 2);
  double attention_factor = 0;
  return inverseFrequencies(options, w.data(), &attention_factor);
}

FrequencyOptions optionsOf(Scaling scaling, size_t dim, double base) {
  FrequencyOptions o;
  o.scaling = scaling;
  o.dim = dim;
  o.base = base;
  return o;
}

Quad plain(Quad base, size_t i, size_t dim) {
  return quadPow(base, -static_cast<Quad>(2 * i) / static_cast<Quad>(dim));
}

Quad clamp(Quad x, Quad low, Quad high) {
  return x < low ? low : x > high ? high : x;
}

Quad wholeBelow(Quad x) {
  return std::floor(static_cast<double>(x));
}  // ours stand clear of integers

// The formulas of modeling_rope_utils.py, one frequency at a time.
Quad expected(const FrequencyOptions& o, size_t i) {
  const Quad dim = static_cast<double>(o.dim);
  const Quad w = plain(o.base, i, o.dim);
  switch (o.scaling) {
    case Scaling::kDefault:
      return w;
    case Scaling::kLinear:
      return w / o.factor;
    case Scaling::kNtk:
      return plain(o.base * quadPow(o.factor, dim / (dim - 2)), i, o.dim);
    case Scaling::kDynamic: {
      const Quad length = std::max(o.sequence_length, o.max_length);
      const Quad stretch = o.factor * length / o.max_length - (static_cast<Quad>(o.factor) - 1);
      return plain(o.base * quadPow(stretch, dim / (dim - 2)), i, o.dim);
    }
    case Scaling::kYarn: {
      const auto pairOf = [&](Quad turns) {
        return dim * quadLog(o.original_length / (turns * 2 * quadPi())) / (2 * quadLog(o.base));
      };
      Quad low = pairOf(o.beta_fast);
      Quad high = pairOf(o.beta_slow);
      if (o.truncate) low = wholeBelow(low);
      if (o.truncate) high = -wholeBelow(-high);
      if (low < 0) low = 0;
      if (high > dim - 1) high = dim - 1;
      if (low == high) high += Quad(1) / 1000;
      const Quad kept = 1 - clamp((static_cast<double>(i) - low) / (high - low), 0, 1);
      return w / o.factor * (1 - kept) + w * kept;
    }
    case Scaling::kLongRope:
      return w / (o.sequence_length > o.original_length ? o.long_factors : o.short_factors)[i];
    case Scaling::kLlama3: {
      const Quad wavelength = 2 * quadPi() / w;
      if (wavelength < o.original_length / static_cast<Quad>(o.high_freq_factor)) return w;
      if (wavelength > o.original_length / static_cast<Quad>(o.low_freq_factor)) return w / o.factor;
      const Quad smooth = (o.original_length / wavelength - o.low_freq_factor) /
                          (static_cast<Quad>(o.high_freq_factor) - o.low_freq_factor);
      return (1 - smooth) * w / o.factor + smooth * w;
    }
    case Scaling::kProportional:
      return static_cast<double>(i) < std::floor(o.rotary_fraction * static_cast<double>(o.dim) / 2)
                 ? w / o.factor
                 : Quad(0);
    case Scaling::kCustom:
      return o.inverse_frequencies[i];
  }
  return 0;
}

// The largest relative error over all pairs; a frequency of 0 has to be 0.
double worstError(const FrequencyOptions& o) {
  const Frequencies f = frequenciesOf(o);
  Worst worst;
  for (size_t i = 0; i < f.w.size(); ++i) {
    const Quad reference = expected(o, i);
    if (reference == 0 && f.w[i] != 0) return kDoubleInfinity;
    if (reference != 0) worst.add(static_cast<double>(f.w[i] / reference - 1), 0, 1);
  }
  return worst.share();
}

constexpr std::pair<size_t, double> kShapes[] = {{4, 1e4},   {6, 10},    {64, 1e4},
                                                 {128, 5e5}, {256, 1e6}, {96, 0.5}};

}  // namespace

// One rounding to double is 2^-53, about 1.2e-16.
TEST_CASE("Plain, linear and NTK frequencies are those of the formula", "[angles]") {
  for (const auto& [dim, base] : kShapes) {
    INFO("dim = " << dim << ", base = " << base);
    CHECK(worstError(optionsOf(Scaling::kDefault, dim, base)) <= 2e-16);
    for (const double factor : {0.5, 1.0, 8.0, 40.0}) {
      FrequencyOptions o = optionsOf(Scaling::kLinear, dim, base);
      o.factor = factor;
      CHECK(worstError(o) <= 2e-16);
      CHECK(frequenciesOf(o).attention_factor == 1);
      o.scaling = Scaling::kNtk;
      CHECK(worstError(o) <= 2e-16);
    }
  }
}

TEST_CASE("Dynamic frequencies follow the sequence length beyond the original only", "[angles]") {
  FrequencyOptions o = optionsOf(Scaling::kDynamic, 64, 1e4);
  o.factor = 4;
  o.max_length = 2048;
  for (const double length : {0.0, 1.0, 2047.0, 2048.0, 2049.0, 16384.0, 1e7}) {
    o.sequence_length = length;
    INFO("length = " << length);
    CHECK(worstError(o) <= 2e-16);
    const bool unchanged = frequenciesOf(o).w == frequenciesOf(optionsOf(Scaling::kDefault, 64, 1e4)).w;
    CHECK(unchanged == (length <= 2048));
  }
  // A factor beside which 1 is nothing.
  o.factor = 1e300;
  o.sequence_length = 2048;
  CHECK(frequenciesOf(o).w == frequenciesOf(optionsOf(Scaling::kDefault, 64, 1e4)).w);
}

TEST_CASE("YaRN's frequencies are those of the formula", "[angles]") {
  for (const auto& [dim, base] : kShapes) {
    if (base <= 1) continue;
    FrequencyOptions o = optionsOf(Scaling::kYarn, dim, base);
    o.factor = 16;
    for (const double length : {2.0, 30.0, 4096.0, 131072.0, 1e12}) {
      o.original_length = length;
      for (const bool truncate : {true, false}) {
        o.truncate = truncate;
        INFO("dim = " << dim << ", base = " << base << ", length = " << length
                      << ", truncate = " << truncate);
        CHECK(worstError(o) <= 2e-16);
      }
    }
    o.beta_slow = o.beta_fast;
    CHECK(worstError(o) <= 2e-16);
  }
}

TEST_CASE("YaRN's attention factor is the given one, the quotient of magnitudes, or 0.1 ln s + 1",
          "[angles]") {
  FrequencyOptions o = optionsOf(Scaling::kYarn, 128, 1e4);
  o.original_length = 4096;
  const auto factorOf = [&](double factor) {
    o.factor = factor;
    return frequenciesOf(o).attention_factor;
  };
  // Published to seven digits.
  CHECK(std::fabs(factorOf(4) - 1.138629) <= 5e-7);
  CHECK(std::fabs(factorOf(16) - 1.277259) <= 5e-7);
  CHECK(std::fabs(factorOf(32) - 1.346574) <= 5e-7);
  CHECK(std::fabs(factorOf(40) - 1.368888) <= 5e-7);
  CHECK(factorOf(1) == 1);
  CHECK(factorOf(0.5) == 1);

  o.mscale = 0.707;
  CHECK(std::fabs(factorOf(40) - 1.368888) <= 5e-7);  // mscale counts only beside mscale_all_dim
  o.mscale_all_dim = 1;
  const double log40 = static_cast<double>(quadLog(40));
  CHECK(std::fabs(factorOf(40) / ((0.0707 * log40 + 1) / (0.1 * log40 + 1)) - 1) <= 1e-15);
  o.mscale = 1;
  CHECK(factorOf(40) == 1);
  CHECK(factorOf(1) == 1);
  o.attention_factor = 1.25;
  CHECK(factorOf(40) == 1.25);
}

TEST_CASE("LongRoPE takes the short list up to the original length and the long one beyond", "[angles]") {
  std::vector<double> short_factors(64);
  std::vector<double> long_factors(64);
  for (size_t i = 0; i < 64; ++i) {
    short_factors[i] = 1 + 0.01 * static_cast<double>(i);
    long_factors[i] = 1 + static_cast<double>(i);
  }
  FrequencyOptions o = optionsOf(Scaling::kLongRope, 128, 1e4);
  o.short_factors = short_factors.data();
  o.long_factors = long_factors.data();
  o.original_length = 4096;
  for (const double length : {0.0, 4095.0, 4096.0, 4097.0, 131072.0}) {
    o.sequence_length = length;
    INFO("length = " << length);
    CHECK(worstError(o) <= 2e-16);
  }
  CHECK(frequenciesOf(o).attention_factor == 1);
  o.factor = 32;
  CHECK(std::fabs(frequenciesOf(o).attention_factor - 1.190238) <= 5e-7);  // Phi-3
  o.attention_factor = 2;
  CHECK(frequenciesOf(o).attention_factor == 2);
}

TEST_CASE("Llama 3's frequencies are kept, divided, or a blend between", "[angles]") {
  for (const auto& [dim, base] : kShapes) {
    FrequencyOptions o = optionsOf(Scaling::kLlama3, dim, base);
    o.factor = 8;
    for (const double length : {16.0, 8192.0, 1e9}) {
      o.original_length = length;
      INFO("dim = " << dim << ", base = " << base << ", length = " << length);
      CHECK(worstError(o) <= 2e-16);
    }
  }
}

TEST_CASE("Proportional frequencies turn a whole number of pairs", "[angles]") {
  for (const double fraction : {0.0, 0.1, 0.25, 0.99, 1.0}) {
    FrequencyOptions o = optionsOf(Scaling::kProportional, 64, 1e4);
    o.rotary_fraction = fraction;
    o.factor = 2;
    INFO("fraction = " << fraction);
    CHECK(worstError(o) <= 2e-16);
  }
}

TEST_CASE("Custom frequencies are taken as they are", "[angles]") {
  const std::vector<double> custom = {1, -0.25, 0, 1e-300, 0x1.fffffffffffffp59};
  FrequencyOptions o = optionsOf(Scaling::kCustom, 10, 1e4);
  o.inverse_frequencies = custom.data();
  CHECK(frequenciesOf(o).w == custom);
  CHECK(frequenciesOf(o).attention_factor == 1);
  o.attention_factor = 1.5;
  CHECK(frequenciesOf(o).attention_factor == 1.5);
}

// huggingface/transformers, tests/utils/test_modeling_rope_utils.py, head_dim 128, base 10000: five digits
// each.
TEST_CASE("Frequencies are those that Hugging Face's tests publish", "[angles]") {
  const auto check = [](const FrequencyOptions& o, std::vector<std::pair<size_t, double>> published) {
    const Frequencies f = frequenciesOf(o);
    for (const auto& [i, w] : published) {
      INFO("scaling " << static_cast<int>(o.scaling) << ", pair " << i);
      CHECK(std::fabs(f.w[i] - w) <= 5.1e-5 * w);
    }
  };
  FrequencyOptions o = optionsOf(Scaling::kDefault, 128, 1e4);
  check(o, {{0, 1}, {1, 0.86596}, {2, 0.74989}, {31, 0.011548}, {62, 0.00013335}, {63, 0.00011548}});

  o.factor = 10;
  o.max_length = 2048;
  o.original_length = 2048;
  o.scaling = Scaling::kDynamic;
  o.sequence_length = 16384;
  check(o, {{0, 1}, {1, 0.80931}, {2, 0.65498}, {31, 0.0014176}, {63, 1.6265e-6}});

  o.scaling = Scaling::kYarn;
  check(o, {{1, 0.86596}, {16, 0.1}, {17, 0.083479}, {40, 0.00043007}, {41, 0.00027384}, {63, 1.1548e-5}});
  CHECK(std::fabs(frequenciesOf(o).attention_factor - 1.2302585092994045) <= 3e-16);

  o.scaling = Scaling::kLlama3;
  check(o,
        {{29, 0.015399}, {30, 0.013335}, {31, 0.01073}, {32, 0.0077785}, {40, 0.00034539}, {41, 0.00027384}});

  o.scaling = Scaling::kProportional;
  o.factor = 1;
  o.rotary_fraction = 0.25;
  check(o, {{0, 1}, {1, 0.86596}, {15, 0.11548}, {16, 0}, {63, 0}});
}

TEST_CASE("A dimension that is odd or 0 is an invalid shape", "[angles]") {
  CHECK(statusOf(optionsOf(Scaling::kDefault, 0, 1e4)) == Status::kInvalidShape);
  CHECK(statusOf(optionsOf(Scaling::kDefault, 7, 1e4)) == Status::kInvalidShape);
}

TEST_CASE("An option outside its range is an invalid argument", "[angles]") {
  using Change = void (*)(FrequencyOptions&);
  const auto ones_but_last = [](double last) {
    std::vector<double> list(32, 1.0);
    list.back() = last;
    return list;
  };
  static const std::vector<double> ones = ones_but_last(1);
  static const std::vector<double> with_zero = ones_but_last(0);
  static const std::vector<double> with_nan = ones_but_last(kDoubleNaN);
  static const std::vector<double> with_large = ones_but_last(-0x1p60);
  const std::pair<Scaling, std::vector<Change>> refused[] = {
      {Scaling::kDefault,
       {[](FrequencyOptions& o) { o.base = 0; }, [](FrequencyOptions& o) { o.base = -1e4; },
        [](FrequencyOptions& o) { o.base = 1; }, [](FrequencyOptions& o) { o.base = kDoubleNaN; },
        [](FrequencyOptions& o) { o.base = kDoubleInfinity; }, [](FrequencyOptions& o) { o.factor = 0; },
        [](FrequencyOptions& o) { o.factor = -2; }, [](FrequencyOptions& o) { o.factor = kDoubleNaN; },
        [](FrequencyOptions& o) { o.factor = kDoubleInfinity; },
        [](FrequencyOptions& o) { o.attention_factor = -1; },
        [](FrequencyOptions& o) { o.attention_factor = kDoubleNaN; },
        [](FrequencyOptions& o) { o.scaling = static_cast<Scaling>(9); },
        [](FrequencyOptions& o) { o.scaling = static_cast<Scaling>(-1); }}},
      {Scaling::kNtk, {[](FrequencyOptions& o) { o.dim = 2; }}},
      {Scaling::kDynamic,
       {[](FrequencyOptions& o) { o.dim = 2; }, [](FrequencyOptions& o) { o.max_length = 0; },
        [](FrequencyOptions& o) { o.max_length = kDoubleNaN; },
        [](FrequencyOptions& o) { o.sequence_length = kDoubleInfinity; }}},
      {Scaling::kYarn,
       {[](FrequencyOptions& o) { o.original_length = 0; },
        [](FrequencyOptions& o) { o.original_length = -1; }, [](FrequencyOptions& o) { o.beta_fast = 0; },
        [](FrequencyOptions& o) { o.beta_slow = kDoubleNaN; }, [](FrequencyOptions& o) { o.base = 0.5; },
        [](FrequencyOptions& o) { o.mscale = kDoubleNaN, o.mscale_all_dim = 1; },
        [](FrequencyOptions& o) { o.mscale = 1, o.mscale_all_dim = kDoubleInfinity; }}},
      {Scaling::kLongRope,
       {[](FrequencyOptions& o) { o.original_length = 0; },
        [](FrequencyOptions& o) { o.short_factors = nullptr; },
        [](FrequencyOptions& o) { o.long_factors = nullptr; },
        [](FrequencyOptions& o) { o.short_factors = with_zero.data(); },
        [](FrequencyOptions& o) { o.short_factors = with_nan.data(); },
        [](FrequencyOptions& o) { o.original_length = 1; }}},  // ln 1 divides
      {Scaling::kLlama3,
       {[](FrequencyOptions& o) { o.original_length = 0; },
        [](FrequencyOptions& o) { o.low_freq_factor = 0; },
        [](FrequencyOptions& o) { o.high_freq_factor = 1; },
        [](FrequencyOptions& o) { o.high_freq_factor = kDoubleInfinity; },
        [](FrequencyOptions& o) { o.high_freq_factor = kDoubleNaN; }}},
      {Scaling::kProportional,
       {[](FrequencyOptions& o) { o.rotary_fraction = -0.1; },
        [](FrequencyOptions& o) { o.rotary_fraction = 1.1; },
        [](FrequencyOptions& o) { o.rotary_fraction = kDoubleNaN; }}},
      {Scaling::kCustom,
       {[](FrequencyOptions& o) { o.inverse_frequencies = nullptr; },
        [](FrequencyOptions& o) { o.inverse_frequencies = with_nan.data(); },
        [](FrequencyOptions& o) { o.inverse_frequencies = with_large.data(); }}},
  };
  for (const auto& [scaling, changes] : refused) {
    for (size_t i = 0; i < changes.size(); ++i) {
      FrequencyOptions o = optionsOf(scaling, 64, 1e4);
      o.factor = 2;
      o.original_length = 2048;
      o.max_length = 2048;
      o.short_factors = o.long_factors = o.inverse_frequencies = ones.data();
      CHECK(statusOf(o) == Status::kOk);
      changes[i](o);
      INFO("scaling " << static_cast<int>(scaling) << ", change " << i);
      CHECK(statusOf(o) == Status::kInvalidArgument);
    }
  }
}

TEST_CASE("Frequencies too large for a phase are an invalid argument", "[angles]") {
  // turnsFromRadians takes less than 2^64 radians; kCustom draws the line at 2^60.
  CHECK(statusOf(optionsOf(Scaling::kDefault, 64, 1e-300)) == Status::kInvalidArgument);
  FrequencyOptions o = optionsOf(Scaling::kLinear, 64, 1e4);
  o.factor = 1e-300;
  CHECK(statusOf(o) == Status::kInvalidArgument);
}

}  // namespace ropewalk::test
