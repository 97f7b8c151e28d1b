// Activation functions over n numbers, and their products with a second row, as gated feed-forward layers
// use them. Any size, including 0, at any address. NaN gives NaN; infinities give the limits of f.
#pragma once

#include <cstddef>

namespace ropewalk {

// The numbers cross the wasm boundary: add at the end, never renumber.
enum class Activation : int {
  kGelu = 0,      // x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel, arXiv:1606.08415)
  kGeluTanh = 1,  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): another function, up to 5e-4 away
  kSilu = 2,      // x / (1 + e^-x), swish
  kRelu = 3,      // max(x, 0)
  kTanh = 4
};

// out[i] = f(x[i]); out may be x. Within 5 ulp for kGelu, 4 for kSilu and 2 for kTanh; in kGeluTanh the
// argument u of the exponential rounds, which costs 3 |u| roundings. Where |u| passes 87.33 the result of
// kGeluTanh and kSilu is less than 4e-36 away, and -0 in the end.
void activate(Activation f, float* out, const float* x, size_t n);

// out[i] = f(gate[i]) up[i]; out may be either.
void activateGated(Activation f, float* out, const float* gate, const float* up, size_t n);

}  // namespace ropewalk
