#include "models/layer_stack.h"

#include <algorithm>
#include <vector>

#include "catch.h"
#include "layers/block_data.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr size_t kLayers = 3;
constexpr size_t kBatch = 2;
constexpr size_t kTokens = 7;
constexpr size_t kModel = 12;

BlockShape shapeOf(size_t layer) {
  BlockShape shape;
  shape.model = kModel;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.dim = 6;
  shape.value_dim = 6;
  shape.hidden = 20;
  shape.place = layer == 1 ? NormPlacement::kSandwich : NormPlacement::kPre;
  return shape;
}

// A model whose layers differ: the second sees a window and has no rotary encoding.
struct StackData {
  std::vector<BlockData> data;
  std::vector<TransformerBlock> blocks;
  RopePlan plan = planOf(ropeOptions(6, 6));
  LayerStack stack;

  explicit StackData(Random& random) {
    REQUIRE(stack.create(kLayers) == Status::kOk);
    for (size_t i = 0; i < kLayers; ++i) {
      data.emplace_back(random, shapeOf(i), kBatch, kTokens);
      blocks.push_back(data[i].block());
    }
    for (size_t i = 0; i < kLayers; ++i) {
      StackLayer layer;
      layer.block = &blocks[i];
      layer.rope = i == 1 ? nullptr : &plan;
      layer.attention = data[i].input().attention;
      layer.attention.causal = true;
      layer.attention.window_left = i == 1 ? 2 : -1;
      stack.set(i, layer);
    }
  }

  const std::vector<float>& x() const { return data[0].x; }

  // Layer by layer, in double.
  Matrix expected(const StackInput& input) {
    Matrix x(this->x().begin(), this->x().end());
    for (size_t i = 0; i < kLayers; ++i) {
      BlockData layer = data[i];
      layer.x.assign(x.begin(), x.end());
      SelfAttentionInput in = layer.input();
      in.rope = i == 1 ? nullptr : &plan;
      in.positions = input.positions;
      in.attention.causal = true;
      in.attention.window_left = i == 1 ? 2 : -1;
      in.attention.keep = input.keep;
      x = naiveBlock(layer, in);
    }
    return x;
  }

  double tolerance() const { return 8 * kLayers * data[0].tolerance(); }

  std::vector<KvCache> caches() {
    std::vector<KvCache> made(kLayers);
    for (size_t i = 0; i < kLayers; ++i) {
      KvCacheOptions options;
      options.batch = kBatch;
      options.kv_heads = 2;
      options.head_dim = options.value_dim = 6;
      options.plan = i == 1 ? nullptr : &plan;
      options.keys = i == 1 ? CachedKeys::kPlain : CachedKeys::kRotated;
      if (i == 1) options.window.size = 3;
      REQUIRE(made[i].create(options) == Status::kOk);
    }
    return made;
  }
};

std::vector<KvCache*> listOf(std::vector<KvCache>& caches) {
  std::vector<KvCache*> list;
  for (KvCache& cache : caches) list.push_back(&cache);
  return list;
}

StackInput whole() {
  StackInput input;
  input.batch = kBatch;
  input.tokens = kTokens;
  return input;
}

std::vector<float> tokensOf(const std::vector<float>& x, size_t first, size_t count) {
  std::vector<float> rows;
  for (size_t b = 0; b < kBatch; ++b) {
    const auto start = x.begin() + static_cast<std::ptrdiff_t>((b * kTokens + first) * kModel);
    rows.insert(rows.end(), start, start + static_cast<std::ptrdiff_t>(count * kModel));
  }
  return rows;
}

}  // namespace

TEST_CASE("A stack is its layers one after the other, wherever it is interrupted", "[models]") {
  Random random(1);
  StackData model(random);
  std::vector<uint8_t> keep(kBatch * kTokens, 1);
  keep[2] = keep[kTokens] = 0;
  for (const bool masked : {false, true}) {
    for (const int64_t offset : {int64_t{0}, int64_t{1000}}) {
      StackInput input = whole();
      input.positions.offset = offset;
      if (masked) input.keep = {keep.data(), kTokens, 0, 0, 1};
      std::vector<float> x = model.x();
      REQUIRE(model.stack.forward(x.data(), 0, kLayers, input) == Status::kOk);
      CHECK(errorShare(x, model.expected(input), model.tolerance()) <= 1);

      std::vector<float> pieces = model.x();
      for (size_t i = 0; i < kLayers; ++i) {
        std::vector<float> normed(x.size(), kNaN);
        BlockCapture capture;
        capture.normed = normed.data();
        REQUIRE(model.stack.forward(pieces.data(), i, i + 1, input, capture) == Status::kOk);
        CHECK(std::none_of(normed.begin(), normed.end(), [](float v) { return std::isnan(v); }));
      }
      CHECK(sameBits(x, pieces));
    }
  }
  std::vector<float> nothing = model.x();
  REQUIRE(model.stack.forward(nothing.data(), 1, 1, whole()) == Status::kOk);
  CHECK(sameBits(nothing, model.x()));
}

