// Multi-head self-attention with its projections: out = O attention(rope(nq(Q x)), rope(nk(K x)), V x), the
// norms nq and nk where a model has them: over each head, with the same weights (Qwen3, Gemma 3) or its own
// (Cohere), or over all heads together (OLMo 2).
#pragma once

#include <cstddef>

#include "attention/attention.h"
#include "attention/kv_cache.h"
#include "encodings/rope.h"
#include "layers/capture.h"
#include "layers/linear.h"
#include "layers/norm_layer.h"
#include "memory.h"
#include "status.h"

namespace ropewalk {

struct SelfAttentionOptions {
  size_t model_dim = 0;  // M
  size_t heads = 0;      // H
  size_t kv_heads = 0;   // G, divides H
  size_t head_dim = 0;   // D
  size_t value_dim = 0;  // Dv
};

struct SelfAttentionParts {
  Linear query;          // [H * D, M]
  Linear key;            // [G * D, M]
  Linear value;          // [G * Dv, M]
  Linear output;         // [M, H * Dv]
  NormLayer query_norm;  // of D numbers, in one set or H, or of H * D, or none
  NormLayer key_norm;    // of D numbers, in one set or G, or of G * D, or none
};

struct SelfAttentionInput {
  size_t batch = 0;
  size_t tokens = 0;
  RopePlan* rope = nullptr;    // turns queries and keys, or null
  Positions positions;         // for rope, and where the cache keeps the tokens
  bool turn_values = false;    // by rope as well (RoFormer's rotary_value); not with xPos, nor with a cache
  AttentionOptions attention;  // query i and key i stand at i; at positions.offset + i where that counts

  // The earlier tokens, after which these are appended: its plan is rope, and its window replaces that of the
  // options. Positions are the same for the whole batch and follow one another, from nextPosition() or
  // further on; those of several axes are listed. Scores have a key for each of its tokens, these included.
  KvCache* cache = nullptr;
};

class SelfAttention {
 public:
  // Takes ownership of the parts unless they do not fit the options: kInvalidShape, and nothing is changed.
  Status create(const SelfAttentionOptions& options, SelfAttentionParts&& parts);

  size_t bytes() const;
  const SelfAttentionParts& parts() const { return parts_; }

  // x [B, T, M] -> out [B, T, M], which may be x. Anything but kOk leaves out and the cache as they were, and
  // what was to be captured undefined; but where keys left the window of the cache for these tokens before
  // attention itself had no memory, those keys are gone.
  Status forward(float* out, const float* x, const SelfAttentionInput& input,
                 const AttentionCapture& capture = {}) const;

 private:
  struct Work;

  Status allocate(const SelfAttentionInput& input, const AttentionCapture& capture, Work* work) const;
  void project(const float* x, const AttentionCapture& capture, const Work& work) const;
  Status attendAlone(const SelfAttentionInput& input, const AttentionCapture& capture,
                     const Work& work) const;
  Status attendCached(const SelfAttentionInput& input, const AttentionCapture& capture,
                      const Work& work) const;

  SelfAttentionOptions options_;
  SelfAttentionParts parts_;
};

}  // namespace ropewalk
