#include "layers/transformer_block.h"

#include <utility>
#include <vector>

#include "catch.h"
#include "encodings/rope_plan.h"
#include "layers/block_data.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr NormPlacement kPlaces[] = {NormPlacement::kPost, NormPlacement::kPre, NormPlacement::kSandwich,
                                     NormPlacement::kParallel};

// RoFormer and BERT; LLaMA; Gemma 3; GPT-NeoX.
BlockShape familyOf(NormPlacement place) {
  BlockShape shape;
  shape.model = 12;
  shape.heads = 3;
  shape.kv_heads = place == NormPlacement::kPost ? 3 : 1;
  shape.dim = place == NormPlacement::kSandwich ? 6 : 4;
  shape.value_dim = shape.dim;
  shape.hidden = 20;
  shape.place = place;
  const bool old = place == NormPlacement::kPost || place == NormPlacement::kParallel;
  shape.norm = old ? NormKind::kLayer : NormKind::kRms;
  shape.gated = !old;
  shape.biases = old;
  shape.activation = old                            ? Activation::kGelu
                     : place == NormPlacement::kPre ? Activation::kSilu
                                                    : Activation::kGeluTanh;
  shape.unit_offset = place == NormPlacement::kSandwich;
  if (place == NormPlacement::kSandwich) shape.head_norm = NormKind::kRms;
  return shape;
}

struct Captured {
  std::vector<float> normed, attention_out, hidden, mlp;

  explicit Captured(const BlockData& data) {
    for (auto* a : {&normed, &attention_out, &hidden, &mlp}) a->assign(data.x.size(), kNaN);
  }
  BlockCapture capture() { return {{}, normed.data(), attention_out.data(), hidden.data(), mlp.data()}; }
};

}  // namespace

TEST_CASE("A block agrees with its formula in double, for each place of the norms and each filling",
          "[layers]") {
  Random random(1);
  for (const NormPlacement place : kPlaces) {
    for (unsigned variant = 0; variant < 64; ++variant) {
      BlockShape shape = familyOf(place);
      if (variant & 1) shape.gated = !shape.gated;
      if (variant & 2) shape.biases = !shape.biases;
      if (variant & 4) shape.norm = NormKind::kLayer;
      shape.activation = static_cast<Activation>(variant % 5);
      if (variant % 3 == 1) shape.residual = 0.22f;
      const BlockData data(random, shape, variant % 3 + 1, 1 + variant % 7);
      RopePlan plan = planOf(ropeOptions(shape.dim, shape.dim));
      SelfAttentionInput input = data.input();
      if (variant & 8) input.rope = &plan;
      input.turn_values = (variant & 16) != 0;
      input.positions.offset = 17;
      if (variant & 32) {
        input.attention.causal = true;
        input.attention.window_left = 2;
        input.attention.softcap = 3;
      }
      INFO("place = " << static_cast<int>(place) << ", variant = " << variant);
      CHECK(errorShare(data.forward(data.block(), input), naiveBlock(data, input), data.tolerance()) <= 1);
    }
  }
}

TEST_CASE("A block takes relative tables and masks as attention does", "[layers]") {
  Random random(2);
  BlockShape shape = familyOf(NormPlacement::kPost);
  const BlockData data(random, shape, 2, 6);
  const std::vector<float> table = random.floats(13 * shape.dim);
  std::vector<uint8_t> keep(12, 1);
  keep[4] = keep[5] = keep[11] = 0;
  for (const bool with_key : {false, true}) {
    SelfAttentionInput input = data.input();
    input.attention.relative = {
        {6, false}, table.data(), with_key ? table.data() : nullptr, nullptr, nullptr};
    input.attention.keep = {keep.data(), 6, 0, 0, 1};
    CHECK(errorShare(data.forward(data.block(), input), naiveBlock(data, input), data.tolerance()) <= 1);
  }
}

