#include "angles/phase.h"

#include <cmath>

namespace ropewalk {

Turns turnsFromRadians(const Real& radians) {
  const Real turns = radians * inverseTwoPi();
  if (turns.isZero()) return 0;
  // The significand is in units of 2^(exponent - 256); in units of 2^-128 it moves right by 128 - exponent.
  const int shift = 128 - turns.exponent;
  if (shift > 256) return 0;
  const auto limb = [&](int i) { return i < 4 ? Turns{turns.limb[i]} : Turns{0}; };
  const int first = shift / 64;
  const int bits = shift % 64;
  Turns whole = limb(first) | limb(first + 1) << 64;
  if (bits != 0) whole = whole >> bits | limb(first + 2) << (128 - bits);
  const int half = shift - 1;
  if (((turns.limb[half / 64] >> (half % 64)) & 1) != 0) ++whole;
  return turns.negative ? Turns{0} - whole : whole;
}

Turns phaseOfRadians(float radians) {
  // 1 / 2 pi in units of 2^-128 and of 2^-256.
  constexpr Turns kHigh = (Turns{0x28be60db9391054a} << 64) | 0x7f09d5f47d4d3770;
  constexpr Turns kLow = (Turns{0x36d8a5664f10e410} << 64) | 0x7f9458eaf7aef158;
  // radians = significand * 2^exponent, so that 2^exponent / 2 pi, less its whole turns, is a window of 1 / 2
  // pi.
  int exponent = 0;
  const auto significand = static_cast<int32_t>(std::ldexp(std::frexp(radians, &exponent), 24));
  exponent -= 24;
  const auto signed_significand = static_cast<Turns>(static_cast<__int128>(significand));
  if (exponent > 0) return signed_significand * ((kHigh << exponent) | (kLow >> (128 - exponent)));
  // The product of 24 and 126 bits overflows, so its low part is shifted on its own.
  const auto magnitude = static_cast<uint32_t>(significand < 0 ? -significand : significand);
  const Turns low = (kHigh & 0xffffffff) * magnitude;
  const Turns high = (kHigh >> 32) * magnitude + (low >> 32);  // in units of 2^-96
  const Turns product = exponent > -32    ? (high << (32 + exponent)) | ((low & 0xffffffff) >> -exponent)
                        : exponent > -160 ? high >> (-exponent - 32)
                                          : Turns{0};
  return significand < 0 ? Turns{0} - product : product;
}

}  // namespace ropewalk
