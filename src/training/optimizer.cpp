#include "training/optimizer.h"

#include <algorithm>
#include <cmath>

#include "training/lanes.h"
#include "training/parts.h"

namespace ropewalk::training {
namespace {

constexpr double kPi = 3.141592653589793;
constexpr size_t kWork = 32;  // of a parameter, in multiplications

// Numbers of a step that all parameters share.
template <class T>
struct AdamStep {
  T beta1, beta2, fresh1, fresh2, size, root, eps, factor;

  AdamStep(const OptimizerOptions& options, uint64_t step, double rate, double gradient_factor)
      : beta1(static_cast<T>(options.beta1)),
        beta2(static_cast<T>(options.beta2)),
        // In double: from the rounded betas they would be off where those are near 1.
        fresh1(static_cast<T>(1 - options.beta1)),
        fresh2(static_cast<T>(1 - options.beta2)),
        size(static_cast<T>(rate / (1 - std::pow(options.beta1, static_cast<double>(step))))),
        root(static_cast<T>(1 / std::sqrt(1 - std::pow(options.beta2, static_cast<double>(step))))),
        eps(static_cast<T>(options.eps)),
        factor(static_cast<T>(gradient_factor)) {}

  void apply(T* p, T* first, T* second, const T* gradients, size_t n) const {
    using L = Lanes<T>;
    size_t i = 0;
    for (; i + L::kCount <= n; i += L::kCount) {
      const auto g = L::mul(L::splat(factor), L::load(gradients + i));
      const auto m = L::add(L::mul(L::splat(beta1), L::load(first + i)), L::mul(L::splat(fresh1), g));
      const auto v =
          L::add(L::mul(L::splat(beta2), L::load(second + i)), L::mul(L::mul(L::splat(fresh2), g), g));
      const auto scale = L::add(L::mul(L::sqrt(v), L::splat(root)), L::splat(eps));
      L::store(first + i, m);
      L::store(second + i, v);
      L::store(p + i, L::sub(L::load(p + i), L::div(L::mul(L::splat(size), m), scale)));
    }
    for (; i < n; ++i) {
      const T g = factor * gradients[i];
      first[i] = beta1 * first[i] + fresh1 * g;
      second[i] = beta2 * second[i] + fresh2 * g * g;
      p[i] -= size * first[i] / (std::sqrt(second[i]) * root + eps);
    }
  }
};

}  // namespace

double learningRate(const OptimizerOptions& options, uint64_t step) {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(options.warmup);
  if (step < options.warmup) return options.lr * at / warmup;
  if (options.total_steps == 0) return options.lr;
  if (step >= options.total_steps) return options.lr * options.final_share;
  const double done = (at - warmup) / (static_cast<double>(options.total_steps) - warmup);
  return options.lr * (options.final_share + (1 - options.final_share) * 0.5 * (1 + std::cos(kPi * done)));
}

template <class T>
double lengthOf(const T* x, size_t n) {
  double squares = 0;
  for (size_t i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return std::sqrt(squares);
}

double clipFactor(const OptimizerOptions& options, double length) {
  if (options.clip == 0) return 1;
  const double factor = options.clip / (length + 1e-6);
  return factor < 1 ? factor : 1;
}

template <class T>
void optimize(const OptimizerOptions& options, const ParameterLayout& layout, uint64_t step, double factor,
              const T* gradients, const OptimizerState<T>& state) {
  const double rate = learningRate(options, step);
  const AdamStep<T> adam(options, step, rate, factor);
  eachPart(layout.size(), kWork, [&](size_t begin, size_t end) {
    for (size_t i = 0; i < layout.count(); ++i) {
      const Parameter& parameter = layout[i];
      const size_t from = std::max(begin, parameter.offset);
      const size_t to = std::min(end, parameter.offset + parameter.shape.size());
      if (from >= to) continue;
      const size_t n = to - from;
      T* const p = state.parameters + from;
      T* const first = state.first + from;
      const T* const g = gradients + from;
      if (parameter.decays) {
        const T kept = static_cast<T>(1 - rate * options.weight_decay);
        for (size_t e = 0; e < n; ++e) p[e] *= kept;
      }
      if (options.kind == OptimizerKind::kAdamW) {
        adam.apply(p, first, state.second + from, g, n);
        continue;
      }
      for (size_t e = 0; e < n; ++e) {
        first[e] = adam.beta1 * first[e] + adam.factor * g[e];
        p[e] -= static_cast<T>(rate) * first[e];
      }
    }
  });
}

template double lengthOf(const float*, size_t);
template double lengthOf(const double*, size_t);
template void optimize(const OptimizerOptions&, const ParameterLayout&, uint64_t, double, const float*,
                       const OptimizerState<float>&);
template void optimize(const OptimizerOptions&, const ParameterLayout&, uint64_t, double, const double*,
                       const OptimizerState<double>&);

}  // namespace ropewalk::training
