// Causal, keep and bias masks, alone and together: hidden keys, whatever their numbers, must not affect the
// result.
#include <cstdint>
#include <limits>
#include <vector>

#include "angles/phase.h"
#include "attention/attention.h"
#include "attention/naive_attention.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr AttentionShape kShape = {2, 4, 2, 5, 7, 6, 6};

// A mask that spans the axes whose bit is set in `axes` (batch, head, query, key) and repeats along the
// others.
template <class T>
struct Broadcast {
  std::vector<T> values;
  MaskView<T> view;

  explicit Broadcast(unsigned axes) {
    size_t size = 1;
    const auto stride = [&](unsigned bit, size_t length) {
      if ((axes >> bit) % 2 == 0) return size_t{0};
      const size_t s = size;
      size *= length;
      return s;
    };
    view.key_stride = stride(0, kShape.keys);
    view.query_stride = stride(1, kShape.queries);
    view.head_stride = stride(2, kShape.heads);
    view.batch_stride = stride(3, kShape.batch);
    values.resize(size);
    view.data = values.data();
  }
};

template <class T>
void zero(std::vector<T>& x, T value, size_t first, size_t count) {
  std::fill_n(x.begin() + static_cast<ptrdiff_t>(first), count, value);
}

}  // namespace

TEST_CASE("A causal query sees the keys up to its own position and offset", "[attention]") {
  Random random(1);
  AttentionData data(random, kShape);
  AttentionOptions options = scaled(kShape.dim);
  options.causal = true;
  for (int64_t offset = -8; offset <= 9; ++offset) {
    options.query_offset = offset;
    REQUIRE(data.run(options) == Status::kOk);
    INFO("offset = " << offset);
    CHECK(data.errorShare(options) <= 1);
    for (size_t i = 0; i < kShape.queries; ++i) {
      const bool empty = static_cast<int64_t>(i) + offset < 0;
      for (size_t d = 0; d < kShape.value_dim; ++d) CHECK((data.outView().row(1, 2, i)[d] == 0) == empty);
    }
  }
}

TEST_CASE("Queries may stand at any position", "[attention]") {
  Random random(2);
  AttentionData data(random, kShape);
  AttentionOptions options = scaled(kShape.dim);
  options.causal = true;
  for (const int64_t offset : {-kMaxPosition, kMaxPosition - 1, kMaxPosition}) {
    options.query_offset = offset;
    INFO("offset = " << offset);
    REQUIRE(data.run(options) == Status::kOk);
    CHECK(data.errorShare(options) <= 1);
  }
}

TEST_CASE("A keep mask hides keys however it broadcasts", "[attention]") {
  Random random(3);
  for (unsigned axes = 0; axes < 16; ++axes) {
    AttentionData data(random, kShape, axes % 2 == 0);
    Broadcast<uint8_t> keep(axes);
    for (uint8_t& x : keep.values) x = random.bits() % 3 != 0;
    AttentionOptions options = scaled(kShape.dim);
    options.keep = keep.view;
    INFO("axes = " << axes);
    for (const bool causal : {false, true}) {
      options.causal = causal;
      options.query_offset = 2;
      REQUIRE(data.run(options) == Status::kOk);
      CHECK(data.errorShare(options) <= 1);
    }
  }
}

TEST_CASE("A bias adds to the scores however it broadcasts, and -infinity hides", "[attention]") {
  Random random(4);
  for (unsigned axes = 0; axes < 16; ++axes) {
    AttentionData data(random, kShape, axes % 2 == 0);
    Broadcast<float> bias(axes);
    for (float& x : bias.values)
      x = random.bits() % 4 == 0 ? -kInfinity : static_cast<float>(random.uniform(-3, 3));
    AttentionOptions options = scaled(kShape.dim);
    options.bias = bias.view;
    INFO("axes = " << axes);
    REQUIRE(data.run(options) == Status::kOk);
    CHECK(data.errorShare(options) <= 1);
  }
}

TEST_CASE("A bias by distance is the bias it spells out", "[attention]") {
  Random random(10);
  AttentionData by_distance(random, kShape);
  AttentionData spelled_out = by_distance;
  const std::vector<float> distances = random.floats(kShape.heads * (kShape.queries + kShape.keys - 1), 3);
  Broadcast<float> bias(0b0111);
  for (size_t h = 0; h < kShape.heads; ++h) {
    for (size_t i = 0; i < kShape.queries; ++i) {
      for (size_t j = 0; j < kShape.keys; ++j) {
        bias.values[(h * kShape.queries + i) * kShape.keys + j] =
            distances[h * (kShape.queries + kShape.keys - 1) + j + kShape.queries - 1 - i];
      }
    }
  }
  AttentionOptions options = scaled(kShape.dim);
  options.causal = true;
  options.query_offset = 1;
  options.bias = bias.view;
  REQUIRE(spelled_out.run(options) == Status::kOk);
  CHECK(spelled_out.errorShare(options) <= 1);
  options.bias = {};
  setDistanceBias(options, kShape, distances);
  REQUIRE(by_distance.run(options) == Status::kOk);
  CHECK(sameBits(by_distance.out, spelled_out.out));
  CHECK(sameBits(by_distance.probabilities, spelled_out.probabilities));
}

