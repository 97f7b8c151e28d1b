// The feed-forward part of a transformer layer: down(act(up x)), or gated, down(act(gate x) * up x)
// (Shazeer, arXiv:2002.05202).
#pragma once

#include <cstddef>

#include "kernels/activation.h"
#include "layers/linear.h"
#include "status.h"

namespace ropewalk {

struct FeedForwardParts {
  Linear gate;  // [N, M]; without rows: none
  Linear up;    // [N, M]
  Linear down;  // [M, N]
};

class FeedForward {
 public:
  // Takes ownership of the parts unless they do not fit each other: kInvalidShape, and nothing is changed.
  Status create(Activation activation, FeedForwardParts&& parts);

  size_t modelDim() const { return parts_.down.weight().rows(); }  // M
  size_t hiddenDim() const { return parts_.up.weight().rows(); }   // N
  bool gated() const { return parts_.gate.weight().rows() != 0; }
  size_t bytes() const { return parts_.gate.bytes() + parts_.up.bytes() + parts_.down.bytes(); }

  // How many numbers `work` of apply holds, or false where that overflows. Rows pass in chunks: long inputs
  // take no more of it.
  [[nodiscard]] bool workSize(size_t rows, size_t* size) const;

  // x [rows, M] -> out [rows, M], which may be x.
  void apply(float* out, const float* x, size_t rows, float* work) const;

 private:
  Activation activation_ = Activation::kGelu;
  FeedForwardParts parts_;
};

}  // namespace ropewalk
