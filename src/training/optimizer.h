// One step of AdamW or of gradient descent with momentum, after the norm of all gradients was limited.
#pragma once

#include <cstddef>
#include <cstdint>

#include "training/options.h"
#include "training/parameters.h"

namespace ropewalk::training {

// The learning rate of a step, counted from 1.
double learningRate(const OptimizerOptions& options, uint64_t step);

// The length of x [n] as a vector, in double; infinite or NaN if a number of it is.
template <class T>
double lengthOf(const T* x, size_t n);

// What gradients of this length are multiplied by: clip / (length + 1e-6) where that is below 1.
double clipFactor(const OptimizerOptions& options, double length);

// All arrays are [layout.size()]. The moments are 0 before the first step; kSgd leaves the second alone.
template <class T>
struct OptimizerState {
  T* parameters = nullptr;
  T* first = nullptr;   // mean of gradients, or momentum
  T* second = nullptr;  // mean of squares
};

// Step number `step`, counted from 1, with gradients times `factor`.
template <class T>
void optimize(const OptimizerOptions& options, const ParameterLayout& layout, uint64_t step, double factor,
              const T* gradients, const OptimizerState<T>& state);

}  // namespace ropewalk::training
