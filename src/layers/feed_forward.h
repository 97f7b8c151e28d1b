// The feed-forward part of a transformer layer: F(x) = down(act(up x)), or gated, down(act(gate x) * up x)
// (Shazeer, arXiv:2002.05202). Or one of many experts for each row: the sum over the chosen e of w_e F_e(x),
// with w the softmax of the router's logits R x over all of them (arXiv:1701.06538; Mixtral, Qwen 3). Or of
// F_e(w_e x), with w the sigmoid of the logits (Llama 4).
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/activation.h"
#include "layers/linear.h"
#include "status.h"

namespace ropewalk {

class FeedForward;

struct FeedForwardParts {
  Linear gate;  // [N, M]; without rows: none
  Linear up;    // [N, M]
  Linear down;  // [M, N]
  // R [E, M], of the first expert; without rows: there are no experts. An expert more is for all rows, with w
  // 1 (a shared one).
  Linear router;
  std::unique_ptr<FeedForward> next;  // the expert behind this one, of the same sizes
};

struct FeedForwardOptions {
  Activation activation = Activation::kGelu;
  size_t chosen = 0;       // experts of a row, those of the largest w; of equal ones the first
  bool normalize = false;  // divides the w of a row's experts by their sum
  bool sigmoid = false;    // in place of the softmax; w multiplies what an expert reads
};

class FeedForward {
 public:
  // Takes ownership of the parts unless they do not fit each other: kInvalidShape, and nothing is changed.
  Status create(const FeedForwardOptions& options, FeedForwardParts&& parts);

  size_t modelDim() const { return parts_.down.weight().rows(); }  // M
  size_t hiddenDim() const { return parts_.up.weight().rows(); }   // N
  bool gated() const { return parts_.gate.weight().rows() != 0; }
  size_t bytes() const;

  // How many numbers `work` of apply holds, or false where that overflows. Rows pass in chunks: long inputs
  // take no more of it.
  [[nodiscard]] bool workSize(size_t rows, size_t* size) const;

  // x [rows, M] -> out [rows, M], which may be x, but not where there are experts.
  void apply(float* out, const float* x, size_t rows, float* work) const;

 private:
  size_t routed() const { return parts_.router.weight().rows(); }
  void applyOne(float* out, const float* x, size_t rows, float* work) const;
  void applyExperts(float* out, const float* x, size_t rows, float* work) const;

  FeedForwardOptions options_;
  FeedForwardParts parts_;
};

}  // namespace ropewalk
