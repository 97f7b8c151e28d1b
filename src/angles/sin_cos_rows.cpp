#include "angles/sin_cos_rows.h"

#include <algorithm>
#include <cmath>

namespace ropewalk {
namespace {

// Steps stay in the second cache level.
constexpr size_t kMaxSteps = 64;
constexpr size_t kMaxTableBytes = size_t{256} << 10;

// Fewer rows than these are not worth a table.
constexpr size_t kMinSteps = 4;

// Pairs that are made again, exactly, if one of them is in doubt.
constexpr size_t kChunk = 16;

// How far scale * (sum of angles) may be from scale * sinCos, in units of scale. With u = 2^-53, and sinCos
// within 2.5 ulp, here 2.5 u, of the truth:
//   the anchor      2.5 u + 0.5 u for its scale, a step 2.5 u; either times |cos| + |sin| <= sqrt 2: 7.8 u
//   the sum         two products and their sum, each rounded, |cos cos| + |sin sin| <= 1: 1.5 u
//   what is compared with   2.5 u + 0.5 u for its scale: 3 u
// 12.3 u in all, and 16 u leaves room for the products of these errors. Phases are sums without any error.
constexpr double kError = 0x1p-49;

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
  // steps + rows / steps rows are made exactly: least where steps is the root of rows.
  size_t steps = 1;
  while (steps < kMaxSteps && steps * steps < rows) steps *= 2;
  while (steps > 1 && steps * 2 * pairs_ * sizeof(double) > kMaxTableBytes) steps /= 2;
  if (steps < kMinSteps || steps <= steps_) return;
  if (table_.allocate((steps + 1) * 2 * pairs_) != Status::kOk) return;
  for (size_t k = 0; k < steps; ++k) {
    double* cos = table_.data() + 2 * k * pairs_;
    for (size_t j = 0; j < pairs_; ++j) {
      const SinCos angle = sinCos(phaseAt(turns_[j], static_cast<int64_t>(k)));
      cos[j] = angle.cos;
      cos[pairs_ + j] = angle.sin;
    }
  }
  steps_ = steps;
  anchored_ = false;
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
  if (steps_ == 0 || !isMiddling(scale)) return fillExactly(position, scale, out, 0, pairs_, nullptr);
  const bool follows = anchored_ && scale == scale_ && position >= anchor_ &&
                       position - anchor_ < static_cast<int64_t>(steps_);
  if (!follows) {
    fillExactly(position, scale, out, 0, pairs_, table_.data() + 2 * steps_ * pairs_);
    anchored_ = true;
    anchor_ = position;
    scale_ = scale;
    return;
  }
  const double error = kError * std::fabs(scale);
  const AngleRow step = row(static_cast<size_t>(position - anchor_));
  for (size_t first = 0; first < pairs_; first += kChunk) {
    const size_t end = std::min(pairs_, first + kChunk);
    if (!sumAngles(out, row(steps_), step, first, end, error))
      fillExactly(position, scale, out, first, end, nullptr);
  }
}

template void SinCosRows::fill(int64_t, double, const SeparateSinCos&);
template void SinCosRows::fill(int64_t, double, const InterleavedSinCos&);

}  // namespace ropewalk
