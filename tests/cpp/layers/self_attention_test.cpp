#include "layers/self_attention.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "catch.h"
#include "encodings/rope_plan.h"
#include "layers/block_data.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

BlockShape shapeOf(size_t model, size_t heads, size_t kv_heads, size_t dim, size_t value_dim) {
  BlockShape shape;
  shape.model = model;
  shape.heads = heads;
  shape.kv_heads = kv_heads;
  shape.dim = dim;
  shape.value_dim = value_dim;
  return shape;
}

// Room for everything that an attention layer computes on its way.
struct Captured {
  std::vector<float> q, k, v, q_rotated, k_rotated, v_rotated, context;
  std::vector<float> content, position, raw, capped, biased, probabilities;
  AttentionCapture capture;

  explicit Captured(const BlockData& data) {
    const BlockShape& s = data.shape;
    const size_t rows = data.batch * data.tokens;
    for (auto* a : {&q, &q_rotated}) a->assign(rows * s.heads * s.dim, kNaN);
    for (auto* a : {&k, &k_rotated}) a->assign(rows * s.kv_heads * s.dim, kNaN);
    for (auto* a : {&v, &v_rotated}) a->assign(rows * s.kv_heads * s.value_dim, kNaN);
    context.assign(rows * s.heads * s.value_dim, kNaN);
    for (auto* a : {&content, &position, &raw, &capped, &biased, &probabilities})
      a->assign(data.scoreCount(), kNaN);
    capture.q = q.data();
    capture.k = k.data();
    capture.v = v.data();
    capture.q_rotated = q_rotated.data();
    capture.k_rotated = k_rotated.data();
    capture.v_rotated = v_rotated.data();
    capture.context = context.data();
    capture.scores.content = content.data();
    capture.scores.position = position.data();
    capture.scores.raw = raw.data();
    capture.scores.capped = capped.data();
    capture.scores.biased = biased.data();
    capture.scores.probabilities = probabilities.data();
  }
};

}  // namespace

TEST_CASE("Self-attention agrees with its stages in double, with biases, norms, positions and masks",
          "[layers]") {
  Random random(1);
  const std::pair<BlockShape, std::pair<size_t, size_t>> cases[] = {{shapeOf(1, 1, 1, 2, 2), {1, 1}},
                                                                    {shapeOf(12, 3, 3, 4, 5), {2, 5}},
                                                                    {shapeOf(10, 4, 2, 6, 6), {3, 7}},
                                                                    {shapeOf(64, 8, 1, 8, 3), {1, 33}},
                                                                    {shapeOf(7, 2, 1, 10, 10), {2, 9}}};
  for (const auto& [sizes, count] : cases) {
    for (unsigned variant = 0; variant < 64; ++variant) {
      BlockShape shape = sizes;
      shape.biases = (variant & 1) != 0;
      if (variant & 2) shape.head_norm = variant & 4 ? NormKind::kRms : NormKind::kLayer;
      shape.whole_head_norm = (variant & 8) != 0;
      shape.own_head_norms = (variant & 24) == 16;
      shape.unit_offset = (variant & 16) != 0;
      const BlockData data(random, shape, count.first, count.second);
      std::vector<int64_t> positions(data.batch * data.tokens);
      for (int64_t& p : positions) p = random.between(-1000, 100000);
      std::vector<uint8_t> keep(data.batch * data.tokens);
      for (uint8_t& k : keep) k = random.bits() % 4 != 0;

      RopePlan plan = planOf(ropeOptions(shape.dim, shape.dim));
      SelfAttentionInput input = data.input();
      if (variant & 4) input.rope = &plan;
      if (variant & 8) input.positions = {positions.data(), true, 0};
      input.turn_values = (variant & 32) != 0 && shape.value_dim == shape.dim;
      input.attention.causal = (variant & 16) != 0;
      if (variant & 32) input.attention.keep = {keep.data(), data.tokens, 0, 0, 1};

      std::vector<float> out(data.x.size(), kNaN);
      std::vector<float> probabilities(data.scoreCount(), kNaN);
      AttentionCapture capture;
      capture.scores.probabilities = probabilities.data();
      REQUIRE(data.attention().forward(out.data(), data.x.data(), input, capture) == Status::kOk);
      const Matrix x(data.x.begin(), data.x.end());
      const NaiveHeads naive = naiveSelfAttention(x, data, input);
      INFO("model_dim = " << shape.model << ", tokens = " << data.tokens << ", variant = " << variant);
      CHECK(errorShare(out, naive.out, data.tolerance()) <= 1);
      CHECK(errorShare(probabilities, naive.probabilities, data.tolerance()) <= 1);
    }
  }
}

