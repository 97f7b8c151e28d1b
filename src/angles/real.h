// Real: a floating-point number with 256 bits of significand, for the few values that angles are made of.
// An angle at position 2^53 shows 53 bits of its frequency before the binary point, so a frequency has to be
// known to far more than a double's 53 bits before it is rounded to fixed point (phase.h). Built from integer
// arithmetic and from + - * / on doubles only, so every platform gets the same bits.
// Errors stay below 2^-240 relative. Not a general library: no infinities, no NaN, exponents as in double.
#pragma once

#include <cstdint>

namespace ropewalk {

struct Real {
  // value = (negative ? -1 : 1) * limb / 2^256 * 2^exponent, limb[3] the most significant with its top bit
  // set; zero has all limbs 0.
  uint64_t limb[4] = {0, 0, 0, 0};
  int32_t exponent = 0;
  bool negative = false;

  Real() = default;
  Real(double value);  // exact; value must be finite. Implicit on purpose: formulas read like formulas.

  bool isZero() const { return limb[3] == 0; }
  double toDouble() const;  // nearest, ties to even
  float toFloat() const;    // nearest, ties to even, rounded once
};

Real operator+(const Real& a, const Real& b);
Real operator-(const Real& a, const Real& b);
Real operator*(const Real& a, const Real& b);
Real operator/(const Real& a, const Real& b);  // b not zero
Real operator-(Real a);

bool operator<(const Real& a, const Real& b);
inline bool operator>(const Real& a, const Real& b) {
  return b < a;
}

Real pi();
Real inverseTwoPi();                     // 1 / 2 pi
Real exp(const Real& x);                 // |x| < 2^20
Real log(const Real& x);                 // x > 0
Real sqrt(const Real& x);                // x >= 0
Real pow(const Real& x, const Real& y);  // x > 0
Real floor(const Real& x);               // |x| < 2^52
inline Real ceil(const Real& x) {
  return -floor(-x);
}

}  // namespace ropewalk
