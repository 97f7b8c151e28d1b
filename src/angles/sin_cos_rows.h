// Rows of sines and cosines at many positions: scale * sinCos(phaseAt(turns[j], position)), rounded to
// float32, and always those bits, but most rows without sinCos. A row that was made exactly, at position p,
// and the exact rows of 1, 2, .. steps - 1 give those at p + 1, p + 2, .. as sums of angles in double.
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

  // Prepares for about that many rows, at positions that mostly follow one another. Without this, or without
  // memory for it, every row is made exactly.
  void expect(size_t rows);

  // position in +-(2^53 - 1), scale finite. Out: SeparateSinCos or InterleavedSinCos.
  template <class Out>
  void fill(int64_t position, double scale, const Out& out);

 private:
  AngleRow row(size_t k) const {
    return {table_.data() + 2 * k * pairs_, table_.data() + (2 * k + 1) * pairs_};
  }
  template <class Out>
  void fillExactly(int64_t position, double scale, const Out& out, size_t first, size_t end, double* keep);

  const Turns* turns_ = nullptr;
  size_t pairs_ = 0;
  size_t expected_ = 0;
  size_t steps_ = 0;      // rows of table_ but one
  Buffer<double> table_;  // [steps + 1][2][pairs]: cos and sin at 0 .. steps - 1, then the anchor, scaled
  bool anchored_ = false;
  int64_t anchor_ = 0;  // position of the last row of table_
  double scale_ = 1;    // and its scale
};

}  // namespace ropewalk
