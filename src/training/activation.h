// Activation functions with their derivatives, which share most of the work: f(x) for the forward pass and
// f'(x), which is all that the backward pass needs.
#pragma once

#include <cstddef>

#include "kernels/activation.h"

namespace ropewalk::training {

// Whether activateWithSlope has this function: kGelu and kSilu.
inline bool hasSlope(Activation f) {
  return f == Activation::kGelu || f == Activation::kSilu;
}

// out[i] = f(x[i]), slope[i] = f'(x[i]). out and slope are apart; either may be x.
template <class T>
void activateWithSlope(Activation f, T* out, T* slope, const T* x, size_t n);

}  // namespace ropewalk::training
