// Arithmetic in quadruple precision (113 bits) and the functions that the angles need, as a reference that
// shares no code with Real.
#pragma once

#include <cfloat>
#include <cmath>

#include "angles/real.h"

namespace ropewalk::test {

#if LDBL_MANT_DIG == 113
using Quad = long double;  // WebAssembly, 64-bit ARM
#elif defined(__SIZEOF_FLOAT128__)
__extension__ using Quad = __float128;
#else
#error "no 128-bit floating point"
#endif

// Of numbers within the range of double.
inline Quad toQuad(const Real& x) {
  if (x.isZero()) return 0;
  const Quad top = static_cast<Quad>(x.limb[3]) + static_cast<Quad>(x.limb[2]) * 0x1p-64;
  const Quad value = top * 0x1p-63 * std::ldexp(1.0, x.exponent - 1);
  return x.negative ? -value : value;
}

inline Quad magnitude(Quad x) {
  return x < 0 ? -x : x;
}

inline Quad quadPi() {
  // 16 atan(1/5) - 4 atan(1/239), Machin 1706.
  const auto inverseTangent = [](int n) {
    Quad sum = 0;
    Quad power = Quad(1) / n;
    for (int k = 1; k < 60; k += 2) {
      sum += k % 4 == 1 ? power / k : -power / k;
      power /= n * n;
    }
    return sum;
  };
  return 16 * inverseTangent(5) - 4 * inverseTangent(239);
}

// |x| < 700.
inline Quad quadExp(Quad x) {
  // The series at x / 1024, then ten squarings: they multiply its error by 1024.
  const Quad r = x / 1024;
  Quad sum = 1;
  for (int k = 25; k >= 1; --k) sum = 1 + r * sum / k;
  for (int i = 0; i < 10; ++i) sum *= sum;
  return sum;
}

inline Quad quadLog(Quad x) {
  // Newton's steps on exp double the digits of a double: 53, 106, 113.
  Quad y = std::log(static_cast<double>(x));
  for (int i = 0; i < 3; ++i) y += x * quadExp(-y) - 1;
  return y;
}

inline Quad quadPow(Quad x, Quad y) {
  return quadExp(y * quadLog(x));
}

inline Quad quadSqrt(Quad x) {
  Quad y = std::sqrt(static_cast<double>(x));
  for (int i = 0; i < 2; ++i) y = (y + x / y) / 2;
  return y;
}

}  // namespace ropewalk::test
