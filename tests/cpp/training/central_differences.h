// Gradients by hand against central differences, in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "reference.h"

namespace ropewalk::test {

inline constexpr double kGradientTolerance = 1e-6;  // the differences' own error is about 1e-10 / kStep

inline std::vector<double> randomDoubles(Random& random, size_t n, double low = -1, double high = 1) {
  std::vector<double> x(n);
  for (double& v : x) v = random.uniform(low, high);
  return x;
}

template <class T>
std::vector<T> converted(const std::vector<double>& x) {
  return {x.begin(), x.end()};
}

// |gradient - central differences of loss()| / |differences|, as lengths of vectors, for x [n], which loss()
// reads. Infinite where that is NaN, so that a largest error cannot leave it out.
template <class Loss>
double gradientError(double* x, const double* gradient, size_t n, Loss loss) {
  constexpr double kStep = 1e-5;
  double difference = 0;
  double length = 0;
  for (size_t i = 0; i < n; ++i) {
    const double held = x[i];
    x[i] = held + kStep;
    const double above = loss();
    x[i] = held - kStep;
    const double below = loss();
    x[i] = held;
    const double slope = (above - below) / (2 * kStep);
    difference += (gradient[i] - slope) * (gradient[i] - slope);
    length += slope * slope;
  }
  if (difference == 0) return 0;
  if (std::isnan(difference + length)) return std::numeric_limits<double>::infinity();
  return std::sqrt(difference) / std::max(std::sqrt(length), 1e-3);  // some gradients are 0
}

template <class Loss>
double gradientError(std::vector<double>& x, const std::vector<double>& gradient, Loss loss) {
  return gradientError(x.data(), gradient.data(), x.size(), loss);
}

// The same of what gradient and differences say along a few directions.
template <class Loss>
double gradientErrorAlong(Random& random, std::vector<double>& x, const std::vector<double>& gradient,
                          Loss loss) {
  constexpr size_t kDirections = 4;
  const std::vector<double> held = x;
  std::vector<double> found;
  std::vector<double> step(kDirections, 0);
  std::vector<std::vector<double>> directions;
  for (size_t n = 0; n < kDirections; ++n) {
    directions.push_back(randomDoubles(random, x.size()));
    found.push_back(0);
    for (size_t i = 0; i < x.size(); ++i) found[n] += gradient[i] * directions[n][i];
  }
  const double error = gradientError(step, found, [&] {
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = held[i];
      for (size_t n = 0; n < kDirections; ++n) x[i] += step[n] * directions[n][i];
    }
    return loss();
  });
  x = held;
  return error;
}

// One line of the table that the tests print.
inline double reported(const char* name, double error) {
  std::printf("gradient of %-44s %.1e\n", name, error);
  return error;
}

inline double dotOf(const std::vector<double>& a, const std::vector<double>& b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

}  // namespace ropewalk::test
