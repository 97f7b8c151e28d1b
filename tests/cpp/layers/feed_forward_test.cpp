#include "layers/feed_forward.h"

#include <vector>

#include "catch.h"
#include "layers/block_data.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

FeedForward feedForwardOf(const BlockData& data) {
  FeedForward made;
  REQUIRE(made.create({data.shape.activation}, data.feedForwardParts()) == Status::kOk);
  return made;
}

}  // namespace

TEST_CASE("A feed-forward part is its formula in double, gated or not", "[layers]") {
  Random random(1);
  constexpr size_t kRows[] = {0, 1, 2, 3, 61};
  for (const bool gated : {false, true}) {
    for (const bool biases : {false, true}) {
      BlockShape shape;
      shape.model = 7;
      shape.hidden = 33;
      shape.gated = gated;
      shape.biases = biases;
      shape.activation = gated ? Activation::kSilu : Activation::kGelu;
      for (const size_t rows : kRows) {
        const BlockData data(random, shape, 1, rows);
        const FeedForward layer = feedForwardOf(data);
        CHECK(layer.gated() == gated);
        CHECK(layer.hiddenDim() == 33);
        const Matrix x(data.x.begin(), data.x.end());
        CHECK(errorShare(outOf(layer, data.x), naiveFeedForward(x, data), data.tolerance()) <= 1);
      }
    }
  }
}

TEST_CASE("Long inputs pass in chunks: the bits of each row, no more memory, and in place", "[layers]") {
  Random random(2);
  BlockShape shape;
  shape.model = 5;
  shape.hidden = 9;
  const BlockData data(random, shape, 1, 1000);
  const FeedForward layer = feedForwardOf(data);
  const std::vector<float> whole = outOf(layer, data.x);
  constexpr size_t kRows[] = {0, 299, 300, 301, 600, 999};
  for (const size_t row : kRows) {
    const auto start = data.x.begin() + static_cast<std::ptrdiff_t>(row * 5);
    CHECK(sameBits(outOf(layer, {start, start + 5}).data(), whole.data() + row * 5, 5));
  }
  size_t size = 0;
  size_t larger = 0;
  REQUIRE(layer.workSize(1000, &size));
  REQUIRE(layer.workSize(1000000, &larger));
  CHECK(size == larger);
  std::vector<float> x = data.x;
  std::vector<float> work(size);
  layer.apply(x.data(), x.data(), 1000, work.data());
  CHECK(sameBits(x, whole));
}

TEST_CASE("Parts that do not fit each other leave the old feed-forward part in place", "[layers]") {
  Random random(3);
  const BlockData data(random, {}, 1, 2);
  FeedForward layer = feedForwardOf(data);
  const std::vector<float> before = outOf(layer, data.x);
  const auto refuses = [&](auto spoil) {
    FeedForwardParts parts = data.feedForwardParts();
    spoil(parts);
    CHECK(layer.create({Activation::kRelu}, std::move(parts)) == Status::kInvalidShape);
  };
  refuses([](FeedForwardParts& p) { p.up = Linear(); });
  refuses([](FeedForwardParts& p) { p.down = Linear(); });
  refuses([](FeedForwardParts& p) { std::swap(p.gate, p.down); });
  refuses([](FeedForwardParts& p) { p = {}; });
  CHECK(sameBits(outOf(layer, data.x), before));
}

}  // namespace ropewalk::test
