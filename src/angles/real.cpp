#include "angles/real.h"

#include <bit>
#include <cassert>
#include <cmath>

namespace ropewalk {
namespace {

using Limb = uint64_t;
__extension__ using Wide = unsigned __int128;
constexpr int kLimbs = 4;
constexpr int kBits = 64 * kLimbs;

constexpr Limb kPi[kLimbs] = {0x020bbea63b139b22, 0x29024e088a67cc74, 0xc4c6628b80dc1cd1, 0xc90fdaa22168c234};
constexpr Limb kInverseTwoPi[kLimbs] = {0xfe5163abdebbc562, 0xdb6295993c439041, 0xfc2757d1f534ddc0,
                                        0xa2f9836e4e441529};
constexpr Limb kLn2[kLimbs] = {0x8a0d175b8baafa2c, 0x40f343267298b62d, 0xc9e3b39803f2f6af,
                               0xb17217f7d1cf79ab};

Real constant(const Limb (&limb)[kLimbs], int32_t exponent) {
  Real r;
  for (int i = 0; i < kLimbs; ++i) r.limb[i] = limb[i];
  r.exponent = exponent;
  return r;
}

// a >> n for 0 <= n; bits that fall off are dropped.
void shiftRight(Limb (&a)[kLimbs], int n) {
  const int limbs = n / 64;
  const int bits = n % 64;
  for (int i = 0; i < kLimbs; ++i) {
    const Limb low = i + limbs < kLimbs ? a[i + limbs] : 0;
    const Limb high = i + limbs + 1 < kLimbs ? a[i + limbs + 1] : 0;
    a[i] = bits == 0 ? low : (low >> bits) | (high << (64 - bits));
  }
}

void shiftLeft(Limb (&a)[kLimbs], int n) {
  const int limbs = n / 64;
  const int bits = n % 64;
  for (int i = kLimbs - 1; i >= 0; --i) {
    const Limb high = i >= limbs ? a[i - limbs] : 0;
    const Limb low = i >= limbs + 1 ? a[i - limbs - 1] : 0;
    a[i] = bits == 0 ? high : (high << bits) | (low >> (64 - bits));
  }
}

// Brings the top bit of the significand to its place.
void normalize(Real& r) {
  int zeros = 0;
  int top = kLimbs - 1;
  while (top >= 0 && r.limb[top] == 0) {
    zeros += 64;
    --top;
  }
  if (top < 0) {
    r = Real();
    return;
  }
  zeros += std::countl_zero(r.limb[top]);
  shiftLeft(r.limb, zeros);
  r.exponent -= zeros;
}

bool magnitudeLess(const Real& a, const Real& b) {
  if (a.isZero() || b.isZero()) return a.isZero() && !b.isZero();
  if (a.exponent != b.exponent) return a.exponent < b.exponent;
  for (int i = kLimbs - 1; i >= 0; --i) {
    if (a.limb[i] != b.limb[i]) return a.limb[i] < b.limb[i];
  }
  return false;
}

// |a| + |b| with |a| >= |b| > 0, carrying a's sign.
Real addMagnitudes(Real a, Real b) {
  shiftRight(b.limb, a.exponent - b.exponent < kBits ? a.exponent - b.exponent : kBits);
  Limb carry = 0;
  for (int i = 0; i < kLimbs; ++i) {
    const Wide sum = Wide{a.limb[i]} + b.limb[i] + carry;
    a.limb[i] = static_cast<Limb>(sum);
    carry = static_cast<Limb>(sum >> 64);
  }
  if (carry != 0) {
    shiftRight(a.limb, 1);
    a.limb[kLimbs - 1] |= Limb{1} << 63;
    ++a.exponent;
  }
  return a;
}

// |a| - |b| with |a| >= |b| > 0, carrying a's sign.
Real subtractMagnitudes(Real a, Real b) {
  shiftRight(b.limb, a.exponent - b.exponent < kBits ? a.exponent - b.exponent : kBits);
  Limb borrow = 0;
  for (int i = 0; i < kLimbs; ++i) {
    const Wide difference = Wide{a.limb[i]} - b.limb[i] - borrow;
    a.limb[i] = static_cast<Limb>(difference);
    borrow = static_cast<Limb>(difference >> 64) & 1;
  }
  normalize(a);
  return a;
}

// a / n for a small integer: the terms of the series below.
Real divideSmall(Real a, uint32_t n) {
  Limb remainder = 0;
  for (int i = kLimbs - 1; i >= 0; --i) {
    const Limb high = (remainder << 32) | (a.limb[i] >> 32);
    const Limb low = ((high % n) << 32) | (a.limb[i] & 0xffffffff);
    a.limb[i] = ((high / n) << 32) | (low / n);
    remainder = low % n;
  }
  normalize(a);
  return a;
}

Real scaleByPowerOfTwo(Real a, int n) {
  if (!a.isZero()) a.exponent += n;
  return a;
}

// The significand rounded to its top `bits` bits (0 to 63), ties to even, as an integer.
Limb roundedTop(const Real& a, int bits) {
  Limb top = bits == 0 ? 0 : a.limb[kLimbs - 1] >> (64 - bits);
  const Limb rest = a.limb[kLimbs - 1] << bits;
  const bool sticky = (rest << 1) != 0 || a.limb[2] != 0 || a.limb[1] != 0 || a.limb[0] != 0;
  const bool half = (rest >> 63) != 0;
  if (half && (sticky || (top & 1) != 0)) ++top;
  return top;
}

// The nearest number of a format with `bits` of significand and a smallest number 2^least: what is small has
// fewer bits there, and is rounded to those at once.
template <class T>
T nearest(const Real& a, int bits, int least) {
  const int kept = a.exponent - least < bits ? a.exponent - least : bits;
  if (a.isZero() || kept < 0) return 0;
  const T magnitude = std::ldexp(static_cast<T>(roundedTop(a, kept)), a.exponent - kept);
  return a.negative ? -magnitude : magnitude;
}

}  // namespace

Real::Real(double value) {
  assert(std::isfinite(value));
  if (value == 0) return;
  int e = 0;
  const double fraction = std::frexp(value, &e);  // exact
  negative = value < 0;
  limb[3] = static_cast<Limb>(std::fabs(fraction) * 0x1p53) << 11;
  exponent = e;
}

double Real::toDouble() const {
  return nearest<double>(*this, 53, -1074);
}

float Real::toFloat() const {
  return nearest<float>(*this, 24, -149);
}

Real operator-(Real a) {
  a.negative = !a.negative && !a.isZero();
  return a;
}

Real operator+(const Real& a, const Real& b) {
  if (a.isZero()) return b;
  if (b.isZero()) return a;
  const bool a_smaller = magnitudeLess(a, b);
  const Real& large = a_smaller ? b : a;
  const Real& small = a_smaller ? a : b;
  return a.negative == b.negative ? addMagnitudes(large, small) : subtractMagnitudes(large, small);
}

Real operator-(const Real& a, const Real& b) {
  return a + -b;
}

Real operator*(const Real& a, const Real& b) {
  if (a.isZero() || b.isZero()) return Real();
  Limb product[2 * kLimbs] = {};
  for (int i = 0; i < kLimbs; ++i) {
    Limb carry = 0;
    for (int j = 0; j < kLimbs; ++j) {
      const Wide t = Wide{a.limb[i]} * b.limb[j] + product[i + j] + carry;
      product[i + j] = static_cast<Limb>(t);
      carry = static_cast<Limb>(t >> 64);
    }
    product[i + kLimbs] = carry;
  }
  Real r;
  for (int i = 0; i < kLimbs; ++i) r.limb[i] = product[kLimbs + i];
  r.exponent = a.exponent + b.exponent;
  r.negative = a.negative != b.negative;
  if ((r.limb[kLimbs - 1] >> 63) == 0) {  // the product of two significands in [1/2, 1) is in [1/4, 1)
    shiftLeft(r.limb, 1);
    r.limb[0] |= product[kLimbs - 1] >> 63;
    --r.exponent;
  }
  return r;
}

Real operator/(const Real& a, const Real& b) {
  assert(!b.isZero());
  // Newton's reciprocal of b's significand: 53, 106, 212, 256 bits.
  Real significand = b;
  significand.exponent = 0;
  significand.negative = false;
  Real reciprocal(1.0 / significand.toDouble());
  for (int i = 0; i < 3; ++i) reciprocal = reciprocal + reciprocal * (1.0 - significand * reciprocal);
  Real r = a * scaleByPowerOfTwo(reciprocal, -b.exponent);
  if (!r.isZero()) r.negative = a.negative != b.negative;
  return r;
}

bool operator<(const Real& a, const Real& b) {
  if (a.negative != b.negative) return a.negative;
  return a.negative ? magnitudeLess(b, a) : magnitudeLess(a, b);
}

Real pi() {
  return constant(kPi, 2);
}

Real inverseTwoPi() {
  return constant(kInverseTwoPi, -2);
}

Real exp(const Real& x) {
  // x = n ln2 + 256 r, |r| < 0.0014: 24 terms of the series in r, then eight squarings.
  const Real ln2 = constant(kLn2, 0);
  const double n = std::floor(x.toDouble() / ln2.toDouble() + 0.5);
  const Real r = scaleByPowerOfTwo(x - n * ln2, -8);
  Real sum(1.0);
  for (uint32_t k = 24; k >= 1; --k) sum = 1.0 + divideSmall(r * sum, k);
  for (int i = 0; i < 8; ++i) sum = sum * sum;
  return scaleByPowerOfTwo(sum, static_cast<int>(n));
}

Real log(const Real& x) {
  assert(!x.isZero() && !x.negative);
  // x = 2^n m with m in [1/sqrt2, sqrt2); ln m = 2 atanh z, z = (m - 1) / (m + 1), |z| < 0.172.
  Real m = x;
  m.exponent = 0;
  int n = x.exponent;
  if (m.toDouble() < 0.70710678) {
    m.exponent = 1;
    --n;
  }
  const Real z = (m - 1.0) / (m + 1.0);
  const Real z_squared = z * z;
  Real sum;
  Real power = z;
  for (uint32_t k = 1; !power.isZero() && power.exponent > z.exponent - kBits - 8; k += 2) {
    sum = sum + divideSmall(power, k);
    power = power * z_squared;
  }
  return scaleByPowerOfTwo(sum, 1) + static_cast<double>(n) * constant(kLn2, 0);
}

Real sqrt(const Real& x) {
  return x.isZero() ? x : pow(x, 0.5);
}

Real pow(const Real& x, const Real& y) {
  return exp(y * log(x));
}

Real floor(const Real& x) {
  const double down = std::floor(x.toDouble());  // off by one where the conversion rounded up to an integer
  return x < Real(down) ? Real(down - 1) : Real(down);
}

}  // namespace ropewalk