TEST_CASE("Without positions a permuted input gives the permuted output", "[layers]") {
  Random random(2);
  const BlockData data(random, shapeOf(12, 3, 1, 4, 4), 1, 8);
  const SelfAttention layer = data.attention();
  const std::vector<float> out = data.forward(layer, data.input());
  constexpr size_t kOrder[] = {3, 7, 0, 1, 6, 2, 5, 4};
  BlockData permuted = data;
  std::vector<float> expected(out.size());
  for (size_t t = 0; t < 8; ++t) {
    std::copy_n(data.x.data() + kOrder[t] * 12, 12, permuted.x.data() + t * 12);
    std::copy_n(out.data() + kOrder[t] * 12, 12, expected.data() + t * 12);
  }
  CHECK(largestDifference(permuted.forward(layer, permuted.input()), expected) <= data.tolerance());

  RopePlan plan = planOf(ropeOptions(4, 4));
  SelfAttentionInput with_positions = permuted.input();
  with_positions.rope = &plan;
  CHECK(largestDifference(permuted.forward(layer, with_positions), expected) > 0.01);
}

TEST_CASE("Moving all rotary positions by the same distance changes nothing, xPos included", "[layers]") {
  Random random(3);
  const BlockData data(random, shapeOf(16, 2, 2, 8, 8), 2, 10);
  const SelfAttention layer = data.attention();
  RopeOptions with_xpos = ropeOptions(8, 8);
  with_xpos.xpos = {512, 0};
  RopePlan plans[] = {planOf(ropeOptions(8, 8)), planOf(with_xpos)};
  SelfAttentionInput input = data.input();
  for (RopePlan& plan : plans) {
    input.rope = &plan;
    input.positions.offset = 0;
    const std::vector<float> out = data.forward(layer, input);
    for (const int64_t offset : {int64_t{1}, int64_t{-5}, int64_t{40}}) {
      input.positions.offset = offset;
      CHECK(largestDifference(data.forward(layer, input), out) <= data.tolerance());
    }
  }
  input.rope = &plans[0];
  const std::vector<float> out = data.forward(layer, input);
  for (const int64_t offset : {int64_t{1} << 40, kMaxPosition - 9}) {
    input.positions.offset = offset;
    CHECK(largestDifference(data.forward(layer, input), out) <= data.tolerance());
  }
}

TEST_CASE("Causal self-attention does not see the tokens to come", "[layers]") {
  Random random(4);
  BlockData data(random, shapeOf(12, 2, 1, 6, 6), 1, 9);
  const SelfAttention layer = data.attention();
  SelfAttentionInput input = data.input();
  input.attention.causal = true;
  const std::vector<float> before = data.forward(layer, input);
  for (size_t i = 5 * 12; i < data.x.size(); ++i) data.x[i] += 1;
  const std::vector<float> after = data.forward(layer, input);
  CHECK(sameBits(before.data(), after.data(), 5 * 12));
  CHECK(!sameBits(before.data() + 5 * 12, after.data() + 5 * 12, 12));
}

