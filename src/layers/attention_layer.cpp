#include "layers/attention_layer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/softmax.h"

namespace ropewalk {

Status AttentionLayer::create(const AttentionLayerOptions& options, const AttentionLayerWeights& weights) {
  const size_t model = options.model_dim;
  size_t width = 0;
  if (model == 0 || options.heads == 0 || options.kv_heads == 0 || options.head_dim == 0 ||
      options.heads % options.kv_heads != 0 || !multiply(options.heads, options.head_dim, &width)) {
    return Status::kInvalidShape;
  }
  const size_t kv_width = options.kv_heads * options.head_dim;

  AttentionLayer layer;
  layer.options_ = options;
  const auto linear = [](const float* w, const float* bias) {
    return LinearWeights{WeightType::kFloat32, w, WeightLayout::kOutIn, WeightType::kFloat32, bias};
  };
  if (layer.query_.create(linear(weights.query, weights.query_bias), width, model) != Status::kOk ||
      layer.key_.create(linear(weights.key, weights.key_bias), kv_width, model) != Status::kOk ||
      layer.value_.create(linear(weights.value, weights.value_bias), kv_width, model) != Status::kOk ||
      layer.output_.create(linear(weights.output, weights.output_bias), model, width) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  *this = std::move(layer);
  return Status::kOk;
}

Status AttentionLayer::forward(const AttentionLayerInput& input, float* out, float* probabilities) const {
  const size_t heads = options_.heads;
  const size_t kv_heads = options_.kv_heads;
  const size_t dim = options_.head_dim;
  const size_t model = options_.model_dim;
  size_t rows = 0;
  size_t cells = 0;
  if (!multiply(input.batch, input.tokens, &rows) || !multiply(rows, std::max(model, heads * dim), &cells)) {
    return Status::kInvalidShape;
  }

  // 1. the input with its absolute positions
  Buffer<float> placed;
  const float* x = input.x;
  if (input.added != nullptr) {
    if (placed.allocate(rows * model) != Status::kOk) return Status::kOutOfMemory;
    std::copy_n(input.x, rows * model, placed.data());
    for (size_t b = 0; b < input.batch; ++b) {
      addScaled(placed.data() + b * input.tokens * model, 1, input.added, input.tokens * model);
    }
    x = placed.data();
  }

  // 2. queries, keys and values, [B, T, heads, D]
  Buffer<float> q;
  Buffer<float> k;
  Buffer<float> v;
  Buffer<float> mixed;
  if (q.allocate(rows * heads * dim) != Status::kOk || k.allocate(rows * kv_heads * dim) != Status::kOk ||
      v.allocate(rows * kv_heads * dim) != Status::kOk || mixed.allocate(rows * heads * dim) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  query_.apply(q.data(), x, rows);
  key_.apply(k.data(), x, rows);
  value_.apply(v.data(), x, rows);
  const auto queries = tokensFirst(q.data(), input.batch, heads, input.tokens, dim);
  const auto keys = tokensFirst(k.data(), input.batch, kv_heads, input.tokens, dim);
  const auto values = tokensFirst(v.data(), input.batch, kv_heads, input.tokens, dim);

  // 3. rotary positions
  if (input.rope != nullptr) {
    Status status = input.rope->rotate(queries, input.positions, Turn::kForward, Role::kQuery);
    if (status == Status::kOk) status = input.rope->rotate(keys, input.positions, Turn::kForward, Role::kKey);
    if (status != Status::kOk) return status;
  }

  // 4. attention, and back to the model's width
  AttentionOptions options;
  options.scale = 1 / std::sqrt(static_cast<float>(dim));
  options.causal = input.causal;
  options.keep = input.keep;
  ScoreOutputs scores;
  scores.probabilities = probabilities;
  const Status status = attention(tokensFirst(mixed.data(), input.batch, heads, input.tokens, dim),
                                  queries.readOnly(), keys.readOnly(), values.readOnly(), options, scores);
  if (status != Status::kOk) return status;
  output_.apply(out, mixed.data(), rows);
  return Status::kOk;
}

}  // namespace ropewalk
