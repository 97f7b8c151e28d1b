// Sizes around the tiles and blocks of attention, on which results must not depend.
#include "attention/attention_tile.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attention/attention.h"
#include "attention/key_blocks.h"
#include "attention/naive_attention.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr size_t kQueries = AttentionTile::kQueries;

// Every option at once, with the arrays that they point at.
struct Everything {
  static constexpr int64_t kLimit = 9;

  std::vector<float> tables;
  std::vector<float> value_table;
  std::vector<float> distances;
  std::vector<float> bias;
  std::vector<uint8_t> keep;
  std::vector<float> sinks;
  AttentionOptions options;

  Everything(Random& random, const AttentionShape& s, bool product)
      : tables(random.floats(3 * kRows * s.dim)),
        value_table(random.floats(kRows * s.value_dim)),
        distances(random.floats(s.heads * (s.queries + s.keys - 1))),
        bias(random.floats(s.queries * s.keys)),
        keep(s.heads * s.keys),
        sinks(random.floats(s.heads)),
        options(scaled(s.dim)) {
    for (uint8_t& x : keep) x = random.bits() % 8 != 0;
    options.query_offset = static_cast<int64_t>(s.keys) - static_cast<int64_t>(s.queries);
    options.causal = true;
    options.window_left = 100;
    options.sink_tokens = 3;
    options.softcap = 3;
    options.relative = {
        {kLimit, true}, tables.data(), tables.data() + kRows * s.dim, nullptr, value_table.data()};
    if (product) options.relative.product_table = tables.data() + 2 * kRows * s.dim;
    options.bias = {bias.data(), 0, 0, s.keys, 1};
    options.keep = {keep.data(), 0, s.keys, 0, 1};
    options.sinks = sinks.data();
    setDistanceBias(options, s, distances);
  }

  // The options of the queries from `first` on.
  AttentionOptions of(size_t first, const AttentionShape& s) const {
    AttentionOptions one = options;
    one.query_offset += static_cast<int64_t>(first);
    one.bias.data += first * s.keys;
    return one;
  }

 private:
  static constexpr size_t kRows = 2 * kLimit + 1;
};

// out of queries first ... first + count - 1, [H, count, Dv].
std::vector<float> chunk(const AttentionData& data, const AttentionOptions& options, size_t first,
                         size_t count) {
  const AttentionShape& s = data.shape;
  HeadView<const float> q = data.queryView();
  q.data += first * q.token_stride;
  q.tokens = count;
  std::vector<float> out(s.heads * count * s.value_dim, kNaN);
  REQUIRE(attention(headsFirst(out.data(), 1, s.heads, count, s.value_dim), q, data.keyView(),
                    data.valueView(), options) == Status::kOk);
  return out;
}

}  // namespace

TEST_CASE("Attention agrees with a naive one around the sizes of tiles and blocks", "[attention]") {
  Random random(1);
  for (const size_t queries :
       {kTileRows, kTileRows + 1, kQueries - 1, kQueries, kQueries + 1, 2 * kQueries + 7}) {
    for (const size_t keys : {kBlockKeys - 1, kBlockKeys, kBlockKeys + 1, 2 * kBlockKeys + 9}) {
      AttentionData data(random, {1, 2, 2, queries, keys, 7, 9}, random.bits() % 2 == 0);
      AttentionOptions options = scaled(7);
      INFO(queries << " queries, " << keys << " keys");
      for (const bool causal : {false, true}) {
        options.causal = causal;
        options.query_offset = static_cast<int64_t>(keys) - static_cast<int64_t>(queries);
        REQUIRE(data.run(options) == Status::kOk);
        CHECK(data.errorShare(options) <= 1);
      }
      options.window_left = 20;
      options.sink_tokens = 2;
      REQUIRE(data.run(options) == Status::kOk);
      CHECK(data.errorShare(options) <= 1);
    }
  }
}

TEST_CASE("Query heads of a group share tiles and keep apart", "[attention]") {
  Random random(2);
  for (const size_t queries : {size_t{1}, size_t{2}, size_t{7}, size_t{40}}) {
    AttentionData grouped(random, {1, 12, 2, queries, 3 * kBlockKeys + 5, 10, 6});
    AttentionData single(random, {1, 1, 1, queries, 3 * kBlockKeys + 5, 10, 6});
    AttentionOptions options = scaled(10);
    options.causal = true;
    options.query_offset = static_cast<int64_t>(3 * kBlockKeys + 5 - queries);
    REQUIRE(grouped.run(options) == Status::kOk);
    for (size_t h = 0; h < 12; ++h) {
      std::copy_n(grouped.queryView().row(0, h, 0), single.q.size(), single.q.data());
      std::copy_n(grouped.keyView().row(0, h / 6, 0), single.k.size(), single.k.data());
      std::copy_n(grouped.valueView().row(0, h / 6, 0), single.v.size(), single.v.data());
      REQUIRE(single.run(options) == Status::kOk);
      CHECK(sameBits(single.out.data(), grouped.outView().row(0, h, 0), single.out.size()));
    }
  }
}

