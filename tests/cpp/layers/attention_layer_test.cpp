#include "layers/attention_layer.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attention/naive_attention.h"
#include "catch.h"
#include "encodings/rope_plan.h"
#include "layers/layer_data.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

using Matrix = std::vector<double>;  // [rows, columns]

Matrix project(const Matrix& x, size_t k, const std::vector<float>& w, const float* bias) {
  const size_t n = w.size() / k;
  Matrix out;
  for (size_t i = 0; i < x.size() / k; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = bias == nullptr ? 0 : bias[j];
      for (size_t l = 0; l < k; ++l) sum += x[i * k + l] * w[j * k + l];
      out.push_back(sum);
    }
  }
  return out;
}

void rotateNaively(Matrix& x, const LayerData& data, size_t heads, const RopePlan& plan,
                   const Positions& positions) {
  const size_t pairs = plan.pairs();
  for (size_t b = 0; b < data.batch; ++b) {
    for (size_t t = 0; t < data.tokens; ++t) {
      const Tables row = tablesOf(plan, {positionOf(positions, b, t, data.batch, data.tokens)});
      for (size_t h = 0; h < heads; ++h) {
        double* head = x.data() + ((b * data.tokens + t) * heads + h) * data.options.head_dim;
        for (size_t j = 0; j < pairs; ++j) {
          const double first = head[j];
          const double second = head[pairs + j];
          head[j] = first * row.cos[j] - second * row.sin[j];
          head[pairs + j] = first * row.sin[j] + second * row.cos[j];
        }
      }
    }
  }
}

struct NaiveLayer {
  Matrix out;
  std::vector<double> probabilities;
};

NaiveLayer naiveLayer(const LayerData& data, bool with_bias, const AttentionLayerInput& input) {
  const auto& [model, heads, kv_heads, dim] = data.options;
  const AttentionLayerWeights w = data.weights(with_bias);
  Matrix x(data.x.begin(), data.x.end());
  for (size_t i = 0; input.added != nullptr && i < x.size(); ++i)
    x[i] += input.added[i % (data.tokens * model)];
  Matrix q = project(x, model, data.query, w.query_bias);
  Matrix k = project(x, model, data.key, w.key_bias);
  const Matrix v = project(x, model, data.value, w.value_bias);
  if (input.rope != nullptr) {
    rotateNaively(q, data, heads, *input.rope, input.positions);
    rotateNaively(k, data, kv_heads, *input.rope, input.positions);
  }
  AttentionOptions options = scaled(dim);
  options.causal = input.causal;
  options.keep = input.keep;
  const auto view = [&](const Matrix& m, size_t h) {
    return tokensFirst<const double>(m.data(), data.batch, h, data.tokens, dim);
  };
  const NaiveAttention naive = naiveAttention(view(q, heads), view(k, kv_heads), view(v, kv_heads), options);
  Matrix mixed(naive.out.size());  // [B, H, T, D] -> [B, T, H, D]
  const auto to = tokensFirst(mixed.data(), data.batch, heads, data.tokens, dim);
  const auto from = headsFirst(naive.out.data(), data.batch, heads, data.tokens, dim);
  for (size_t b = 0; b < data.batch; ++b) {
    for (size_t h = 0; h < heads; ++h) {
      for (size_t t = 0; t < data.tokens; ++t) std::copy_n(from.row(b, h, t), dim, to.row(b, h, t));
    }
  }
  return {project(mixed, heads * dim, data.output, w.output_bias), naive.probabilities};
}

// Every value on the way is of order 1 and meets M, D, T and H D roundings in the four stages; softmax at
// most doubles what the scores bring, and 4 covers the largest values of the seeded data.
double tolerance(const LayerData& data) {
  const AttentionLayerOptions& o = data.options;
  return 8 * static_cast<double>(o.model_dim + o.head_dim + data.tokens + o.heads * o.head_dim) * kUnit;
}

double largestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("A layer agrees with its stages in double, with and without biases, positions and masks",
          "[layers]") {
  Random random(1);
  const std::pair<AttentionLayerOptions, std::pair<size_t, size_t>> cases[] = {{{1, 1, 1, 2}, {1, 1}},
                                                                               {{12, 3, 3, 4}, {2, 5}},
                                                                               {{10, 4, 2, 6}, {3, 7}},
                                                                               {{64, 8, 1, 8}, {1, 33}},
                                                                               {{7, 2, 1, 10}, {2, 9}}};
  for (const auto& [options, size] : cases) {
    const LayerData data(random, options, size.first, size.second);
    RopePlan plan = planOf(ropeOptions(options.head_dim, options.head_dim));
    std::vector<int64_t> positions(data.batch * data.tokens);
    for (int64_t& p : positions) p = random.between(-1000, 100000);
    std::vector<uint8_t> keep(data.batch * data.tokens);
    for (uint8_t& k : keep) k = random.bits() % 4 != 0;
    for (unsigned variant = 0; variant < 32; ++variant) {
      const bool with_bias = variant % 2 != 0;
      AttentionLayerInput input = data.input();
      if (variant & 2) input.added = data.added.data();
      if (variant & 4) input.rope = &plan;
      if (variant & 4 && variant & 2) input.positions = {positions.data(), true, 0};
      input.causal = (variant & 8) != 0;
      if (variant & 16) input.keep = {keep.data(), data.tokens, 0, 0, 1};

      std::vector<float> out(data.x.size(), kNaN);
      std::vector<float> probabilities(data.probabilityCount(), kNaN);
      REQUIRE(data.layer(with_bias).forward(input, out.data(), probabilities.data()) == Status::kOk);
      const NaiveLayer naive = naiveLayer(data, with_bias, input);
      Worst worst;
      for (size_t i = 0; i < out.size(); ++i) worst.add(out[i], naive.out[i], tolerance(data));
      for (size_t i = 0; i < probabilities.size(); ++i) {
        worst.add(probabilities[i], naive.probabilities[i], tolerance(data));
      }
      INFO("model_dim = " << options.model_dim << ", tokens = " << data.tokens << ", variant = " << variant);
      CHECK(worst.share() <= 1);
    }
  }
}

TEST_CASE("Without positions a permuted input gives the permuted output", "[layers]") {
  Random random(2);
  const LayerData data(random, {12, 3, 1, 4}, 1, 8);
  const AttentionLayer layer = data.layer(true);
  const std::vector<float> out = data.forward(layer, data.input());
  constexpr size_t kOrder[] = {3, 7, 0, 1, 6, 2, 5, 4};
  LayerData permuted = data;
  std::vector<float> expected(out.size());
  for (size_t t = 0; t < 8; ++t) {
    std::copy_n(data.x.data() + kOrder[t] * 12, 12, permuted.x.data() + t * 12);
    std::copy_n(out.data() + kOrder[t] * 12, 12, expected.data() + t * 12);
  }
  CHECK(largestDifference(permuted.forward(layer, permuted.input()), expected) <= tolerance(data));

  RopePlan plan = planOf(ropeOptions(4, 4));
  AttentionLayerInput with_positions = permuted.input();
  with_positions.rope = &plan;
  CHECK(largestDifference(permuted.forward(layer, with_positions), expected) > 0.01);
}

TEST_CASE("Moving all rotary positions by the same distance changes nothing", "[layers]") {
  Random random(3);
  const LayerData data(random, {16, 2, 2, 8}, 2, 10);
  const AttentionLayer layer = data.layer(false);
  RopePlan plan = planOf(ropeOptions(8, 8));
  AttentionLayerInput input = data.input();
  input.rope = &plan;
  const std::vector<float> out = data.forward(layer, input);
  for (const int64_t offset : {int64_t{1}, int64_t{-5}, int64_t{1} << 40, kMaxPosition - 9}) {
    input.positions.offset = offset;
    CHECK(largestDifference(data.forward(layer, input), out) <= tolerance(data));
  }
}

TEST_CASE("A layer tells an xPos plan which rows are queries and which are keys", "[layers]") {
  Random random(9);
  const LayerData data(random, {16, 2, 2, 8}, 1, 10);
  const AttentionLayer layer = data.layer(false);
  RopeOptions options = ropeOptions(8, 8);
  options.xpos = {512, 0};
  RopePlan plan = planOf(options);
  AttentionLayerInput input = data.input();
  input.rope = &plan;
  const std::vector<float> out = data.forward(layer, input);
  input.positions.offset = 40;
  CHECK(largestDifference(data.forward(layer, input), out) <= tolerance(data));
}

