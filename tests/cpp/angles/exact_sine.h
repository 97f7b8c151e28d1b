// sin and cos of an angle of any size to more than 200 bits: the Taylor series in Real after removing whole
// turns.
#pragma once

#include "angles/real.h"

namespace ropewalk::test {

struct ExactSinCos {
  Real sin;
  Real cos;
};

// radians less its whole turns, in [-pi, pi].
inline Real withoutTurns(const Real& radians) {
  Real turns = radians / (2.0 * pi());
  // A double of 2^52 or more is whole: what it holds of the turns can go until floor can take over.
  while (turns > 0x1p52 || turns < -0x1p52) turns = turns - turns.toDouble();
  return (turns - floor(turns + 0.5)) * (2.0 * pi());
}

inline ExactSinCos exactSinCos(const Real& radians) {
  const Real x = withoutTurns(radians);
  // The terms x^k / k! fall below 2^-216 at k = 70 for x = pi.
  ExactSinCos sum;
  Real term(1.0);
  for (int k = 0; k < 70; ++k) {
    Real& part = k % 2 == 0 ? sum.cos : sum.sin;
    part = k % 4 < 2 ? part + term : part - term;
    term = term * x / static_cast<double>(k + 1);
  }
  return sum;
}

}  // namespace ropewalk::test
