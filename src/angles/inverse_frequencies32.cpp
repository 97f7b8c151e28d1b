// inverseFrequencies32: the same formulas as inverse_frequencies.cpp, in the order and the roundings of
// Hugging Face's modeling_rope_utils.py, where tensors are float32 and plain numbers double.
#include <algorithm>
#include <cmath>

#include "angles/inverse_frequencies.h"

namespace ropewalk {
namespace {

// base ** (2i / dim), one float32 power.
float power(double base, size_t i, size_t dim) {
  const auto base32 = static_cast<float>(base);
  const float exponent = static_cast<float>(2 * i) / static_cast<float>(dim);
  if (i == 0) return 1;
  if (base32 == 0 || std::isinf(base32)) return base32;
  return pow(base32, exponent).toFloat();
}

float plain(const FrequencyOptions& o, double base, size_t i) {
  return 1.0f / power(base, i, o.dim);
}

void unscaled(const FrequencyOptions& o, float* w) {
  for (size_t i = 0; i < o.dim / 2; ++i) w[i] = plain(o, o.base, i);
}

void linear(const FrequencyOptions& o, float* w) {
  for (size_t i = 0; i < o.dim / 2; ++i) w[i] = plain(o, o.base, i) / static_cast<float>(o.factor);
}

void rebased(const FrequencyOptions& o, float* w) {
  const double base = scaledBase(o).toDouble();
  for (size_t i = 0; i < o.dim / 2; ++i) w[i] = plain(o, base, i);
}

void yarn(const FrequencyOptions& o, float* w) {
  const YarnBand band = yarnBand(o);
  const auto low = static_cast<float>(band.low.toDouble());
  const auto width = static_cast<float>((band.high - band.low).toDouble());
  for (size_t i = 0; i < o.dim / 2; ++i) {
    const float scale = power(o.base, i, o.dim);
    const float kept = 1 - std::clamp((static_cast<float>(i) - low) / width, 0.0f, 1.0f);
    w[i] = 1.0f / (static_cast<float>(o.factor) * scale) * (1 - kept) + 1.0f / scale * kept;
  }
}

void longRope(const FrequencyOptions& o, float* w) {
  const double* factors = o.sequence_length > o.original_length ? o.long_factors : o.short_factors;
  for (size_t i = 0; i < o.dim / 2; ++i) {
    w[i] = 1.0f / (static_cast<float>(factors[i]) * power(o.base, i, o.dim));
  }
}

void llama3(const FrequencyOptions& o, float* w) {
  constexpr float kTwoPi = 6.2831853f;
  const auto length = static_cast<float>(o.original_length);
  const auto low_factor = static_cast<float>(o.low_freq_factor);
  const auto band = static_cast<float>(o.high_freq_factor - o.low_freq_factor);
  const auto factor = static_cast<float>(o.factor);
  const auto longest_kept = static_cast<float>(o.original_length / o.high_freq_factor);
  const auto shortest_divided = static_cast<float>(o.original_length / o.low_freq_factor);
  for (size_t i = 0; i < o.dim / 2; ++i) {
    const float own = plain(o, o.base, i);
    const float wavelength = kTwoPi / own;
    const float smooth = (length / wavelength - low_factor) / band;
    const float blended = (1 - smooth) * own / factor + smooth * own;
    w[i] = wavelength > shortest_divided ? own / factor : wavelength < longest_kept ? own : blended;
  }
}

void proportional(const FrequencyOptions& o, float* w) {
  const auto turning = static_cast<size_t>(o.rotary_fraction * static_cast<double>(o.dim) / 2);
  for (size_t i = 0; i < o.dim / 2; ++i) {
    w[i] = i < turning ? plain(o, o.base, i) / static_cast<float>(o.factor) : 0;
  }
}

void custom(const FrequencyOptions& o, float* w) {
  for (size_t i = 0; i < o.dim / 2; ++i) w[i] = static_cast<float>(o.inverse_frequencies[i]);
}

// Indexed by Scaling.
constexpr void (*kScalings[])(const FrequencyOptions&, float*) = {
    unscaled, linear, rebased, rebased, yarn, longRope, llama3, proportional, custom};

}  // namespace

Status inverseFrequencies32(const FrequencyOptions& options, float* out) {
  const auto kind = static_cast<size_t>(options.scaling);
  if (options.dim == 0 || options.dim % 2 != 0) return Status::kInvalidShape;
  if (kind >= sizeof(kScalings) / sizeof(kScalings[0])) return Status::kInvalidArgument;
  kScalings[kind](options, out);
  const bool fits =
      std::all_of(out, out + options.dim / 2, [](float w) { return std::fabs(w) < kMaxFrequency; });
  return fits ? Status::kOk : Status::kInvalidArgument;
}

}  // namespace ropewalk
