// Sinusoidal position encoding: sin and cos of position * base^(-2i/dim).
// Vaswani et al., Attention Is All You Need, arXiv:1706.03762.
#pragma once

#include <cstddef>
#include <cstdint>

#include "status.h"

namespace ropewalk {

// The numbers cross the wasm boundary: add at the end, never renumber.
enum class SinusoidLayout : int {
  kInterleaved = 0,   // sin w_0, cos w_0, sin w_1, ...            the paper's table
  kConcatenated = 1,  // all sines, then all cosines               Hugging Face RoFormer, Marian
  kTensor2Tensor = 2  // as kConcatenated, with base^(-i/(dim/2 - 1)): tensor2tensor, M2M100, FSMT
};

struct SinusoidalOptions {
  size_t dim = 0;  // may be odd: kConcatenated has one more sine, kTensor2Tensor ends in a zero
  double base = 10000;
  SinusoidLayout layout = SinusoidLayout::kInterleaved;
  double scale = 1;  // multiplies every entry
};

// out [rows, dim] at rows positions, each in +-(2^53 - 1). Every entry is within 0.501 ulp.
// kInvalidShape: dim 0 (kTensor2Tensor: below 4); kInvalidArgument: base or scale; kPositionOutOfRange.
Status sinusoidal(const SinusoidalOptions& options, const int64_t* positions, size_t rows, float* out);

}  // namespace ropewalk
