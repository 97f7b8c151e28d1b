#include "training/forget_gate.h"

#include <cmath>

namespace ropewalk::training {

template <class T>
void forgetSums(double* sums, const T* gates, size_t stride, size_t tokens) {
  double sum = 0;
  for (size_t t = 0; t < tokens; ++t) {
    const double g = gates[t * stride];
    sum += (g < 0 ? g : 0) - std::log1p(std::exp(-std::fabs(g)));
    sums[t] = sum;
  }
}

template <class T>
void forgetSumsBackward(T* dgates, const T* dsums, const T* gates, size_t stride, size_t tokens) {
  T after = 0;
  for (size_t t = tokens; t-- > 0;) {
    after += dsums[t];
    dgates[t * stride] = after / (1 + std::exp(gates[t * stride]));
  }
}

template void forgetSums(double*, const float*, size_t, size_t);
template void forgetSums(double*, const double*, size_t, size_t);
template void forgetSumsBackward(float*, const float*, const float*, size_t, size_t);
template void forgetSumsBackward(double*, const double*, const double*, size_t, size_t);

}  // namespace ropewalk::training