TEST_CASE("What is captured are the numbers that self-attention goes on with, and asking changes no bit",
          "[layers]") {
  Random random(5);
  BlockShape shape = shapeOf(10, 4, 2, 6, 6);
  shape.head_norm = NormKind::kRms;
  shape.biases = true;
  const BlockData data(random, shape, 2, 5);
  const SelfAttention layer = data.attention();
  RopePlan plan = planOf(ropeOptions(6, 4));
  for (RopePlan* rope : {&plan, static_cast<RopePlan*>(nullptr)}) {
    SelfAttentionInput input = data.input();
    input.rope = rope;
    input.positions.offset = 30;
    input.turn_values = true;
    input.attention.causal = true;
    input.attention.softcap = 2;
    Captured all(data);
    std::vector<float> out(data.x.size(), kNaN);
    REQUIRE(layer.forward(out.data(), data.x.data(), input, all.capture) == Status::kOk);
    CHECK(sameBits(out, data.forward(layer, input)));
    for (float* AttentionCapture::* one :
         {&AttentionCapture::q, &AttentionCapture::k_rotated, &AttentionCapture::context}) {
      Captured only(data);
      AttentionCapture capture;
      capture.*one = only.capture.*one;
      REQUIRE(layer.forward(out.data(), data.x.data(), input, capture) == Status::kOk);
      CHECK(sameBits(out, data.forward(layer, input)));
    }
    Captured split(data);
    AttentionCapture parts;
    parts.scores.content = split.content.data();
    REQUIRE(layer.forward(out.data(), data.x.data(), input, parts) == Status::kOk);
    CHECK(sameBits(out, data.forward(layer, input)));
    CHECK(sameBits(split.content, all.content));

    // Each leads to the next.
    const auto turned = [&](std::vector<float> heads, size_t count) {
      if (rope != nullptr) {
        REQUIRE(rope->rotate(tokensFirst(heads.data(), 2, count, 5, 6), input.positions) == Status::kOk);
      }
      return heads;
    };
    CHECK(sameBits(turned(all.q, 4), all.q_rotated));
    CHECK(sameBits(turned(all.k, 2), all.k_rotated));
    CHECK(sameBits(turned(all.v, 2), all.v_rotated));
    std::vector<float> projected(data.x.size());
    data.output.linear(WeightType::kFloat32).apply(projected.data(), all.context.data(), 10);
    CHECK(sameBits(projected, out));
    const Matrix x(data.x.begin(), data.x.end());
    CHECK(errorShare(all.q, naiveNorm(naiveLinear(x, data.query), data.query_norm), data.tolerance()) <= 1);
    CHECK(errorShare(all.v, naiveLinear(x, data.value), data.tolerance()) <= 1);

    for (size_t row = 0; row < data.scoreCount(); row += 5) {
      double sum = 0;
      for (size_t j = 0; j < 5; ++j) sum += static_cast<double>(all.probabilities[row + j]);
      CHECK(std::fabs(sum - 1) <= 8 * kUnit);
    }
    Worst worst;
    for (size_t n = 0; n < data.scoreCount(); ++n) {
      const size_t row = n / 5;
      const size_t i = row % 5;
      const size_t h = row / 5 % 4;
      const size_t b = row / 20;
      double content = 0;
      for (size_t d = 0; d < 6; ++d) {
        content += static_cast<double>(all.q[((b * 5 + i) * 4 + h) * 6 + d]) *
                   all.k[((b * 5 + n % 5) * 2 + h / 2) * 6 + d];
      }
      worst.add(all.content[n], input.attention.scale * content, 16 * kUnit);
      worst.add(static_cast<double>(all.content[n]) + all.position[n], all.raw[n], 4 * kUnit);
      worst.add(all.capped[n], 2 * std::tanh(all.raw[n] / 2), 8 * kUnit);
      worst.add(all.biased[n], n % 5 > i ? -kInfinity : all.capped[n], 0);
    }
    CHECK(worst.share() <= 1);
  }
}

TEST_CASE("Self-attention may write over its input, and rows of a batch do not see each other", "[layers]") {
  Random random(6);
  BlockData data(random, shapeOf(10, 2, 2, 4, 4), 3, 6);
  const SelfAttention layer = data.attention();
  const std::vector<float> whole = data.forward(layer, data.input());
  SelfAttentionInput one = data.input();
  one.batch = 1;
  for (size_t b = 0; b < 3; ++b) {
    std::vector<float> out(60);
    REQUIRE(layer.forward(out.data(), data.x.data() + b * 60, one) == Status::kOk);
    CHECK(sameBits(out.data(), whole.data() + b * 60, 60));
  }
  data.x[70] = kNaN;
  const std::vector<float> spoilt = data.forward(layer, data.input());
  CHECK(sameBits(spoilt.data(), whole.data(), 60));
  CHECK(std::isnan(spoilt[60]));
  CHECK(sameBits(spoilt.data() + 120, whole.data() + 120, 60));
  std::vector<float> x = data.x;
  REQUIRE(layer.forward(x.data(), x.data(), data.input()) == Status::kOk);
  CHECK(sameBits(x.data() + 120, whole.data() + 120, 60));
}

