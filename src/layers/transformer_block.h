// A layer of a transformer: attention A and feed-forward F, norms and residual sums around them. BERT,
// RoFormer and the decoders of the LLaMA family are fillings of it.
#pragma once

#include <cstddef>

#include "layers/capture.h"
#include "layers/feed_forward.h"
#include "layers/norm_layer.h"
#include "layers/self_attention.h"
#include "status.h"

namespace ropewalk {

// The order of norms, parts and residual sums. The numbers cross the wasm boundary: add at the end, never
// renumber.
enum class NormPlacement : int {
  kPost = 0,  // h = n1(x + A(x)), y = n2(h + F(h))                     BERT, RoFormer
  kPre = 1,   // h = x + A(n1(x)), y = h + F(n2(h))                     LLaMA, Mistral, Qwen, Phi-3, Gemma
  kSandwich =
      2,  // h = x + m1(A(n1(x))), y = h + m2(F(n2(h)))             Gemma 2 and 3; OLMo 2 without n1, n2
  kParallel = 3  // y = x + A(n1(x)) + F(n2(x)), F(n1(x)) without n2       GPT-NeoX; GPT-J, Cohere
};

struct BlockOptions {
  SelfAttentionOptions attention;
  NormPlacement placement = NormPlacement::kPre;
  FeedForwardOptions feed_forward = {Activation::kSilu};  // no experts in kParallel
  float residual = 1;                                     // multiplies what is added to x and h (Granite)
};

// Norms of kNone pass what they get; the last two of them are kSandwich's.
struct BlockParts {
  SelfAttentionParts attention;
  FeedForwardParts feed_forward;
  NormLayer attention_norm;           // n1
  NormLayer feed_forward_norm;        // n2
  NormLayer attention_after_norm;     // m1
  NormLayer feed_forward_after_norm;  // m2
};

class TransformerBlock {
 public:
  // Takes ownership of the parts. kInvalidShape: parts that do not fit; then the block is as it was, the
  // parts are undefined.
  Status create(const BlockOptions& options, BlockParts&& parts);

  size_t bytes() const;
  const SelfAttentionParts& attentionParts() const { return attention_.parts(); }

  // x [B, T, M] -> out [B, T, M], which may be x. Anything but kOk leaves out as it was, and what was to be
  // captured undefined.
  Status forward(float* out, const float* x, const SelfAttentionInput& input,
                 const BlockCapture& capture = {}) const;

 private:
  // Buffers [B * T, M] of a pass, and room for the feed-forward part.
  struct Work {
    float* normed;
    float* branch;
    float* feed_forward;
    size_t rows;
  };

  void finish(float* out, const float* x, const Work& work, const BlockCapture& capture) const;

  BlockOptions options_;
  SelfAttention attention_;
  FeedForward feed_forward_;
  NormLayer attention_norm_;
  NormLayer feed_forward_norm_;
  NormLayer attention_after_norm_;
  NormLayer feed_forward_after_norm_;
};

}  // namespace ropewalk
