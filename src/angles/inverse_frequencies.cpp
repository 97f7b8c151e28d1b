#include "angles/inverse_frequencies.h"

#include <cmath>

namespace ropewalk {
namespace {

bool isPositive(double x) {
  return std::isfinite(x) && x > 0;
}

void geometric(const Real& base, double divisor, size_t count, Real* out) {
  const Real ratio = exp(-2.0 * log(base) / divisor);
  Real w(1.0);
  for (size_t i = 0; i < count; ++i) {
    out[i] = w;
    w = w * ratio;
  }
}

Real fastest(const Real* w, size_t count) {
  Real largest;
  for (size_t i = 0; i < count; ++i) {
    const Real size = w[i] < 0.0 ? -w[i] : w[i];
    if (largest < size) largest = size;
  }
  return largest;
}

Real clampToUnit(const Real& x) {
  if (x < 0.0) return 0.0;
  return x > 1.0 ? Real(1.0) : x;
}

// YaRN's g(s, m) = 0.1 m ln s + 1, and 1 where nothing is extended.
Real yarnMagnitude(double factor, double mscale) {
  if (factor <= 1) return 1.0;
  return Real(mscale) * log(factor) / 10.0 + 1.0;
}

// How much longer than max_length dynamic scaling makes the context; 1 up to max_length.
Real dynamicStretch(const FrequencyOptions& o) {
  const double length = o.sequence_length > o.max_length ? o.sequence_length : o.max_length;
  return Real(o.factor) * (Real(length) - o.max_length) / o.max_length +
         1.0;  // factor length / max - (factor - 1)
}

Status linear(const FrequencyOptions& o, Real* w, double*) {
  for (size_t i = 0; i < o.dim / 2; ++i) w[i] = w[i] / o.factor;
  return Status::kOk;
}

// Both kinds change the base and nothing else; factor^(dim/(dim-2)) has no value for a single pair.
Status rebased(const FrequencyOptions& o, Real* w, double*) {
  if (o.dim < 4) return Status::kInvalidArgument;
  if (o.scaling == Scaling::kDynamic && (!isPositive(o.max_length) || !std::isfinite(o.sequence_length))) {
    return Status::kInvalidArgument;
  }
  geometric(scaledBase(o), static_cast<double>(o.dim), o.dim / 2, w);
  return Status::kOk;
}

Status yarn(const FrequencyOptions& o, Real* w, double* attention_factor) {
  if (!isPositive(o.original_length) || !isPositive(o.beta_fast) || !isPositive(o.beta_slow) || o.base <= 1 ||
      !(o.mscale >= 0) || !(o.mscale_all_dim >= 0) || std::isinf(o.mscale + o.mscale_all_dim)) {
    return Status::kInvalidArgument;
  }
  const YarnBand band = yarnBand(o);
  for (size_t i = 0; i < o.dim / 2; ++i) {
    const Real ramp = clampToUnit((static_cast<double>(i) - band.low) / (band.high - band.low));
    w[i] = w[i] / o.factor * ramp + w[i] * (1.0 - ramp);
  }
  const bool both = o.mscale != 0 && o.mscale_all_dim != 0;
  const Real magnitude = both ? yarnMagnitude(o.factor, o.mscale) / yarnMagnitude(o.factor, o.mscale_all_dim)
                              : yarnMagnitude(o.factor, 1);
  *attention_factor = o.attention_factor != 0 ? o.attention_factor : magnitude.toDouble();
  return Status::kOk;
}

Status longRope(const FrequencyOptions& o, Real* w, double* attention_factor) {
  if (!isPositive(o.original_length) || o.short_factors == nullptr || o.long_factors == nullptr) {
    return Status::kInvalidArgument;
  }
  // At exactly the original length the short list still holds.
  const double* factors = o.sequence_length > o.original_length ? o.long_factors : o.short_factors;
  for (size_t i = 0; i < o.dim / 2; ++i) {
    if (!isPositive(factors[i])) return Status::kInvalidArgument;
    w[i] = w[i] / factors[i];
  }
  if (o.attention_factor != 0) {
    *attention_factor = o.attention_factor;
  } else if (o.factor > 1) {
    if (o.original_length <= 1) return Status::kInvalidArgument;  // its logarithm divides
    *attention_factor = sqrt(1.0 + log(o.factor) / log(o.original_length)).toDouble();
  }
  return Status::kOk;
}

Status llama3(const FrequencyOptions& o, Real* w, double*) {
  if (!isPositive(o.original_length) || !isPositive(o.low_freq_factor) ||
      !(o.high_freq_factor > o.low_freq_factor) || !std::isfinite(o.high_freq_factor)) {
    return Status::kInvalidArgument;
  }
  for (size_t i = 0; i < o.dim / 2; ++i) {
    const Real turns = o.original_length * w[i] / (2.0 * pi());  // within the original length
    const Real kept =
        clampToUnit((turns - o.low_freq_factor) / (Real(o.high_freq_factor) - o.low_freq_factor));
    w[i] = (1.0 - kept) * w[i] / o.factor + kept * w[i];
  }
  return Status::kOk;
}

Status proportional(const FrequencyOptions& o, Real* w, double*) {
  if (!(o.rotary_fraction >= 0 && o.rotary_fraction <= 1)) return Status::kInvalidArgument;
  const auto turning = static_cast<size_t>(o.rotary_fraction * static_cast<double>(o.dim) / 2);
  for (size_t i = 0; i < o.dim / 2; ++i) w[i] = i < turning ? w[i] / o.factor : Real();
  return Status::kOk;
}

Status custom(const FrequencyOptions& o, Real* w, double* attention_factor) {
  if (o.inverse_frequencies == nullptr) return Status::kInvalidArgument;
  for (size_t i = 0; i < o.dim / 2; ++i) {
    if (!std::isfinite(o.inverse_frequencies[i])) return Status::kInvalidArgument;
    w[i] = o.inverse_frequencies[i];
  }
  if (o.attention_factor != 0) *attention_factor = o.attention_factor;
  return Status::kOk;
}

Status unscaled(const FrequencyOptions&, Real*, double*) {
  return Status::kOk;
}

// Indexed by Scaling. Each turns the plain frequencies in w into its own.
constexpr Status (*kScalings[])(const FrequencyOptions&, Real* w, double* attention_factor) = {
    unscaled, linear, rebased, rebased, yarn, longRope, llama3, proportional, custom};

}  // namespace

YarnBand yarnBand(const FrequencyOptions& o) {
  const auto dim = static_cast<double>(o.dim);
  // The (fractional) pair that makes `turns` turns within the original length.
  const auto pair_of = [&](double turns) {
    return dim * log(o.original_length / (2.0 * pi() * turns)) / (2.0 * log(o.base));
  };
  YarnBand band = {pair_of(o.beta_fast), pair_of(o.beta_slow)};
  if (o.truncate) band = {floor(band.low), ceil(band.high)};
  if (band.low < 0.0) band.low = 0.0;
  if (band.high > dim - 1) band.high = dim - 1;
  if (!(band.low < band.high) && !(band.high < band.low)) band.high = band.high + 0.001;
  return band;
}

Real scaledBase(const FrequencyOptions& o) {
  const Real stretch = o.scaling == Scaling::kDynamic ? dynamicStretch(o) : Real(o.factor);
  const auto dim = static_cast<double>(o.dim);
  return o.base * pow(stretch, Real(dim) / (dim - 2));
}

Status geometricFrequencies(double base, double divisor, size_t count, Real* out) {
  if (!isPositive(base)) return Status::kInvalidArgument;
  geometric(base, divisor, count, out);
  return fastest(out, count) < kMaxFrequency ? Status::kOk : Status::kInvalidArgument;
}

Status inverseFrequencies(const FrequencyOptions& o, Real* out, double* attention_factor) {
  if (o.dim == 0 || o.dim % 2 != 0) return Status::kInvalidShape;
  if (!isPositive(o.base) || o.base == 1 || !isPositive(o.factor)) return Status::kInvalidArgument;
  if (o.attention_factor != 0 && !isPositive(o.attention_factor)) return Status::kInvalidArgument;
  const auto kind = static_cast<size_t>(o.scaling);
  if (kind >= sizeof(kScalings) / sizeof(kScalings[0])) return Status::kInvalidArgument;
  geometric(o.base, static_cast<double>(o.dim), o.dim / 2, out);
  *attention_factor = 1;
  const Status status = kScalings[kind](o, out, attention_factor);
  if (status != Status::kOk) return status;
  return fastest(out, o.dim / 2) < kMaxFrequency ? Status::kOk : Status::kInvalidArgument;
}

}  // namespace ropewalk
