// Phases as exact fixed-point fractions of a turn, and their sine and cosine.
// A frequency w (radians per position) is kept as F = round(2^128 * w / 2 pi) mod 2^128; the phase at
// position p is p * F mod 2^128, an exact integer product. Its top bits give quadrant and reduced angle, so
// no argument reduction is needed at any position: |error| of the float32 results stays below 0.501 ulp up to
// +-(2^53 - 1). Same bits on every platform (integers and single-rounding double operations only).
#pragma once

#include <cstdint>

#include "angles/real.h"

namespace ropewalk {

__extension__ using Turns = unsigned __int128;  // a fraction of a turn, in units of 2^-128

inline constexpr int64_t kMaxPosition = (int64_t{1} << 53) - 1;

[[nodiscard]] constexpr bool isPosition(int64_t p) {
  return p >= -kMaxPosition && p <= kMaxPosition;
}

struct SinCos {
  double sin;
  double cos;
};

// radians / 2 pi mod 1, rounded to nearest. |radians| < 2^64.
Turns turnsFromRadians(const Real& radians);

// The phase of an angle that is a float32 already (finite).
Turns phaseOfRadians(float radians);

// The phase at an integer position (negative positions turn backwards).
inline Turns phaseAt(Turns frequency, int64_t position) {
  return frequency * static_cast<Turns>(static_cast<__int128>(position));
}

// sin and cos of a phase, in double: error below 2.5 ulp of double.
inline SinCos sinCos(Turns phase) {
  // The nearest quarter turn, and the signed rest in [-1/8, 1/8) turns.
  const auto quadrant = static_cast<unsigned>((phase + (Turns{1} << 125)) >> 126);
  const Turns rest = phase - (Turns{quadrant} << 126);
  // Sign and magnitude, and each half of it on its own, so that a tiny rest keeps all its bits.
  const bool negative = rest >> 127 != 0;
  const Turns magnitude = negative ? Turns{0} - rest : rest;
  const auto high = static_cast<double>(static_cast<uint64_t>(magnitude >> 64));
  const auto low = static_cast<double>(static_cast<uint64_t>(magnitude));
  constexpr double kTwoPi = 6.283185307179586;
  const double size = (high * 0x1p-64 + low * 0x1p-128) * kTwoPi;
  const double x = negative ? -size : size;
  const double z = x * x;

  // Taylor polynomials of degree 15 and 16: their remainder at pi/4 is below 2^-53.
  const double s =
      x + x * z *
              (-1.0 / 6 +
               z * (1.0 / 120 +
                    z * (-1.0 / 5040 +
                         z * (1.0 / 362880 +
                              z * (-1.0 / 39916800 + z * (1.0 / 6227020800 + z * (-1.0 / 1307674368000)))))));
  const double c =
      1.0 - 0.5 * z +
      z * z *
          (1.0 / 24 +
           z * (-1.0 / 720 +
                z * (1.0 / 40320 +
                     z * (-1.0 / 3628800 +
                          z * (1.0 / 479001600 + z * (-1.0 / 87178291200 + z * (1.0 / 20922789888000)))))));
  switch (quadrant) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

}  // namespace ropewalk