TEST_CASE("What is captured is the last layer's, and changes no bit", "[models]") {
  Random random(2);
  StackData model(random);
  std::vector<float> plain = model.x();
  REQUIRE(model.stack.forward(plain.data(), 0, 2, whole()) == Status::kOk);
  std::vector<float> entered = model.x();
  REQUIRE(model.stack.forward(entered.data(), 0, 1, whole()) == Status::kOk);
  std::vector<float> x = model.x();
  std::vector<float> hidden(x.size());
  std::vector<float> mlp(x.size());
  BlockCapture capture;
  capture.hidden = hidden.data();
  capture.mlp = mlp.data();
  REQUIRE(model.stack.forward(x.data(), 0, 2, whole(), capture) == Status::kOk);
  CHECK(sameBits(x, plain));
  std::vector<float> same_hidden(x.size());
  capture.hidden = same_hidden.data();
  REQUIRE(model.stack.forward(entered.data(), 1, 2, whole(), capture) == Status::kOk);
  CHECK(sameBits(hidden, same_hidden));
}

TEST_CASE("Chunks through the caches of a stack give what one call gives", "[models]") {
  Random random(3);
  StackData model(random);
  std::vector<float> expected = model.x();
  REQUIRE(model.stack.forward(expected.data(), 0, kLayers, whole()) == Status::kOk);
  for (const std::vector<size_t>& chunks :
       {std::vector<size_t>{7}, {1, 1, 1, 1, 1, 1, 1}, {3, 4}, {2, 1, 4}}) {
    std::vector<KvCache> caches = model.caches();
    const std::vector<KvCache*> list = listOf(caches);
    StackInput input = whole();
    input.caches = list.data();
    size_t first = 0;
    for (const size_t count : chunks) {
      std::vector<float> x = tokensOf(model.x(), first, count);
      input.tokens = count;
      REQUIRE(model.stack.forward(x.data(), 0, kLayers, input) == Status::kOk);
      CHECK(largestDifference(x, tokensOf(expected, first, count)) <= model.tolerance());
      first += count;
      for (const KvCache& cache : caches) CHECK(cache.nextPosition() == static_cast<int64_t>(first));
    }
  }
}

TEST_CASE("Chunks of a stack begin where those of the whole text do", "[models]") {
  Random random(5);
  StackData model(random);
  StackLayer layer;
  layer.block = &model.blocks[0];
  layer.attention = model.data[0].input().attention;
  layer.attention.causal = true;
  layer.attention.window_left = 2;
  layer.attention.chunked = true;
  model.stack.set(0, layer);
  StackInput input = whole();
  input.positions.offset = 1;
  std::vector<float> expected = model.x();
  REQUIRE(model.stack.forward(expected.data(), 0, 1, input) == Status::kOk);
  // The token at position 3 is the first of a chunk of three, and sees nothing before it.
  input.positions.offset = 3;
  input.tokens = kTokens - 2;
  std::vector<float> x = tokensOf(model.x(), 2, input.tokens);
  REQUIRE(model.stack.forward(x.data(), 0, 1, input) == Status::kOk);
  CHECK(largestDifference(x, tokensOf(expected, 2, input.tokens)) <= model.tolerance());
}

TEST_CASE("A layer that fails ends the pass before the layers behind it", "[models]") {
  Random random(4);
  StackData model(random);
  std::vector<KvCache> caches = model.caches();
  KvCacheOptions full;
  full.batch = kBatch;
  full.kv_heads = 2;
  full.head_dim = full.value_dim = 6;
  full.capacity = 2;
  full.growing = false;
  REQUIRE(caches[1].create(full) == Status::kOk);
  const std::vector<KvCache*> list = listOf(caches);
  StackInput input = whole();
  input.caches = list.data();
  std::vector<float> x = model.x();
  CHECK(model.stack.forward(x.data(), 0, kLayers, input) == Status::kFull);
  CHECK(caches[0].length() == kTokens);
  CHECK(caches[1].length() == 0);
  CHECK(caches[2].length() == 0);
}

}  // namespace ropewalk::test