TEST_CASE("Norms may be left out: OLMo 2 has none before, GPT-J reads one norm twice", "[layers]") {
  Random random(3);
  for (const NormPlacement place : {NormPlacement::kSandwich, NormPlacement::kParallel}) {
    BlockData data(random, familyOf(place), 2, 5);
    if (place == NormPlacement::kSandwich) data.attention_norm.options.kind = NormKind::kNone;
    data.feed_forward_norm.options.kind = NormKind::kNone;
    CHECK(errorShare(data.forward(data.block(), data.input()), naiveBlock(data, data.input()),
                     data.tolerance()) <= 1);
  }
}

TEST_CASE("A block may write over its input, and capturing changes no bit", "[layers]") {
  Random random(4);
  for (const NormPlacement place : kPlaces) {
    const BlockData data(random, familyOf(place), 2, 5);
    const TransformerBlock block = data.block();
    RopePlan plan = planOf(ropeOptions(data.shape.dim, data.shape.dim));
    SelfAttentionInput input = data.input();
    input.rope = &plan;
    const std::vector<float> expected = data.forward(block, input);
    std::vector<float> x = data.x;
    REQUIRE(block.forward(x.data(), x.data(), input) == Status::kOk);
    CHECK(sameBits(x, expected));

    Captured seen(data);
    std::vector<float> out(data.x.size(), kNaN);
    REQUIRE(block.forward(out.data(), data.x.data(), input, seen.capture()) == Status::kOk);
    CHECK(sameBits(out, expected));
    SelfAttention attention;
    REQUIRE(attention.create(data.attentionOptions(), data.attentionParts()) == Status::kOk);
    std::vector<float> again(data.x.size());
    REQUIRE(attention.forward(again.data(), seen.normed.data(), input) == Status::kOk);
    CHECK(sameBits(again, seen.attention_out));
    if (place == NormPlacement::kPost) CHECK(sameBits(seen.normed, data.x));
    if (place == NormPlacement::kPre) {
      for (size_t i = 0; i < out.size(); ++i) {
        CHECK(seen.hidden[i] == data.x[i] + seen.attention_out[i]);
        CHECK(out[i] == seen.hidden[i] + seen.mlp[i]);
      }
    }
    if (place == NormPlacement::kParallel) CHECK(std::isnan(seen.hidden[0]));
  }
}

TEST_CASE("Weights of two bytes give the bits of a float32 block with the same values", "[layers]") {
  Random random(5);
  for (const WeightType stored : {WeightType::kFloat16, WeightType::kBfloat16}) {
    for (const NormPlacement place : kPlaces) {
      const BlockData data(random, familyOf(place), 2, 5);
      BlockData wide = data;
      for (MatrixData BlockData::* part :
           {&BlockData::query, &BlockData::key, &BlockData::value, &BlockData::output, &BlockData::gate,
            &BlockData::up, &BlockData::down}) {
        wide.*part = (data.*part).as(stored);
      }
      const TransformerBlock block = data.block(stored);
      CHECK(sameBits(data.forward(block, data.input()), wide.forward(wide.block(), data.input())));
      CHECK(block.bytes() < data.block().bytes() * 3 / 4);
    }
  }
}

TEST_CASE("Weights of one byte cost what their steps cost", "[layers]") {
  Random random(6);
  for (const NormPlacement place : kPlaces) {
    const BlockData data(random, familyOf(place), 2, 5);
    BlockData seen = data;
    for (MatrixData BlockData::* part :
         {&BlockData::query, &BlockData::key, &BlockData::value, &BlockData::output, &BlockData::gate,
          &BlockData::up, &BlockData::down}) {
      const MatrixData& given = data.*part;
      seen.*part = given.as(WeightType::kInt8);
      // Half a step of the row: its largest magnitude / 254.
      Worst worst;
      for (size_t r = 0; r < given.n; ++r) {
        float largest = 0;
        for (size_t l = 0; l < given.k; ++l)
          largest = std::max(largest, std::fabs(given.weight[r * given.k + l]));
        for (size_t l = 0; l < given.k; ++l) {
          worst.add((seen.*part).weight[r * given.k + l], given.weight[r * given.k + l],
                    static_cast<double>(largest) / 254 * (1 + 4 * kUnit));
        }
      }
      CHECK(worst.share() <= 1);
    }
    const std::vector<float> out = data.forward(data.block(WeightType::kInt8), data.input());
    CHECK(errorShare(out, naiveBlock(seen, data.input()), data.tolerance()) <= 1);
  }
}

