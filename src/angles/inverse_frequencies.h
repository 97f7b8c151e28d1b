// Inverse frequencies of rotary and sinusoidal encodings, w_i in radians per position, i = 0 .. dim/2 - 1,
// and the attention factor that multiplies cos and sin, for every way of scaling them to longer contexts. The
// formulas are those of Hugging Face's modeling_rope_utils.py, evaluated in Real and not rounded to float32.
#pragma once

#include <cstddef>

#include "angles/real.h"
#include "status.h"

namespace ropewalk {

// Frequencies are below this many radians per position; a phase has room for no more.
inline constexpr double kMaxFrequency = 0x1p60;

// The numbers cross the wasm boundary: add at the end, never renumber.
enum class Scaling : int {
  kDefault = 0,       // w = base^(-2i/dim)                                     Su et al. 2021
  kLinear = 1,        // w / factor (position interpolation)                    Chen et al. 2023
  kNtk = 2,           // base * factor^(dim/(dim-2))                            NTK-aware, bloc97 2023
  kDynamic = 3,       // as kNtk with a factor that follows the sequence length
  kYarn = 4,          // low frequencies / factor, high ones kept, a ramp between; Peng et al. 2023
  kLongRope = 5,      // w / factor_i, one list up to original_length, another beyond; Ding et al. 2024
  kLlama3 = 6,        // by wavelength: kept, / factor, or a blend between
  kProportional = 7,  // the first fraction of all pairs w / factor, the rest never turn (Gemma)
  kCustom = 8         // the caller's own list
};

// Zero (or null) stands for "not given" where a comment says so.
struct FrequencyOptions {
  size_t dim = 0;       // coordinates that are encoded; even
  double base = 10000;  // > 0, not 1
  Scaling scaling = Scaling::kDefault;
  double factor = 1;            // > 0
  double original_length = 0;   // yarn, longrope, llama3: positions seen in training
  double max_length = 0;        // dynamic: max_position_embeddings
  double sequence_length = 0;   // dynamic, longrope: the length in use; 0 = not longer than the original
  double attention_factor = 0;  // yarn, longrope, custom: overrides the formula; 0 = not given
  double beta_fast = 32;        // yarn: turns within original_length above which a pair is kept
  double beta_slow = 1;         // yarn: turns below which a pair is interpolated fully
  double mscale = 0;            // yarn: 0 = not given
  double mscale_all_dim = 0;    // yarn: 0 = not given
  bool truncate = true;         // yarn: round the band's edges to whole pairs
  double low_freq_factor = 1;   // llama3
  double high_freq_factor = 4;  // llama3
  double rotary_fraction = 1;   // proportional: share of the pairs that turn, in [0, 1]
  const double* short_factors = nullptr;        // longrope: dim / 2 divisors
  const double* long_factors = nullptr;         // longrope: dim / 2 divisors
  const double* inverse_frequencies = nullptr;  // custom: dim / 2 frequencies
};

// YaRN's band of interpolation, in pairs: those below low are kept, those above high are divided by factor.
struct YarnBand {
  Real low;
  Real high;
};
YarnBand yarnBand(const FrequencyOptions& options);

// The base that NTK-aware and dynamic scaling use instead. dim >= 4.
Real scaledBase(const FrequencyOptions& options);

// Writes dim / 2 frequencies to out and the attention factor.
// kInvalidShape: dim odd or 0; kInvalidArgument: an option out of range or missing, or a frequency of
// kMaxFrequency or more.
Status inverseFrequencies(const FrequencyOptions& options, Real* out, double* attention_factor);

// The same frequencies as Hugging Face's float32 arithmetic makes them, each step rounded as it rounds there.
// (Its powers come from a vector library within 1 ulp; these are rounded correctly.) Options must be such
// that inverseFrequencies takes them. kInvalidArgument: a number that float32 does not hold, or a frequency
// of kMaxFrequency or more there.
Status inverseFrequencies32(const FrequencyOptions& options, float* out);

// base^(-2i/divisor) for i = 0 .. count - 1. divisor is dim for the usual table, dim - 2 for tensor2tensor's.
Status geometricFrequencies(double base, double divisor, size_t count, Real* out);

}  // namespace ropewalk
