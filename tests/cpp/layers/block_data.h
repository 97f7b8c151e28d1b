// A transformer block with seeded weights, an input, and the same block in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "catch.h"
#include "encodings/rope_plan.h"
#include "layers/transformer_block.h"
#include "reference.h"

namespace ropewalk::test {

struct BlockShape {
  size_t model = 8;
  size_t heads = 2;
  size_t kv_heads = 2;
  size_t dim = 4;
  size_t value_dim = 4;
  size_t hidden = 12;
  NormPlacement place = NormPlacement::kPre;
  NormKind norm = NormKind::kRms;
  NormKind head_norm = NormKind::kNone;  // of queries and keys
  bool whole_head_norm = false;          // over all heads together
  bool own_head_norms = false;           // with weights for each head
  bool unit_offset = false;
  bool gated = true;
  bool biases = false;
  Activation activation = Activation::kSilu;
  float residual = 1;
};

// A matrix [n, k] with a bias, or without rows.
struct MatrixData {
  size_t n = 0;
  size_t k = 0;
  std::vector<float> weight;
  std::vector<float> bias;  // empty: none

  // So that results are of the size of their inputs.
  MatrixData(Random& random, size_t rows, size_t columns, bool with_bias)
      : n(rows), k(columns), weight(random.floats(n * k, 1.5 / std::sqrt(static_cast<double>(k)))) {
    if (with_bias) bias = random.floats(n, 0.5);
  }

  Linear linear(WeightType stored) const {
    Linear made;
    const LinearWeights weights = {WeightType::kFloat32, weight.data(), WeightLayout::kOutIn,
                                   WeightType::kFloat32, bias.empty() ? nullptr : bias.data()};
    if (n > 0) REQUIRE(made.create(weights, n, k, stored) == Status::kOk);
    return made;
  }

  // The weights as a map that was stored has them.
  MatrixData as(WeightType stored) const {
    MatrixData seen = *this;
    const Linear made = linear(stored);
    for (size_t r = 0; r < n; ++r) made.weight().row(r, seen.weight.data() + r * k);
    return seen;
  }
};

struct NormData {
  NormLayerOptions options;
  std::vector<float> weight;
  std::vector<float> bias;

  NormData(Random& random, NormKind kind, size_t size, bool unit_offset, size_t sets = 1)
      : options{kind, size, 1e-5, unit_offset, sets},
        weight(random.floats(sets * size, 0.3)),
        bias(random.floats(sets * size, 0.3)) {
    if (!unit_offset) {
      for (float& w : weight) w += 1;
    }
  }

  NormLayer norm() const {
    NormLayer made;
    const bool centred = options.kind == NormKind::kLayer;
    const NormWeights weights = {WeightType::kFloat32, weight.data(), WeightType::kFloat32,
                                 centred ? bias.data() : nullptr};
    REQUIRE(made.create(options, weights) == Status::kOk);
    return made;
  }
};

struct BlockData {
  BlockShape shape;
  MatrixData query, key, value, output, gate, up, down;
  NormData query_norm, key_norm, attention_norm, feed_forward_norm, attention_after, feed_forward_after;
  size_t batch;
  size_t tokens;
  std::vector<float> x;

  BlockData(Random& random, const BlockShape& s, size_t batch_size, size_t token_count)
      : shape(s),
        query(random, s.heads * s.dim, s.model, s.biases),
        key(random, s.kv_heads * s.dim, s.model, s.biases),
        value(random, s.kv_heads * s.value_dim, s.model, s.biases),
        output(random, s.model, s.heads * s.value_dim, s.biases),
        gate(random, s.gated ? s.hidden : 0, s.model, s.biases),
        up(random, s.hidden, s.model, s.biases),
        down(random, s.model, s.hidden, s.biases),
        query_norm(random, s.head_norm, s.whole_head_norm ? s.heads * s.dim : s.dim, s.unit_offset,
                   s.own_head_norms ? s.heads : 1),
        key_norm(random, s.head_norm, s.whole_head_norm ? s.kv_heads * s.dim : s.dim, s.unit_offset,
                 s.own_head_norms ? s.kv_heads : 1),
        attention_norm(random, s.norm, s.model, s.unit_offset),
        feed_forward_norm(random, s.norm, s.model, s.unit_offset),
        attention_after(random, s.place == NormPlacement::kSandwich ? s.norm : NormKind::kNone, s.model,
                        s.unit_offset),
        feed_forward_after(random, attention_after.options.kind, s.model, s.unit_offset),
        batch(batch_size),
        tokens(token_count),
        x(random.floats(batch * tokens * s.model)) {}