TEST_CASE("A causal layer does not see the tokens to come", "[layers]") {
  Random random(4);
  LayerData data(random, {12, 2, 1, 6}, 1, 9);
  const AttentionLayer layer = data.layer(true);
  AttentionLayerInput input = data.input();
  input.causal = true;
  const std::vector<float> before = data.forward(layer, input);
  for (size_t i = 5 * 12; i < data.x.size(); ++i) data.x[i] += 1;
  const std::vector<float> after = data.forward(layer, input);
  CHECK(sameBits(before.data(), after.data(), 5 * 12));
  CHECK(!sameBits(before.data() + 5 * 12, after.data() + 5 * 12, 12));
}

TEST_CASE("The rows of a batch do not see each other", "[layers]") {
  Random random(5);
  const LayerData data(random, {10, 2, 2, 4}, 3, 6);
  const AttentionLayer layer = data.layer(true);
  const std::vector<float> whole = data.forward(layer, data.input());
  for (size_t b = 0; b < 3; ++b) {
    AttentionLayerInput one = data.input();
    one.x += b * 60;
    one.batch = 1;
    std::vector<float> out(60);
    REQUIRE(layer.forward(one, out.data(), nullptr) == Status::kOk);
    CHECK(sameBits(out.data(), whole.data() + b * 60, 60));
  }
}

TEST_CASE("A layer of no tokens or no batch is no error", "[layers]") {
  Random random(6);
  const LayerData data(random, {4, 1, 1, 4}, 1, 0);
  CHECK(data.forward(data.layer(true), data.input()).empty());
  const LayerData no_batch(random, {4, 1, 1, 4}, 0, 3);
  CHECK(no_batch.forward(no_batch.layer(true), no_batch.input()).empty());
}

TEST_CASE("A layer that cannot be made leaves the old one in place", "[layers]") {
  Random random(7);
  const LayerData data(random, {6, 4, 2, 4}, 1, 3);
  AttentionLayer layer = data.layer(true);
  const std::vector<float> before = data.forward(layer, data.input());
  const AttentionLayerOptions wrong[] = {{0, 4, 2, 4},
                                         {6, 0, 2, 4},
                                         {6, 4, 0, 4},
                                         {6, 4, 2, 0},
                                         {6, 4, 3, 4},
                                         {6, 2, 4, 4},
                                         {6, SIZE_MAX, 1, SIZE_MAX}};
  for (const AttentionLayerOptions& options : wrong) {
    CHECK(layer.create(options, data.weights(true)) == Status::kInvalidShape);
  }
  CHECK(layer.create({SIZE_MAX / 4, 4, 4, 4}, data.weights(false)) == Status::kOutOfMemory);
  CHECK(layer.options().model_dim == 6);
  CHECK(sameBits(data.forward(layer, data.input()), before));
}

TEST_CASE("An input that does not fit leaves out as it was", "[layers]") {
  Random random(8);
  const LayerData data(random, {6, 2, 1, 4}, 1, 3);
  const AttentionLayer layer = data.layer(true);
  std::vector<float> out(18, 7.0f);
  std::vector<float> probabilities(18, 7.0f);
  const auto statusOf = [&](const AttentionLayerInput& input) {
    return layer.forward(input, out.data(), probabilities.data());
  };
  AttentionLayerInput huge = data.input();
  huge.batch = SIZE_MAX / 2;
  CHECK(statusOf(huge) == Status::kInvalidShape);
  huge.batch = 1;
  huge.tokens = SIZE_MAX / 4;
  CHECK(statusOf(huge) == Status::kInvalidShape);

  AttentionLayerInput input = data.input();
  RopePlan other = planOf(ropeOptions(6, 4));
  input.rope = &other;
  CHECK(statusOf(input) == Status::kInvalidShape);
  RopePlan plan = planOf(ropeOptions(4, 4));
  input.rope = &plan;
  input.positions.offset = kMaxPosition - 1;
  CHECK(statusOf(input) == Status::kPositionOutOfRange);
  CHECK(out == std::vector<float>(18, 7.0f));
  CHECK(probabilities == out);
  input.positions.offset = kMaxPosition - 2;
  CHECK(statusOf(input) == Status::kOk);
}

}  // namespace ropewalk::test