TEST_CASE("All masks together hide what any of them hides", "[attention]") {
  Random random(5);
  for (int i = 0; i < 20; ++i) {
    AttentionData data(random, kShape);
    Broadcast<uint8_t> keep(static_cast<unsigned>(random.between(0, 15)));
    Broadcast<float> bias(static_cast<unsigned>(random.between(0, 15)));
    for (uint8_t& x : keep.values) x = random.bits() % 4 != 0 ? 255 : 0;  // anything but 0 keeps
    for (float& x : bias.values)
      x = random.bits() % 4 == 0 ? -kInfinity : static_cast<float>(random.uniform(-30, 30));
    AttentionOptions options = scaled(kShape.dim);
    options.keep = keep.view;
    options.bias = bias.view;
    options.causal = i % 2 == 0;
    options.query_offset = random.between(-3, 6);
    REQUIRE(data.run(options) == Status::kOk);
    CHECK(data.errorShare(options) <= 1);
  }
}

TEST_CASE("A query that may attend to nothing gives exactly zeros", "[attention]") {
  Random random(6);
  AttentionData data(random, kShape);
  Broadcast<uint8_t> keep(0b0010);  // by query
  keep.values = {1, 0, 1, 0, 0};
  Broadcast<float> bias(0b0010);
  bias.values = {0, 0, -kInfinity, 0, -kInfinity};
  AttentionOptions options = scaled(kShape.dim);
  options.keep = keep.view;
  options.bias = bias.view;
  REQUIRE(data.run(options) == Status::kOk);
  for (size_t i = 1; i < kShape.queries; ++i) {
    const std::vector<float> zeros(kShape.keys, 0.0f);
    CHECK(sameBits(data.outView().row(1, 3, i), zeros.data(), kShape.value_dim));
    CHECK(sameBits(data.probabilities.data() + (7 * kShape.queries + i) * kShape.keys, zeros.data(),
                   kShape.keys));
  }
}

TEST_CASE("NaN and infinity in hidden keys and values do not spread", "[attention]") {
  Random random(7);
  AttentionData clean(random, {1, 1, 1, 3, 9, 5, 4});
  const std::vector<uint8_t> keep = {1, 1, 0, 1, 0, 1, 1, 0, 0};
  const std::vector<float> bias = {0, 0, -kInfinity, 0, -kInfinity, 0, 0, -kInfinity, -kInfinity};
  AttentionOptions options[3] = {scaled(5), scaled(5), scaled(5)};
  options[0].keep = {keep.data(), 0, 0, 0, 1};
  options[1].bias = {bias.data(), 0, 0, 0, 1};
  options[2].causal = true;
  options[2].query_offset = 4;  // hides the last two keys from every query
  for (const AttentionOptions& o : options) {
    REQUIRE(clean.run(o) == Status::kOk);
    for (const float poison : {kNaN, kInfinity, -kInfinity}) {
      AttentionData poisoned = clean;
      for (size_t j = 0; j < 9; ++j) {
        if (o.causal ? j < 7 : keep[j] != 0) continue;
        zero(poisoned.k, poison, j * 5, 5);
        zero(poisoned.v, poison, j * 4, 4);
      }
      REQUIRE(poisoned.run(o) == Status::kOk);
      CHECK(sameBits(poisoned.out, clean.out));
      CHECK(sameBits(poisoned.probabilities, clean.probabilities));
    }
  }
}

TEST_CASE("NaN in a visible key is not hidden", "[attention]") {
  Random random(8);
  AttentionData data(random, {1, 1, 1, 2, 6, 5, 4});
  data.k[3 * 5] = kNaN;
  REQUIRE(data.run(scaled(5)) == Status::kOk);
  for (const float x : data.out) CHECK(std::isnan(x));
}

// onnx/onnx v1.22.0: test_attention, a window of one key to the left and two to the right of five equal
// scores.
TEST_CASE("A window by bias averages the values it shows", "[attention]") {
  AttentionData data = [] {
    Random random(9);
    return AttentionData(random, {1, 1, 1, 5, 5, 1, 1});
  }();
  data.q.assign(5, 0);
  data.k.assign(5, 0);
  data.v = {0, 1, 2, 3, 4};
  std::vector<float> bias(25, -kInfinity);
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = i == 0 ? 0 : i - 1; j < std::min<size_t>(i + 3, 5); ++j) bias[i * 5 + j] = 0;
  }
  AttentionOptions options = scaled(1);
  options.bias = {bias.data(), 0, 0, 5, 1};
  REQUIRE(data.run(options) == Status::kOk);
  const float expected[] = {1.0f, 1.5f, 2.5f, 3.0f, 3.5f};
  for (size_t i = 0; i < 5; ++i) CHECK(std::fabs(data.out[i] - expected[i]) <= 8 * kUnit * expected[i]);
}

}  // namespace ropewalk::test
