// Matrix products: out = a w^T with weights packed once, and out = a b with a matrix as it lies.
#pragma once

#include <cstddef>

#include "kernels/packed_matrix.h"

namespace ropewalk {

// What is done to out besides the product, in this order.
struct GemmOptions {
  bool accumulate = false;      // added to what out holds, which is else overwritten
  const float* bias = nullptr;  // [n], added to each row
  // Called for each finished row of n numbers, or for parts of it, while they are in the cache; may change
  // each number in place by its value alone.
  void (*activation)(float* row, size_t n) = nullptr;
};

// A matrix [rows, columns] whose rows are `stride` apart.
struct MatrixView {
  const float* data = nullptr;
  size_t rows = 0;
  size_t columns = 0;
  size_t stride = 0;
};

// out[i, j] = sum_l a[i, l] w[j, l], in blocks of kGemmDepth. Rows of out [m, n] and a [m, k] are their
// strides apart; out does not overlap a or the bias. Weights are read at the size they are stored and widened
// on the way, or multiplied in integers: kernels/code_products.h. Any size, including 0.
void gemm(float* out, size_t out_stride, const float* a, size_t a_stride, const PackedMatrix& w, size_t m,
          const GemmOptions& options = {});

// out[i, j] = sum_l a[i, l] b[l, j], the same bits as with b packed (WeightLayout::kInOut, kFloat32).
void gemm(float* out, size_t out_stride, const float* a, size_t a_stride, const MatrixView& b, size_t m,
          const GemmOptions& options = {});

}  // namespace ropewalk
