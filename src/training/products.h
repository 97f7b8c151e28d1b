// Matrix products of training: both operands as they lie or transposed, so that one function serves a
// product, the gradient of its inputs and that of its weights. gemm (kernels/gemm.h) is for weights that are
// packed once and read often; these change with every step, and half of the triangles is zeros.
//   y = x w^T:  product(y, x, w^T)    dx = dy w:  product(dx, dy, w)    dw += dy^T x:  product(dw, dy^T, x)
#pragma once

#include <cstddef>

namespace ropewalk::training {

// Element (i, j) is data[i stride + j], or data[j stride + i] if transposed.
template <class T>
struct Operand {
  const T* data = nullptr;
  size_t stride = 0;
  bool transposed = false;
};

// What of a triangle need not be computed. Its diagonal begins at the number `diagonal` of a row, or of a
// column for kUpper.
enum class Triangle {
  kNone,
  kOut,    // out[i, j] with j > i + diagonal does not matter
  kLower,  // a[i, l] is 0 for l > i + diagonal
  kUpper   // a[i, l] is 0 for l + diagonal < i
};

// out[i, j] (+)= sum_l a[i, l] b[l, j] for out [m, n], whose rows are out_stride apart; added to out if
// `add`. Sums run over l in order in blocks. out is apart from a and b. Any size, including 0.
template <class T>
void product(T* out, size_t out_stride, Operand<T> a, Operand<T> b, size_t m, size_t n, size_t k, bool add,
             Triangle triangle = Triangle::kNone, size_t diagonal = 0);

}  // namespace ropewalk::training
