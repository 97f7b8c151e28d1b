// Rows of sines and cosines at many positions: scale * sinCos(phaseAt(turns[j], position)), rounded to
// float32, and always those bits, but most rows without sinCos. A row that was made exactly, the anchor, and
// exact rows of short and of long steps give those of the positions that follow, as sums of angles in double:
// anchor + long step, the base, made once for all short steps from there; base + short step, the row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "angles/phase.h"
#include "kernels/angle_sum.h"
#include "memory.h"

namespace ropewalk {

class SinCosRows {
 public:
  // turns [pairs] must outlive this.
  void create(const Turns* turns, size_t pairs);

  // Prepares for about that many rows, at positions that mostly follow one another. Without this every row is
  // made exactly, as it is where there are few or their table would be too large. Where memory for a larger
  // table is missing, the one before stays.
  void expect(size_t rows);

  // position in +-(2^53 - 1), scale finite. Out: SeparateSinCos or InterleavedSinCos.
  template <class Out>
  void fill(int64_t position, double scale, const Out& out);

 private:
  double* rowAt(size_t k) { return table_.data() + 2 * k * pairs_; }
  AngleRow row(size_t k) { return {rowAt(k), rowAt(k) + pairs_}; }
  size_t anchorRow() const { return short_steps_ + long_steps_ - 1; }
  void moveBase(int64_t position);
  template <class Out>
  void fillExactly(int64_t position, double scale, const Out& out, size_t first, size_t end, double* keep);

  const Turns* turns_ = nullptr;
  size_t pairs_ = 0;
  size_t expected_ = 0;
  size_t short_steps_ = 0;  // 0: no table
  size_t long_steps_ = 0;
  // [short + long + 1][2][pairs], cos and sin: of 0, 1, 2, .. and of short, 2 short, ..; of anchor and base,
  // scaled
  Buffer<double> table_;
  bool anchored_ = false;
  int64_t anchor_ = 0;   // position of the anchor
  int64_t base_ = 0;     // and of the base
  size_t base_row_ = 0;  // the anchor itself, or the row behind it
  double scale_ = 1;     // of both
};

}  // namespace ropewalk