TEST_CASE("NaN stays in its row of the batch, and in its token without attention to it", "[layers]") {
  Random random(7);
  for (const NormPlacement place : kPlaces) {
    BlockData data(random, familyOf(place), 3, 4);
    const TransformerBlock block = data.block();
    SelfAttentionInput input = data.input();
    input.attention.causal = true;
    const std::vector<float> healthy = data.forward(block, input);
    const size_t row = 4 * data.shape.model;
    data.x[row + 2 * data.shape.model + 1] = kNaN;  // of the third token of the second entry
    const std::vector<float> out = data.forward(block, input);
    CHECK(sameBits(out.data(), healthy.data(), row + 2 * data.shape.model));
    for (size_t i = row + 2 * data.shape.model; i < 2 * row; ++i) CHECK(std::isnan(out[i]));
    CHECK(sameBits(out.data() + 2 * row, healthy.data() + 2 * row, row));
  }
}

TEST_CASE("A block of no tokens is no error, and one that does not fit leaves the old one in place",
          "[layers]") {
  Random random(8);
  const BlockData empty(random, familyOf(NormPlacement::kPre), 2, 0);
  CHECK(empty.forward(empty.block(), empty.input()).empty());

  const BlockData data(random, familyOf(NormPlacement::kSandwich), 1, 3);
  TransformerBlock block = data.block();
  const std::vector<float> before = data.forward(block, data.input());
  const auto refuses = [&](auto spoil) {
    BlockParts parts = data.parts();
    spoil(parts);
    CHECK(block.create(data.options(), std::move(parts)) == Status::kInvalidShape);
  };
  // Its maps can be asked for.
  std::vector<float> queries(3 * data.shape.heads * data.shape.dim, kNaN);
  std::vector<float> by_map(queries.size(), kNaN);
  block.attentionParts().query.apply(queries.data(), data.x.data(), 3);
  data.parts().attention.query.apply(by_map.data(), data.x.data(), 3);
  CHECK(sameBits(queries, by_map));

  const NormData other(random, NormKind::kRms, 5, false);
  refuses([&](BlockParts& p) { p.attention_norm = other.norm(); });
  refuses([&](BlockParts& p) { p.feed_forward_norm = other.norm(); });
  refuses([&](BlockParts& p) { p.attention_after_norm = other.norm(); });
  refuses([&](BlockParts& p) { p.feed_forward_after_norm = other.norm(); });
  refuses([](BlockParts& p) { p.attention.query = Linear(); });
  refuses([](BlockParts& p) { p.feed_forward.up = Linear(); });
  refuses([](BlockParts& p) { p.feed_forward.down = Linear(); });
  refuses([](BlockParts& p) { std::swap(p.feed_forward.gate, p.feed_forward.down); });
  const MatrixData narrow_up(random, 20, 7, false);
  const MatrixData narrow_down(random, 7, 20, false);
  refuses([&](BlockParts& p) {  // fits itself, but not the model
    p.feed_forward.gate = Linear();
    p.feed_forward.up = narrow_up.linear(WeightType::kFloat32);
    p.feed_forward.down = narrow_down.linear(WeightType::kFloat32);
  });
  const MatrixData router(random, 1, data.shape.model, false);
  BlockOptions routed = data.options();
  routed.placement = NormPlacement::kParallel;
  routed.feed_forward.chosen = 1;
  BlockParts experts = data.parts();
  experts.feed_forward.router = router.linear(WeightType::kFloat32);
  CHECK(block.create(routed, std::move(experts)) == Status::kInvalidShape);
  CHECK(sameBits(data.forward(block, data.input()), before));

  std::vector<float> out(data.x.size(), 7.0f);
  SelfAttentionInput huge = data.input();
  huge.tokens = SIZE_MAX / 8;
  CHECK(block.forward(out.data(), data.x.data(), huge) == Status::kInvalidShape);
  CHECK(out == std::vector<float>(data.x.size(), 7.0f));
}

}  // namespace ropewalk::test