TEST_CASE("A row's bits do not depend on the queries beside it, whatever the options", "[attention]") {
  Random random(3);
  const AttentionShape shape = {1, 4, 2, 2 * kQueries + 11, 2 * kBlockKeys + 37, 12, 10};
  const AttentionData data(random, shape);
  for (const char* relative : {"none", "query, key and value", "product too"}) {
    Everything all(random, shape, *relative == 'p');
    if (*relative == 'n') all.options.relative = {};  // very few queries read keys where they lie
    const std::vector<float> whole = chunk(data, all.options, 0, shape.queries);
    for (const size_t step : {size_t{1}, size_t{3}, size_t{50}, kQueries}) {
      for (size_t first = 0; first < shape.queries; first += step) {
        const size_t count = std::min(step, shape.queries - first);
        const std::vector<float> part = chunk(data, all.of(first, shape), first, count);
        size_t different = 0;
        for (size_t h = 0; h < shape.heads; ++h) {
          different += !sameBits(&part[h * count * 10], &whole[(h * shape.queries + first) * 10], count * 10);
        }
        INFO("queries " << first << " and " << count - 1 << " more, relative: " << relative);
        CHECK(different == 0);
      }
    }
  }
}

TEST_CASE("Scores asked for do not change the result, and hidden blocks have theirs", "[attention]") {
  Random random(4);
  const AttentionShape shape = {1, 2, 1, kQueries + 3, 3 * kBlockKeys + 1, 8, 8};
  AttentionData data(random, shape);
  AttentionOptions options = scaled(8);
  std::vector<float> open_raw(data.probabilities.size());
  ScoreOutputs outputs;
  outputs.raw = open_raw.data();
  const auto run = [&] {
    return attention(data.outView(), data.queryView(), data.keyView(), data.valueView(), options, outputs);
  };
  REQUIRE(run() == Status::kOk);

  options.causal = true;
  options.window_left = 10;
  options.query_offset = static_cast<int64_t>(kBlockKeys);
  outputs.raw = nullptr;
  REQUIRE(run() == Status::kOk);
  const std::vector<float> out = data.out;
  std::vector<float> raw(open_raw.size(), kNaN);
  std::vector<float> biased(open_raw.size(), kNaN);
  outputs.biased = biased.data();
  outputs.probabilities = data.probabilities.data();
  for (const bool with_raw : {false, true}) {
    outputs.raw = with_raw ? raw.data() : nullptr;
    REQUIRE(run() == Status::kOk);
    CHECK(sameBits(data.out, out));
    size_t wrong = 0;
    for (size_t n = 0; n < raw.size(); ++n) {
      const bool hidden = isHidden(options, 0, 0, n / shape.keys % shape.queries, n % shape.keys);
      wrong += biased[n] != (hidden ? -kInfinity : open_raw[n]);
      wrong += (data.probabilities[n] == 0) != hidden;
    }
    CHECK(wrong == 0);
    CHECK(data.errorShare(options) <= 1);
  }
  CHECK(sameBits(raw, open_raw));
}

TEST_CASE("NaN and infinity among many hidden values do not spread, seen ones do", "[attention]") {
  Random random(5);
  for (const size_t value_dim : {size_t{8}, size_t{11}}) {
    for (const size_t queries : {size_t{2}, kQueries + 5}) {
      const AttentionShape shape = {1, 2, 2, queries, 2 * kBlockKeys + 20, 8, value_dim};
      AttentionData data(random, shape);
      AttentionOptions options = scaled(8);
      options.causal = true;
      options.query_offset = static_cast<int64_t>(kBlockKeys + 30);
      REQUIRE(data.run(options) == Status::kOk);
      const std::vector<float> clean = data.out;
      const size_t last = kBlockKeys + 30 + 1;  // the second query sees it, the first does not
      for (size_t h = 0; h < 2; ++h) {
        for (size_t d = 0; d < value_dim; ++d)
          data.v[(h * shape.keys + last) * value_dim + d] = d % 2 == 0 ? kNaN : kInfinity;
      }
      REQUIRE(data.run(options) == Status::kOk);
      for (size_t h = 0; h < 2; ++h) {
        CHECK(sameBits(data.outView().row(0, h, 0), clean.data() + h * queries * value_dim, value_dim));
        for (size_t d = 0; d < value_dim; ++d) CHECK(!std::isfinite(data.outView().row(0, h, 1)[d]));
      }
    }
  }
}

TEST_CASE("Scores that rise from block to block are weighed against the largest", "[attention]") {
  Random random(6);
  const AttentionShape shape = {1, 1, 1, 5, 5 * kBlockKeys, 1, 4};
  AttentionData data(random, shape);
  for (const float sign : {1.0f, -1.0f}) {
    for (size_t j = 0; j < shape.keys; ++j) data.k[j] = sign * static_cast<float>(j / kBlockKeys * 20);
    for (size_t i = 0; i < shape.queries; ++i) data.q[i] = static_cast<float>(i);
    REQUIRE(data.run(scaled(1)) == Status::kOk);
    CHECK(data.errorShare(scaled(1)) <= 1);
  }
}

TEST_CASE("Sums over many keys keep their precision", "[attention]") {
  Random random(7);
  constexpr size_t kKeys = 16384;
  AttentionData data(random, {1, 1, 1, 2, kKeys, 8, 8});
  data.v = random.floats(data.v.size());
  for (float& x : data.v) x += 3;
  REQUIRE(attention(data.outView(), data.queryView(), data.keyView(), data.valueView(), scaled(8)) ==
          Status::kOk);
  const NaiveAttention naive = naiveAttention(data.queryView(), data.keyView(), data.valueView(), scaled(8));
  Worst worst;
  // Roundings of a block's sum and of the blocks' sum, each about half a unit and as often up as down: the
  // root of their number. A plain sum would be off by several times that.
  const double roundings =
      std::sqrt(static_cast<double>(kBlockKeys) + static_cast<double>(kKeys / kBlockKeys));
  for (size_t n = 0; n < data.out.size(); ++n)
    worst.add(data.out[n], naive.out[n], 4 * roundings * kUnit * naive.out[n]);
  CHECK(worst.share() <= 1);
}

}  // namespace ropewalk::test
