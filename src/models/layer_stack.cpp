#include "models/layer_stack.h"

#include <utility>

namespace ropewalk {
namespace {

SelfAttentionInput inputOf(const StackLayer& layer, const StackInput& input, KvCache* cache) {
  SelfAttentionInput in;
  in.batch = input.batch;
  in.tokens = input.tokens;
  in.rope = layer.rope;
  in.positions = cache == nullptr ? input.positions : Positions{nullptr, false, cache->nextPosition()};
  in.turn_values = layer.turn_values;
  in.attention = layer.attention;
  in.attention.keep = input.keep;
  in.attention.segments.types = layer.attention.segments.table == nullptr ? nullptr : input.types;
  in.cache = cache;
  return in;
}

}  // namespace

Status LayerStack::create(size_t layers) {
  Buffer<StackLayer> made;
  if (made.allocate(layers) != Status::kOk) return Status::kOutOfMemory;
  for (size_t i = 0; i < layers; ++i) made[i] = {};
  layers_ = std::move(made);
  return Status::kOk;
}

Status LayerStack::forward(float* x, size_t first, size_t end, const StackInput& input,
                           const BlockCapture& capture) const {
  for (size_t i = first; i < end; ++i) {
    const StackLayer& layer = layers_[i];
    KvCache* const cache = input.caches == nullptr ? nullptr : input.caches[i];
    const Status status =
        layer.block->forward(x, x, inputOf(layer, input, cache), i + 1 == end ? capture : BlockCapture{});
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

}  // namespace ropewalk
