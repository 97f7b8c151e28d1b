#include "attention/attention.h"

#include <vector>

#include "attention/naive_attention.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {

TEST_CASE("Attention of any shape agrees with a naive one in double, in both layouts", "[attention]") {
  Random random(1);
  const AttentionShape shapes[] = {
      {1, 1, 1, 1, 1, 1, 1},     {1, 1, 1, 5, 7, 4, 4},    {2, 3, 3, 4, 6, 8, 8},
      {2, 4, 2, 3, 9, 5, 7},     {1, 6, 2, 8, 8, 16, 3},   {3, 4, 1, 2, 17, 13, 19},
      {1, 2, 1, 33, 67, 64, 64}, {2, 2, 2, 1, 40, 32, 32}, {1, 1, 1, 3, 1021, 24, 10}};
  for (const AttentionShape& shape : shapes) {
    for (const bool heads_first : {true, false}) {
      AttentionData data(random, shape, heads_first);
      const AttentionOptions options = scaled(shape.dim);
      REQUIRE(data.run(options) == Status::kOk);
      INFO("queries = " << shape.queries << ", keys = " << shape.keys << ", dim = " << shape.dim);
      CHECK(data.errorShare(options) <= 1);
    }
  }
}

TEST_CASE("Attention agrees with a naive one at every number of keys and every head size", "[attention]") {
  Random random(2);
  for (size_t n = 1; n < 68; ++n) {
    AttentionData keys(random, {1, 1, 1, 2, n, 6, 5});
    REQUIRE(keys.run(scaled(6)) == Status::kOk);
    AttentionData dims(random, {1, 2, 1, 2, 5, n, 68 - n});
    REQUIRE(dims.run(scaled(n)) == Status::kOk);
    INFO("n = " << n);
    CHECK(keys.errorShare(scaled(6)) <= 1);
    CHECK(dims.errorShare(scaled(n)) <= 1);
  }
}

TEST_CASE("Probabilities are not needed for the output", "[attention]") {
  Random random(3);
  AttentionData data(random, {2, 4, 2, 5, 6, 8, 8});
  REQUIRE(data.run(scaled(8)) == Status::kOk);
  const std::vector<float> out = data.out;
  REQUIRE(attention(data.outView(), data.queryView(), data.keyView(), data.valueView(), scaled(8)) ==
          Status::kOk);
  CHECK(sameBits(data.out, out));
}

TEST_CASE("Scores can be had before the masks, before the softmax and after it", "[attention]") {
  Random random(10);
  AttentionData data(random, {1, 2, 1, 3, 6, 8, 8});
  const std::vector<float> bias = {0.5f, -kInfinity, 1, 2, -1, 3};
  AttentionOptions options = scaled(8);
  options.causal = true;
  options.query_offset = 2;
  options.bias = {bias.data(), 0, 0, 0, 1};
  REQUIRE(data.run(options) == Status::kOk);
  const std::vector<float> out = data.out;
  const auto scoresAt = [&](float* ScoreOutputs::* stage) {
    std::vector<float> scores(36, kNaN);
    ScoreOutputs outputs;
    outputs.*stage = scores.data();
    REQUIRE(attention(data.outView(), data.queryView(), data.keyView(), data.valueView(), options, outputs) ==
            Status::kOk);
    CHECK(sameBits(data.out, out));
    return scores;
  };
  const std::vector<float> raw = scoresAt(&ScoreOutputs::raw);
  const std::vector<float> biased = scoresAt(&ScoreOutputs::biased);
  CHECK(sameBits(scoresAt(&ScoreOutputs::probabilities), data.probabilities));
  Worst worst;
  for (size_t h = 0; h < 2; ++h) {
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 6; ++j) {
        double sum = 0;
        for (size_t d = 0; d < 8; ++d) {
          sum += static_cast<double>(data.queryView().row(0, h, i)[d]) * data.keyView().row(0, 0, j)[d];
        }
        const size_t at = (h * 3 + i) * 6 + j;
        worst.add(raw[at], options.scale * sum,
                  8 * kUnit * 32 * options.scale);  // eight products of at most 4
        CHECK(biased[at] == (isHidden(options, 0, h, i, j) ? -kInfinity : raw[at] + bias[j]));
      }
    }
  }
  CHECK(worst.share() <= 1);
}

TEST_CASE("Every row of probabilities sums to 1", "[attention]") {
  Random random(4);
  AttentionData data(random, {2, 3, 1, 7, 29, 8, 4});
  AttentionOptions options = scaled(8);
  options.causal = true;
  options.query_offset = 22;
  REQUIRE(data.run(options) == Status::kOk);
  for (size_t row = 0; row < 42; ++row) {
    double sum = 0;
    for (size_t j = 0; j < 29; ++j) sum += data.probabilities[row * 29 + j];
    CHECK(std::fabs(sum - 1) <= 31 * kUnit);
  }
}

TEST_CASE("A query head reads the key head of its group", "[attention]") {
  Random random(5);
  AttentionData grouped(random, {2, 6, 2, 3, 5, 4, 4});
  AttentionData repeated(random, {2, 6, 6, 3, 5, 4, 4});
  repeated.q = grouped.q;
  for (size_t b = 0; b < 2; ++b) {
    for (size_t h = 0; h < 6; ++h) {
      std::copy_n(grouped.k.data() + (b * 2 + h / 3) * 20, 20, repeated.k.data() + (b * 6 + h) * 20);
      std::copy_n(grouped.v.data() + (b * 2 + h / 3) * 20, 20, repeated.v.data() + (b * 6 + h) * 20);
    }
  }
  REQUIRE(grouped.run(scaled(4)) == Status::kOk);
  REQUIRE(repeated.run(scaled(4)) == Status::kOk);
  CHECK(sameBits(grouped.out, repeated.out));
}

