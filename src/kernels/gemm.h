// Matrix product with a weight matrix stored [out, in] and packed once: out = a * w^T + bias.
#pragma once

#include <cstddef>

#include "memory.h"
#include "status.h"

namespace ropewalk {

// w [n, k] rearranged into panels of kPanel rows, [ceil(n / kPanel)][k][kPanel], the last one filled up with
// zeros: the product reads it from front to back.
class PackedMatrix {
 public:
  static constexpr size_t kPanel = 8;

  // w: [n, k] row major.
  Status pack(const float* w, size_t n, size_t k);

  size_t rows() const { return n_; }     // n, outputs
  size_t columns() const { return k_; }  // k, inputs
  const float* panel(size_t p) const { return data_.data() + p * k_ * kPanel; }

 private:
  Buffer<float> data_;
  size_t n_ = 0;
  size_t k_ = 0;
};

// out[i, j] = sum_l a[i, l] w[j, l] + bias[j]. out [m, n] and a [m, k] contiguous and apart; bias [n] or
// null. Each sum runs over l in order, so a row's result does not depend on the other rows. Any size,
// including 0.
void gemm(float* out, const float* a, const PackedMatrix& w, const float* bias, size_t m);

}  // namespace ropewalk