  SelfAttentionOptions attentionOptions() const {
    return {shape.model, shape.heads, shape.kv_heads, shape.dim, shape.value_dim};
  }
  BlockOptions options() const {
    return {attentionOptions(), shape.place, {shape.activation}, shape.residual};
  }

  SelfAttentionParts attentionParts(WeightType stored = WeightType::kFloat32) const {
    return {query.linear(stored),  key.linear(stored), value.linear(stored),
            output.linear(stored), query_norm.norm(),  key_norm.norm()};
  }
  FeedForwardParts feedForwardParts(WeightType stored = WeightType::kFloat32) const {
    return {gate.linear(stored), up.linear(stored), down.linear(stored), {}, {}};
  }
  BlockParts parts(WeightType stored = WeightType::kFloat32) const {
    return {attentionParts(stored),   feedForwardParts(stored), attention_norm.norm(),
            feed_forward_norm.norm(), attention_after.norm(),   feed_forward_after.norm()};
  }

  SelfAttention attention() const {
    SelfAttention made;
    REQUIRE(made.create(attentionOptions(), attentionParts()) == Status::kOk);
    return made;
  }
  TransformerBlock block(WeightType stored = WeightType::kFloat32) const {
    TransformerBlock made;
    REQUIRE(made.create(options(), parts(stored)) == Status::kOk);
    return made;
  }

  SelfAttentionInput input() const {
    SelfAttentionInput in;
    in.batch = batch;
    in.tokens = tokens;
    in.attention.scale = 1 / std::sqrt(static_cast<float>(shape.dim));
    return in;
  }

  // What a SelfAttention or a TransformerBlock makes of x.
  template <class Layer>
  std::vector<float> forward(const Layer& layer, const SelfAttentionInput& in) const {
    std::vector<float> out(x.size(), kNaN);
    REQUIRE(layer.forward(out.data(), x.data(), in) == Status::kOk);
    return out;
  }

  size_t scoreCount() const { return batch * shape.heads * tokens * tokens; }

