// Root mean square norm and layer norm of rows [rows, n] with what their gradients need.
//   y = (x - mean) inverse weight + bias,  inverse = 1 / sqrt(mean of (x - mean)^2 + eps)
// The mean is 0 and there is no bias in a root mean square norm. Zhang and Sennrich, arXiv:1910.07467; Ba et
// al., arXiv:1607.06450.
#pragma once

#include <cstddef>

namespace ropewalk::training {

// Parameters of a norm, or their gradients, [n] each; a null bias makes it a root mean square norm.
template <class T>
struct NormParts {
  T* weight = nullptr;
  T* bias = nullptr;
};

// Per row, written by normForward and read by normBackward: [rows] each.
template <class T>
struct NormMoments {
  T* mean = nullptr;
  T* inverse = nullptr;
};

template <class T>
void normForward(T* out, NormMoments<T> moments, const T* x, NormParts<const T> parts, T eps, size_t rows,
                 size_t n);

// Adds to dx [rows, n] and to the gradients of the parts.
template <class T>
void normBackward(T* dx, NormParts<T> gradients, const T* dout, const T* x, NormMoments<const T> moments,
                  NormParts<const T> parts, size_t rows, size_t n);

}  // namespace ropewalk::training
