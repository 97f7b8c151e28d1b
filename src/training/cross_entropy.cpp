#include "training/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "parallel.h"
#include "training/softmax.h"

namespace ropewalk::training {

namespace {

constexpr size_t kWork = 64;         // of a number, in multiplications
constexpr size_t kRowsAtOnce = 512;  // whose losses wait to be added up in order

// The loss of a row of logits, which turn into its gradient times scale.
template <class T>
double rowLoss(T* logits, size_t target, T scale, size_t classes, size_t best) {
  // ln sum e^(x - max) = -ln p[best], so that a tiny probability of the target costs nothing.
  const double behind = static_cast<double>(logits[best]) - static_cast<double>(logits[target]);
  softmaxRow(logits, classes);
  const double loss = behind - std::log(static_cast<double>(logits[best]));
  logits[target] -= 1;
  for (size_t c = 0; c < classes; ++c) logits[c] *= scale;
  return loss;
}

}  // namespace

template <class T>
double crossEntropy(T* all_logits, const int32_t* targets, const T* weights, size_t rows, size_t classes,
                    const RowResults<T>& results) {
  double total = weights == nullptr ? static_cast<double>(rows) : 0;
  for (size_t r = 0; weights != nullptr && r < rows; ++r) total += static_cast<double>(weights[r]);
  const auto finish = [&](size_t r) -> double {
    T* const logits = all_logits + r * classes;
    const double weight = weights == nullptr ? 1 : static_cast<double>(weights[r]);
    const auto best = static_cast<size_t>(std::max_element(logits, logits + classes) - logits);
    if (results.predictions != nullptr) {
      const bool none = std::any_of(logits, logits + classes, [](T x) { return std::isnan(x); });
      results.predictions[r] = none ? -1 : static_cast<int32_t>(best);
    }
    if (results.losses != nullptr) results.losses[r] = 0;
    if (weight == 0) {
      std::fill_n(logits, classes, T{0});
      return 0;
    }
    const double loss =
        rowLoss(logits, static_cast<size_t>(targets[r]), static_cast<T>(weight / total), classes, best);
    if (results.losses != nullptr) results.losses[r] = static_cast<T>(loss);
    return weight * loss;
  };
  double loss = 0;
  double losses[kRowsAtOnce];
  for (size_t first = 0; first < rows; first += kRowsAtOnce) {
    const size_t count = std::min(kRowsAtOnce, rows - first);
    parallelFor(count, grainOf(kWork, classes), [&](const Share& share) {
      for (size_t i = share.first; i < share.end; ++i) losses[i] = finish(first + i);
    });
    for (size_t i = 0; i < count; ++i) loss += losses[i];
  }
  return loss / total;
}

template double crossEntropy(float*, const int32_t*, const float*, size_t, size_t, const RowResults<float>&);
template double crossEntropy(double*, const int32_t*, const double*, size_t, size_t,
                             const RowResults<double>&);

}  // namespace ropewalk::training