  // Every value on the way is of order 1 and meets as many roundings as its sums have terms; norms, softmax
  // and the residual sums at most double what comes in, and the largest values of the seeded data take the
  // rest.
  double tolerance() const {
    const BlockShape& s = shape;
    return 16 * static_cast<double>(s.model + s.dim + tokens + s.heads * s.value_dim + s.hidden) * kUnit;
  }
};

using Matrix = std::vector<double>;  // [rows, columns]

inline Matrix naiveLinear(const Matrix& x, const MatrixData& l) {
  Matrix out;
  for (size_t i = 0; i < x.size() / l.k; ++i) {
    for (size_t j = 0; j < l.n; ++j) {
      double sum = l.bias.empty() ? 0 : l.bias[j];
      for (size_t c = 0; c < l.k; ++c) sum += x[i * l.k + c] * l.weight[j * l.k + c];
      out.push_back(sum);
    }
  }
  return out;
}

inline Matrix naiveNorm(Matrix x, const NormData& norm) {
  const auto& [kind, size, eps, unit_offset, sets] = norm.options;
  if (kind == NormKind::kNone) return x;
  const bool centred = kind == NormKind::kLayer;
  for (size_t start = 0; start < x.size(); start += size) {
    double mean = 0;
    for (size_t i = 0; centred && i < size; ++i) mean += x[start + i] / static_cast<double>(size);
    double spread = eps;
    for (size_t i = 0; i < size; ++i)
      spread += (x[start + i] - mean) * (x[start + i] - mean) / static_cast<double>(size);
    for (size_t i = 0; i < size; ++i) {
      const size_t w = start % (sets * size) + i;
      const double factor = norm.weight[w] + (unit_offset ? 1.0 : 0.0);
      x[start + i] = (x[start + i] - mean) / std::sqrt(spread) * factor + (centred ? norm.bias[w] : 0.0f);
    }
  }
  return x;
}

inline double naiveActivation(Activation f, double x) {
  switch (f) {
    case Activation::kGelu:
      return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::kGeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kRelu:
      return std::max(0.0, x);
    case Activation::kTanh:
      return std::tanh(x);
  }
  return 0;
}

inline Matrix naiveFeedForward(const Matrix& x, const BlockData& data) {
  Matrix hidden = naiveLinear(x, data.up);
  const Matrix gate = naiveLinear(x, data.gate);
  for (size_t i = 0; i < hidden.size(); ++i) {
    hidden[i] = data.shape.gated ? naiveActivation(data.shape.activation, gate[i]) * hidden[i]
                                 : naiveActivation(data.shape.activation, hidden[i]);
  }
  return naiveLinear(hidden, data.down);
}

// x [B, T, heads, dim] turned as a plan of half-split pairs has it.
// What a feed-forward part makes of rows.
inline std::vector<float> outOf(const FeedForward& layer, const std::vector<float>& x) {
  const size_t rows = x.size() / layer.modelDim();
  size_t size = 0;
  REQUIRE(layer.workSize(rows, &size));
  std::vector<float> work(size, kNaN);  // of exact size for the sanitizer
  std::vector<float> out(x.size(), kNaN);
  layer.apply(out.data(), x.data(), rows, work.data());
  return out;
}

inline void naiveRotate(Matrix& x, const BlockData& data, size_t heads, const SelfAttentionInput& input) {
  const RopePlan& plan = *input.rope;
  const size_t pairs = plan.pairs();
  for (size_t row = 0; row < data.batch * data.tokens; ++row) {
    const int64_t at =
        positionOf(input.positions, row / data.tokens, row % data.tokens, data.batch, data.tokens);
    const Tables table = tablesOf(plan, {at});
    for (size_t h = 0; h < heads; ++h) {
      double* head = x.data() + (row * heads + h) * plan.headDim();
      for (size_t j = 0; j < pairs; ++j) {
        const double first = head[j];
        const double second = head[pairs + j];
        head[j] = first * table.cos[j] - second * table.sin[j];
        head[pairs + j] = first * table.sin[j] + second * table.cos[j];
      }
    }
  }
}

struct NaiveHeads {
  Matrix out;
  Matrix probabilities;  // [B, H, T, T]
};

// q, k, v [B, T, heads, dim], with what the tests use of the options: causal order, a left window, a mask,
// softcap and relative tables.
inline NaiveHeads naiveHeads(const Matrix& q, const Matrix& k, const Matrix& v, const BlockData& data,
                             const AttentionOptions& o) {
  const auto& [model, heads, kv_heads, dim, value_dim] = data.attentionOptions();
  const size_t tokens = data.tokens;
  NaiveHeads result = {Matrix(data.batch * tokens * heads * value_dim), {}};
  const auto table = [&](const float* rows, int64_t distance, size_t d) {
    return rows == nullptr ? 0.0 : rows[o.relative.rows.row(distance) * data.shape.dim + d];
  };
  for (size_t row = 0; row < data.batch * heads * tokens; ++row) {
    const size_t i = row % tokens;
    const size_t h = row / tokens % heads;
    const size_t b = row / tokens / heads;
    const size_t g = h / (heads / kv_heads);
    const auto keyRow = [&](size_t j) { return (b * tokens + j) * kv_heads + g; };
    std::vector<double> scores(tokens, -kInfinity);
    for (size_t j = 0; j < tokens; ++j) {
      const int64_t distance = static_cast<int64_t>(j) - static_cast<int64_t>(i);
      if (o.causal && distance > 0) continue;
      if (o.window_left >= 0 && -distance > o.window_left) continue;
      if (o.keep.data != nullptr && o.keep.row(b, h, i)[j * o.keep.key_stride] == 0) continue;
      double sum = 0;
      for (size_t d = 0; d < dim; ++d) {
        const double query = q[((b * tokens + i) * heads + h) * dim + d];
        const double key = k[keyRow(j) * dim + d];
        sum += query * key + query * table(o.relative.query_table, distance, d) +
               key * table(o.relative.key_table, distance, d);
      }
      scores[j] = o.scale * sum;
      if (o.softcap > 0) scores[j] = o.softcap * std::tanh(scores[j] / o.softcap);
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& s : scores) sum += s = largest == -kInfinity ? 0 : std::exp(s - largest);
    for (size_t j = 0; j < tokens; ++j) {
      const double p = sum == 0 ? 0 : scores[j] / sum;
      result.probabilities.push_back(p);
      for (size_t d = 0; d < value_dim; ++d) {
        result.out[((b * tokens + i) * heads + h) * value_dim + d] += p * v[keyRow(j) * value_dim + d];
      }
    }
  }
  return result;
}

inline NaiveHeads naiveSelfAttention(const Matrix& x, const BlockData& data,
                                     const SelfAttentionInput& input) {
  Matrix q = naiveNorm(naiveLinear(x, data.query), data.query_norm);
  Matrix k = naiveNorm(naiveLinear(x, data.key), data.key_norm);
  Matrix v = naiveLinear(x, data.value);
  if (input.rope != nullptr) {
    naiveRotate(q, data, data.shape.heads, input);
    naiveRotate(k, data, data.shape.kv_heads, input);
    if (input.turn_values) naiveRotate(v, data, data.shape.kv_heads, input);
  }
  NaiveHeads result = naiveHeads(q, k, v, data, input.attention);
  result.out = naiveLinear(result.out, data.output);
  return result;
}

inline Matrix sumOf(const Matrix& a, const Matrix& b) {
  Matrix sum = a;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

inline Matrix naiveBlock(const BlockData& data, const SelfAttentionInput& input) {
  const Matrix x(data.x.begin(), data.x.end());
  // The norms after are kNone in all but a sandwich.
  const auto added = [&](Matrix part, const NormData& after) {
    part = naiveNorm(std::move(part), after);
    for (double& value : part) value *= data.shape.residual;
    return part;
  };
  const auto attended = [&](const Matrix& a) {
    return added(naiveSelfAttention(a, data, input).out, data.attention_after);
  };
  const auto fed = [&](const Matrix& a) { return added(naiveFeedForward(a, data), data.feed_forward_after); };
  const auto n1 = [&](const Matrix& a) { return naiveNorm(a, data.attention_norm); };
  const auto n2 = [&](const Matrix& a) { return naiveNorm(a, data.feed_forward_norm); };
  if (data.shape.place == NormPlacement::kPost) {
    const Matrix h = n1(sumOf(x, attended(x)));
    return n2(sumOf(h, fed(h)));
  }
  if (data.shape.place == NormPlacement::kParallel) {
    const Matrix read = data.feed_forward_norm.options.kind == NormKind::kNone ? n1(x) : n2(x);
    return sumOf(sumOf(x, attended(n1(x))), fed(read));
  }
  const Matrix h = sumOf(x, attended(n1(x)));
  return sumOf(h, fed(n2(h)));
}

inline double errorShare(const std::vector<float>& got, const Matrix& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  Worst worst;
  for (size_t i = 0; i < got.size(); ++i) worst.add(got[i], want[i], tolerance);
  return worst.share();
}

}  // namespace ropewalk::test
