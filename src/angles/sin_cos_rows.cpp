#include "angles/sin_cos_rows.h"

#include <algorithm>
#include <cmath>

namespace ropewalk {
namespace {

// Short steps, which are read again and again, stay in the second cache level.
constexpr size_t kMaxSteps = 64;
constexpr size_t kMaxTableBytes = size_t{512} << 10;

// Fewer rows, and steps that reach less far, are not worth a table.
constexpr size_t kMinRows = 5;
constexpr size_t kMinReach = 4;

// Pairs that are made again, exactly, if one of them is in doubt.
constexpr size_t kChunk = 16;

// How far scale * (sum of angles) may be from scale * sinCos, in units of scale. With u = 2^-53, and sinCos
// within 2.5 ulp, here 2.5 u, of the truth; what is scaled rounds by u at most. A sum multiplies errors of
// its terms by |cos| + |sin| <= sqrt 2 and rounds two products, of at most 1 together, and itself: 2 u.
//   the base        the anchor 2.5 u + u for its scale, a long step 2.5 u; 6 u sqrt 2 + 2 u: 10.5 u
//   the row         the base and a short step 2.5 u; 13 u sqrt 2 + 2 u: 20.4 u
//   what is compared with   2.5 u + u for its scale: 3.5 u
// 23.9 u in all, and 32 u leaves room for the products of these errors. Phases are sums without any error.
constexpr double kError = 0x1p-48;

// Scales for which kError * scale and the sums are far from the ends of float32 and of double.
bool isMiddling(double scale) {
  return std::fabs(scale) >= 0x1p-64 && std::fabs(scale) <= 0x1p64;
}

}  // namespace

void SinCosRows::create(const Turns* turns, size_t pairs) {
  turns_ = turns;
  pairs_ = pairs;
}

void SinCosRows::expect(size_t rows) {
  if (rows <= expected_) return;
  expected_ = rows;
  if (rows < kMinRows) return;
  // Made exactly are the short steps, the long ones, and an anchor for each product of both: least where all
  // three are the cube root of rows.
  size_t shorter = 1;
  size_t longer = 1;
  while (shorter < kMaxSteps && shorter * shorter * shorter < rows) shorter *= 2;
  while (longer < kMaxSteps && longer * longer * shorter < rows) longer *= 2;
  const auto reach = [&] { return shorter * longer; };
  // No long step of 0, but the anchor and the base.
  const auto size = [&] { return (shorter + longer + 1) * 2 * pairs_; };
  const auto fits = [&] { return size() * sizeof(double) <= kMaxTableBytes; };
  while (!fits() && reach() > kMinReach) (longer > shorter ? longer : shorter) /= 2;
  if (!fits() || reach() < kMinReach || reach() <= short_steps_ * long_steps_) return;
  if (table_.allocate(size()) != Status::kOk) return;
  short_steps_ = shorter;
  long_steps_ = longer;
  for (size_t j = 0; j < pairs_; ++j) {
    const auto keep = [&](size_t k, size_t steps) {
      const SinCos angle = sinCos(phaseAt(turns_[j], static_cast<int64_t>(steps)));
      rowAt(k)[j] = angle.cos;
      rowAt(k)[pairs_ + j] = angle.sin;
    };
    for (size_t k = 0; k < shorter; ++k) keep(k, k);
    for (size_t k = 1; k < longer; ++k) keep(shorter + k - 1, k * shorter);
  }
  anchored_ = false;
}

// To the last long step from the anchor that is not beyond the position.
void SinCosRows::moveBase(int64_t position) {
  const auto shorter = static_cast<int64_t>(short_steps_);
  const int64_t steps = (position - anchor_) / shorter;
  if (base_ == anchor_ + steps * shorter) return;
  base_ = anchor_ + steps * shorter;
  base_row_ = anchorRow();
  if (steps == 0) return;
  base_row_ += 1;
  addAngles(rowAt(base_row_), rowAt(base_row_) + pairs_, row(anchorRow()),
            row(short_steps_ + static_cast<size_t>(steps) - 1), pairs_);
}

// keep: where the scaled doubles of a whole row go, cosines, then sines; or null.
template <class Out>
void SinCosRows::fillExactly(int64_t position, double scale, const Out& out, size_t first, size_t end,
                             double* keep) {
  for (size_t j = first; j < end; ++j) {
    const SinCos angle = sinCos(phaseAt(turns_[j], position));
    const double s = angle.sin * scale;
    const double c = angle.cos * scale;
    out.storeOne(j, static_cast<float>(s), static_cast<float>(c));
    if (keep != nullptr) {
      keep[j] = c;
      keep[pairs_ + j] = s;
    }
  }
}

template <class Out>
void SinCosRows::fill(int64_t position, double scale, const Out& out) {
  if (short_steps_ == 0 || !isMiddling(scale)) return fillExactly(position, scale, out, 0, pairs_, nullptr);
  const bool follows = anchored_ && scale == scale_ && position >= anchor_ &&
                       position - anchor_ < static_cast<int64_t>(short_steps_ * long_steps_);
  if (!follows) {
    base_row_ = anchorRow();
    fillExactly(position, scale, out, 0, pairs_, rowAt(base_row_));
    anchored_ = true;
    anchor_ = base_ = position;
    scale_ = scale;
    return;
  }
  moveBase(position);
  const double error = kError * std::fabs(scale);
  const AngleRow base = row(base_row_);
  const AngleRow step = row(static_cast<size_t>(position - base_));
  for (size_t first = 0; first < pairs_; first += kChunk) {
    const size_t end = std::min(pairs_, first + kChunk);
    if (!sumAngles(out, base, step, first, end, error))
      fillExactly(position, scale, out, first, end, nullptr);
  }
}

template void SinCosRows::fill(int64_t, double, const SeparateSinCos&);
template void SinCosRows::fill(int64_t, double, const InterleavedSinCos&);

}  // namespace ropewalk