TEST_CASE("Self-attention of no tokens or no batch is no error", "[layers]") {
  Random random(7);
  const BlockData data(random, shapeOf(4, 1, 1, 4, 4), 1, 0);
  CHECK(data.forward(data.attention(), data.input()).empty());
  const BlockData no_batch(random, shapeOf(4, 1, 1, 4, 4), 0, 3);
  CHECK(no_batch.forward(no_batch.attention(), no_batch.input()).empty());
}

TEST_CASE("Parts that do not fit leave the old attention in place", "[layers]") {
  Random random(8);
  BlockShape shape = shapeOf(6, 4, 2, 4, 3);
  shape.head_norm = NormKind::kRms;
  const BlockData data(random, shape, 1, 3);
  SelfAttention layer = data.attention();
  const std::vector<float> before = data.forward(layer, data.input());
  const SelfAttentionOptions wrong[] = {{0, 4, 2, 4, 3}, {6, 0, 2, 4, 3}, {6, 4, 0, 4, 3},
                                        {6, 4, 2, 0, 3}, {6, 4, 2, 4, 0}, {6, 4, 3, 4, 3},
                                        {6, 2, 4, 4, 3}, {6, 4, 2, 4, 4}, {6, SIZE_MAX, 1, SIZE_MAX, 1}};
  for (const SelfAttentionOptions& options : wrong) {
    CHECK(layer.create(options, data.attentionParts()) == Status::kInvalidShape);
  }
  const auto refuses = [&](auto spoil) {
    SelfAttentionParts parts = data.attentionParts();
    spoil(parts);
    CHECK(layer.create(data.attentionOptions(), std::move(parts)) == Status::kInvalidShape);
  };
  refuses([](SelfAttentionParts& p) { p.query = Linear(); });
  refuses([](SelfAttentionParts& p) { p.key = Linear(); });
  refuses([](SelfAttentionParts& p) { std::swap(p.key, p.value); });
  refuses([](SelfAttentionParts& p) { p.output = Linear(); });
  const NormData other(random, NormKind::kRms, 5, false);
  refuses([&](SelfAttentionParts& p) { p.query_norm = other.norm(); });
  refuses([&](SelfAttentionParts& p) { p.key_norm = other.norm(); });
  const NormData sets(random, NormKind::kRms, 4, false, 3);
  refuses([&](SelfAttentionParts& p) { p.query_norm = sets.norm(); });
  CHECK(sameBits(data.forward(layer, data.input()), before));
  CHECK(layer.bytes() == 4 * (16 * 6 + 16 * 6 + 16 * 6 + 16 * 12 + 4 + 4));  // rows fill up panels of 16
}

TEST_CASE("An input that does not fit leaves out as it was", "[layers]") {
  Random random(9);
  const BlockData data(random, shapeOf(6, 2, 1, 4, 4), 1, 3);
  const SelfAttention layer = data.attention();
  std::vector<float> out(18, 7.0f);
  const auto statusOf = [&](const SelfAttentionInput& input) {
    return layer.forward(out.data(), data.x.data(), input);
  };
  SelfAttentionInput huge = data.input();
  huge.batch = SIZE_MAX / 2;
  CHECK(statusOf(huge) == Status::kInvalidShape);
  huge.batch = 1;
  huge.tokens = SIZE_MAX / 4;
  CHECK(statusOf(huge) == Status::kInvalidShape);

  SelfAttentionInput input = data.input();
  RopePlan other = planOf(ropeOptions(6, 4));
  input.rope = &other;
  CHECK(statusOf(input) == Status::kInvalidShape);
  RopeOptions with_xpos = ropeOptions(4, 4);
  with_xpos.xpos = {512, 0};
  RopePlan xpos = planOf(with_xpos);
  input.rope = &xpos;
  input.turn_values = true;
  CHECK(statusOf(input) == Status::kInvalidArgument);
  input.turn_values = false;
  RopePlan plan = planOf(ropeOptions(4, 4));
  input.rope = &plan;
  input.positions.offset = kMaxPosition - 1;
  CHECK(statusOf(input) == Status::kPositionOutOfRange);
  CHECK(out == std::vector<float>(18, 7.0f));
  input.positions.offset = kMaxPosition - 2;
  CHECK(statusOf(input) == Status::kOk);
}

}  // namespace ropewalk::test
