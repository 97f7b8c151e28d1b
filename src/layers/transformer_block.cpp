#include "layers/transformer_block.h"

#include <algorithm>
#include <utility>

#include "kernels/add_scaled.h"
#include "memory.h"

namespace ropewalk {
namespace {

void show(float* captured, const float* x, size_t n) {
  if (captured != nullptr) std::copy_n(x, n, captured);
}

void multiplyBy(float factor, float* x, size_t n) {
  if (factor == 1) return;
  for (size_t i = 0; i < n; ++i) x[i] *= factor;
}

}  // namespace

Status TransformerBlock::create(const BlockOptions& options, BlockParts&& parts) {
  const size_t model = options.attention.model_dim;
  NormLayer* const norms[] = {&parts.attention_norm, &parts.feed_forward_norm, &parts.attention_after_norm,
                              &parts.feed_forward_after_norm};
  for (NormLayer* norm : norms) {
    Status status = Status::kOk;
    if (norm->kind() == NormKind::kNone) status = norm->create({NormKind::kNone, model});
    if (norm->size() != model) status = Status::kInvalidShape;
    if (status != Status::kOk) return status;
  }
  if (options.placement == NormPlacement::kParallel && parts.feed_forward.router.weight().rows() != 0)
    return Status::kInvalidShape;
  TransformerBlock block;
  Status status = block.attention_.create(options.attention, std::move(parts.attention));
  if (status == Status::kOk) {
    status = block.feed_forward_.create(options.feed_forward, std::move(parts.feed_forward));
  }
  if (status != Status::kOk) return status;
  if (block.feed_forward_.modelDim() != model) return Status::kInvalidShape;
  block.options_ = options;
  block.attention_norm_ = std::move(parts.attention_norm);
  block.feed_forward_norm_ = std::move(parts.feed_forward_norm);
  block.attention_after_norm_ = std::move(parts.attention_after_norm);
  block.feed_forward_after_norm_ = std::move(parts.feed_forward_after_norm);
  *this = std::move(block);
  return Status::kOk;
}

size_t TransformerBlock::bytes() const {
  return attention_.bytes() + feed_forward_.bytes() + attention_norm_.bytes() + feed_forward_norm_.bytes() +
         attention_after_norm_.bytes() + feed_forward_after_norm_.bytes();
}

Status TransformerBlock::forward(float* out, const float* x, const SelfAttentionInput& input,
                                 const BlockCapture& capture) const {
  // 1. memory for all of it
  const size_t model = options_.attention.model_dim;
  size_t rows = 0;
  size_t cells = 0;
  size_t hidden = 0;
  if (!multiply(input.batch, input.tokens, &rows) || !multiply(rows, 2 * model, &cells) ||
      !feed_forward_.workSize(rows, &hidden) || cells > SIZE_MAX - hidden) {
    return Status::kInvalidShape;
  }
  Buffer<float> memory;
  if (memory.allocate(cells + hidden) != Status::kOk) return Status::kOutOfMemory;
  const Work work = {memory.data(), memory.data() + rows * model, memory.data() + cells, rows};

  // 2. attention, the last that can fail
  const float* read = x;
  if (options_.placement != NormPlacement::kPost) {
    attention_norm_.apply(work.normed, x, rows);
    read = work.normed;
  }
  show(capture.normed, read, rows * model);
  const Status status = attention_.forward(work.branch, read, input, capture.attention);
  if (status != Status::kOk) return status;
  show(capture.attention_out, work.branch, rows * model);

  // 3. the rest
  finish(out, x, work, capture);
  return Status::kOk;
}

// From A in work.branch, and n1(x) in work.normed unless the norms come after, to y in out.
void TransformerBlock::finish(float* out, const float* x, const Work& work,
                              const BlockCapture& capture) const {
  const size_t rows = work.rows;
  const size_t n = rows * options_.attention.model_dim;
  float* const normed = work.normed;
  float* const branch = work.branch;
  const auto readyToAdd = [&](float* part, const NormLayer& after) {
    if (options_.placement == NormPlacement::kSandwich) after.apply(part, part, rows);
    multiplyBy(options_.residual, part, n);
  };
  const auto feedForward = [&](float* to, const float* from) {
    feed_forward_.apply(to, from, rows, work.feed_forward);
    show(capture.mlp, to, n);
    readyToAdd(to, feed_forward_after_norm_);
  };
  readyToAdd(branch, attention_after_norm_);
  switch (options_.placement) {
    case NormPlacement::kPost:
      attention_norm_.apply(normed, branch, rows, {x, nullptr});
      show(capture.hidden, normed, n);
      feedForward(branch, normed);
      feed_forward_norm_.apply(out, branch, rows, {normed, nullptr});
      return;
    case NormPlacement::kSandwich:
    case NormPlacement::kPre:
      feed_forward_norm_.apply(normed, branch, rows, {x, out});
      show(capture.hidden, out, n);
      feedForward(branch, normed);
      addScaled(out, 1, branch, n);
      return;
    case NormPlacement::kParallel:
      if (feed_forward_norm_.kind() != NormKind::kNone) feed_forward_norm_.apply(normed, x, rows);
      feedForward(normed, normed);
      addScaled(branch, 1, normed, n);
      if (out != x) std::copy_n(x, n, out);
      addScaled(out, 1, branch, n);
      return;
  }
}

}  // namespace ropewalk