TEST_CASE("Queries one at a time give what they give together", "[attention]") {
  Random random(6);
  AttentionData data(random, {1, 2, 1, 9, 9, 16, 16});
  AttentionOptions options = scaled(16);
  options.causal = true;
  REQUIRE(data.run(options) == Status::kOk);
  for (size_t i = 0; i < 9; ++i) {
    AttentionData one(random, {1, 2, 1, 1, 9, 16, 16});
    one.k = data.k;
    one.v = data.v;
    for (size_t h = 0; h < 2; ++h) std::copy_n(data.queryView().row(0, h, i), 16, one.q.data() + h * 16);
    options.query_offset = static_cast<int64_t>(i);
    REQUIRE(one.run(options) == Status::kOk);
    for (size_t h = 0; h < 2; ++h)
      CHECK(sameBits(one.outView().row(0, h, 0), data.outView().row(0, h, i), 16));
  }
}

TEST_CASE("The scale multiplies scores", "[attention]") {
  Random random(7);
  AttentionData data(random, {1, 1, 1, 4, 6, 5, 5});
  for (const float scale : {0.0f, 1.0f, -0.5f, 20.0f}) {
    AttentionOptions options;
    options.scale = scale;
    REQUIRE(data.run(options) == Status::kOk);
    CHECK(data.errorShare(options) <= 1);
  }
}

TEST_CASE("A mean over hundreds of thousands of keys is still that mean", "[attention]") {
  Random random(11);
  AttentionData data(random, {1, 1, 1, 1, 300000, 1, 1});
  data.q[0] = 0;
  data.v.assign(data.v.size(), 7.0f);
  REQUIRE(data.run(scaled(1)) == Status::kOk);
  CHECK(std::fabs(data.out[0] / 7 - 1) <= 100 * kUnit);
}

TEST_CASE("Attention over nothing is no error", "[attention]") {
  Random random(8);
  AttentionData no_keys(random, {1, 2, 1, 3, 0, 4, 5});
  REQUIRE(no_keys.run(scaled(4)) == Status::kOk);
  CHECK(no_keys.out == std::vector<float>(30, 0.0f));
  AttentionData no_queries(random, {1, 2, 1, 0, 3, 4, 5});
  CHECK(no_queries.run(scaled(4)) == Status::kOk);
  AttentionData no_batch(random, {0, 2, 1, 3, 3, 4, 5});
  CHECK(no_batch.run(scaled(4)) == Status::kOk);
  AttentionData no_dim(random, {1, 1, 1, 2, 4, 0, 3});
  REQUIRE(no_dim.run(scaled(1)) == Status::kOk);
  CHECK(no_dim.probabilities == std::vector<float>(8, 0.25f));
  AttentionData no_values(random, {1, 1, 1, 2, 4, 3, 0});
  CHECK(no_values.run(scaled(3)) == Status::kOk);
}

TEST_CASE("Shapes that do not fit each other are refused and out stays as it was", "[attention]") {
  Random random(9);
  const AttentionShape right = {2, 4, 2, 3, 5, 6, 7};
  AttentionData data(random, right);
  const auto q = data.queryView();
  const auto k = data.keyView();
  const auto v = data.valueView();
  const auto out = data.outView();
  const auto refused = [&](HeadView<float> o, HeadView<const float> a, HeadView<const float> b,
                           HeadView<const float> c) {
    return attention(o, a, b, c, scaled(6)) == Status::kInvalidShape;
  };
  const auto with = [](auto view, auto member, size_t value) {
    view.*member = value;
    return view;
  };
  using In = HeadView<const float>;
  using Out = HeadView<float>;
  CHECK(refused(with(out, &Out::batch, 1), q, k, v));
  CHECK(refused(with(out, &Out::heads, 2), q, k, v));
  CHECK(refused(with(out, &Out::tokens, 4), q, k, v));
  CHECK(refused(with(out, &Out::dim, 6), q, k, v));
  CHECK(refused(out, with(q, &In::batch, 1), k, v));
  CHECK(refused(out, with(q, &In::heads, 3), k, v));
  CHECK(refused(out, with(q, &In::dim, 5), k, v));
  CHECK(refused(out, q, with(k, &In::batch, 3), v));
  CHECK(refused(out, q, with(k, &In::heads, 1), v));
  CHECK(refused(out, q, with(k, &In::heads, 0), with(v, &In::heads, 0)));
  CHECK(refused(out, q, with(k, &In::heads, 3), with(v, &In::heads, 3)));
  CHECK(refused(out, q, with(k, &In::tokens, 4), v));
  CHECK(refused(out, q, with(k, &In::dim, 7), v));
  CHECK(refused(out, q, k, with(v, &In::tokens, 6)));
  CHECK(refused(out, q, k, with(v, &In::batch, 1)));
  for (const float x : data.out) CHECK(std::isnan(x));
  CHECK(attention(out, q, k, v, scaled(6)) == Status::kOk);
}

}  // namespace ropewalk::test
