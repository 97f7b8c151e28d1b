#include "training/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "training/lanes.h"
#include "training/softmax.h"

namespace ropewalk::training {

template <class T>
double crossEntropy(T* logits, const int32_t* targets, const T* weights, size_t rows, size_t classes,
                    const RowResults<T>& results) {
  double total = weights == nullptr ? static_cast<double>(rows) : 0;
  for (size_t r = 0; weights != nullptr && r < rows; ++r) total += static_cast<double>(weights[r]);
  double loss = 0;
  for (size_t r = 0; r < rows; ++r, logits += classes) {
    const double weight = weights == nullptr ? 1 : static_cast<double>(weights[r]);
    const auto best = static_cast<size_t>(std::max_element(logits, logits + classes) - logits);
    if (results.predictions != nullptr) {
      const bool none = std::any_of(logits, logits + classes, [](T x) { return std::isnan(x); });
      results.predictions[r] = none ? -1 : static_cast<int32_t>(best);
    }
    if (results.losses != nullptr) results.losses[r] = 0;
    if (weight == 0) {
      std::fill_n(logits, classes, T{0});
      continue;
    }
    // ln sum e^(x - max) = -ln p[best], so that a tiny probability of the target costs nothing.
    const auto target = static_cast<size_t>(targets[r]);
    const double behind = static_cast<double>(logits[best]) - static_cast<double>(logits[target]);
    softmaxRow(logits, classes);
    const double row_loss = behind - std::log(static_cast<double>(logits[best]));
    if (results.losses != nullptr) results.losses[r] = static_cast<T>(row_loss);
    loss += weight * row_loss;
    logits[target] -= 1;
    const auto scale = static_cast<T>(weight / total);
    for (size_t c = 0; c < classes; ++c) logits[c] *= scale;
  }
  return loss / total;
}

template double crossEntropy(float*, const int32_t*, const float*, size_t, size_t, const RowResults<float>&);
template double crossEntropy(double*, const int32_t*, const double*, size_t, size_t,
                             const RowResults<double>&);

}  // namespace ropewalk::training
