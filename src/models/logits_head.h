// What gives logits: out = cap tanh(s (W t + b) / cap), t = n(f(T x + c)), or T x + c without n. Decoders
// have W alone, Gemma 2 the cap as well, Cohere and Granite the factor s; T, f and n are those of the masked
// language models (BERT, RoFormer), T without n that of OPT.
#pragma once

#include <cstddef>

#include "kernels/activation.h"
#include "kernels/packed_matrix.h"
#include "layers/linear.h"
#include "layers/norm_layer.h"
#include "memory.h"
#include "status.h"

namespace ropewalk {

// What has no rows, and a norm of kNone, is left out.
struct HeadParts {
  Linear transform;     // T [E, M], and c
  NormLayer norm;       // n, of E numbers
  PackedMatrix weight;  // W [V, E]; without rows it is the table of token vectors
  Buffer<float> bias;   // b [V]
};

struct HeadOptions {
  Activation activation = Activation::kGelu;  // f, where there is a norm
  float scale = 1;                            // s
  float softcap = 0;                          // cap; 0: none
};

class LogitsHead {
 public:
  // Takes ownership of the parts. `tied` is the table that replaces a weight without rows; it has to outlive
  // the head. kInvalidShape: parts that do not fit each other; then the head is as it was, the parts are
  // undefined.
  Status create(const HeadOptions& options, HeadParts&& parts, const PackedMatrix* tied);

  size_t vocabSize() const { return weight().rows(); }  // V
  size_t bytes() const;                                 // without a table that it shares

  // x [rows, M] -> out [rows, V], apart.
  Status apply(float* out, const float* x, size_t rows) const;

 private:
  const PackedMatrix& weight() const { return tied_ != nullptr ? *tied_ : parts_.weight; }

  HeadOptions options_;
  HeadParts parts_;
  const PackedMatrix* tied_ = nullptr;
};

}  // namespace ropewalk
