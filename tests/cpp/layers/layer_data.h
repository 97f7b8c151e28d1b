// An attention layer with seeded weights and an input for it.
#pragma once

#include <cmath>
#include <vector>

#include "catch.h"
#include "layers/attention_layer.h"
#include "reference.h"

namespace ropewalk::test {

struct LayerData {
  AttentionLayerOptions options;
  size_t batch;
  size_t tokens;
  std::vector<float> query, key, value, output;  // weights
  std::vector<float> query_bias, key_bias, value_bias, output_bias;
  std::vector<float> x;
  std::vector<float> added;

  LayerData(Random& random, const AttentionLayerOptions& o, size_t batch_size, size_t token_count)
      : options(o), batch(batch_size), tokens(token_count) {
    const size_t width = o.heads * o.head_dim;
    const size_t kv_width = o.kv_heads * o.head_dim;
    const auto weights = [&](size_t out, size_t in) {  // so that results are of the size of their inputs
      return random.floats(out * in, 1.5 / std::sqrt(static_cast<double>(in)));
    };
    query = weights(width, o.model_dim);
    key = weights(kv_width, o.model_dim);
    value = weights(kv_width, o.model_dim);
    output = weights(o.model_dim, width);
    query_bias = random.floats(width, 0.5);
    key_bias = random.floats(kv_width, 0.5);
    value_bias = random.floats(kv_width, 0.5);
    output_bias = random.floats(o.model_dim, 0.5);
    x = random.floats(batch * tokens * o.model_dim);
    added = random.floats(tokens * o.model_dim);
  }

  AttentionLayerWeights weights(bool with_bias) const {
    AttentionLayerWeights w = {query.data(), key.data(), value.data(), output.data()};
    if (with_bias) {
      w.query_bias = query_bias.data();
      w.key_bias = key_bias.data();
      w.value_bias = value_bias.data();
      w.output_bias = output_bias.data();
    }
    return w;
  }

  AttentionLayer layer(bool with_bias) const {
    AttentionLayer made;
    REQUIRE(made.create(options, weights(with_bias)) == Status::kOk);
    return made;
  }

  AttentionLayerInput input() const {
    AttentionLayerInput in;
    in.x = x.data();
    in.batch = batch;
    in.tokens = tokens;
    return in;
  }

  size_t probabilityCount() const { return batch * options.heads * tokens * tokens; }

  // What the layer makes of the input.
  std::vector<float> forward(const AttentionLayer& made, const AttentionLayerInput& in) const {
    std::vector<float> out(x.size(), kNaN);
    REQUIRE(made.forward(in, out.data(), nullptr) == Status::kOk);
    return out;
  }
};

}  // namespace ropewalk::test
