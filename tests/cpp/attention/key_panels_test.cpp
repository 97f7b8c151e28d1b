// Keys in panels: written keys are read back from any slot, and attention reads panels like rows.
#include "attention/key_panels.h"

#include <algorithm>
#include <vector>

#include "attention/key_blocks.h"
#include "attention/naive_attention.h"
#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr size_t kBatch = 2;
constexpr size_t kHeads = 3;
constexpr size_t kPlaces = 45;  // no whole panels

HeadView<float> rowsOf(std::vector<float>& x, size_t count, size_t dim) {
  return headsFirst(x.data(), kBatch, kHeads, count, dim);
}

// Panels, and what they are to hold written out: [B G, kPlaces, D].
struct Both {
  size_t dim;
  KeyPanels panels;
  std::vector<float> rows;

  Both(Random& random, size_t d) : dim(d), rows(random.floats(kBatch * kHeads * kPlaces * d)) {
    REQUIRE(panels.allocate(kBatch, kHeads, kPlaces, dim) == Status::kOk);
    panels.put(0, rowsOf(rows, kPlaces, dim).readOnly());
  }

  void copy(size_t to, const Both& from, size_t at, size_t count) {
    panels.copy(to, from.panels, at, count);
    const std::vector<float> before = from.rows;
    for (size_t head = 0; head < kBatch * kHeads; ++head) {
      const size_t start = head * kPlaces;
      std::copy_n(&before[(start + at) * dim], count * dim, &rows[(start + to) * dim]);
    }
  }

  bool agree() {
    std::vector<float> out(rows.size(), kNaN);
    panels.get(0, rowsOf(out, kPlaces, dim));
    return sameBits(out, rows);
  }
};

}  // namespace

TEST_CASE("Rows come out of panels as they went in, from any slot on", "[attention]") {
  Random random(1);
  for (const size_t dim : {size_t{1}, size_t{3}, size_t{4}, size_t{8}, size_t{10}}) {
    Both both(random, dim);
    CHECK(both.agree());
    CHECK(both.panels.bytes() == kBatch * kHeads * 48 * dim * sizeof(float));
    for (size_t at = 0; at <= 16; ++at) {
      for (const size_t count : {size_t{0}, size_t{1}, size_t{5}, size_t{8}, size_t{29}}) {
        // Tokens outside heads: the other layout of rows.
        const std::vector<float> in = random.floats(kBatch * count * kHeads * dim + 1);
        const HeadView<const float> view = tokensFirst(in.data(), kBatch, kHeads, count, dim);
        both.panels.put(at, view);
        for (size_t b = 0; b < kBatch; ++b) {
          for (size_t h = 0; h < kHeads; ++h) {
            for (size_t t = 0; t < count; ++t)
              std::copy_n(view.row(b, h, t), dim, &both.rows[((b * kHeads + h) * kPlaces + at + t) * dim]);
          }
        }
        std::vector<float> out(in.size(), kNaN);
        both.panels.get(at, tokensFirst(out.data(), kBatch, kHeads, count, dim));
        INFO("dim " << dim << ", " << count << " at " << at);
        CHECK(sameBits(out.data(), in.data(), in.size() - 1));
      }
    }
    CHECK(both.agree());
  }
}

TEST_CASE("Keys are copied between panels and within them, over each other too", "[attention]") {
  Random random(2);
  for (const size_t dim : {size_t{1}, size_t{6}}) {
    Both both(random, dim);
    const Both other(random, dim);
    for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{20}, size_t{33}}) {
      for (size_t at = 0; at + count <= kPlaces; at += 3) {
        for (size_t to = 0; to + count <= kPlaces; ++to) {
          both.copy(to, both, at, count);
          if (!both.agree()) FAIL("dim " << dim << ", " << count << " from " << at << " to " << to);
        }
        both.copy((at * 5) % (kPlaces - count + 1), other, at, count);
        REQUIRE(both.agree());
      }
    }
  }
}

TEST_CASE("Blocks of keys that no memory holds are refused", "[attention]") {
  StoredView k;
  k.batch = k.heads = 1;
  k.tokens = 3;
  k.dim = 4;
  StoredView v = k;
  KeyBlocks blocks;
  REQUIRE(blocks.allocate(k, v, true) == Status::kOk);
  for (const size_t dim : {SIZE_MAX, SIZE_MAX / kBlockKeys}) {
    StoredView wide = k;
    wide.dim = dim;
    CHECK(blocks.allocate(wide, v, true) == Status::kOutOfMemory);
  }
}

TEST_CASE("Panels that no memory holds are refused", "[attention]") {
  KeyPanels panels;
  for (const size_t slots : {SIZE_MAX, SIZE_MAX / 8, SIZE_MAX / 64}) {
    CHECK(panels.allocate(1, 3, slots, 64) == Status::kOutOfMemory);
    CHECK(panels.empty());
  }
}

TEST_CASE("Attention reads keys in panels as it reads rows, bit for bit", "[attention]") {
  Random random(3);
  constexpr int64_t kLimit = 5;
  constexpr size_t kTable = 2 * kLimit + 1;
  enum class Kind { kPlain, kWindow, kParts, kTables, kProduct };
  for (const size_t queries : {size_t{1}, size_t{2}, size_t{5}, size_t{9}, size_t{70}}) {
    for (const size_t keys : {size_t{1}, size_t{8}, size_t{30}, kBlockKeys, 2 * kBlockKeys + 9}) {
      const AttentionShape shape = {2, 4, 2, queries, keys, 7, 6};
      const AttentionData data(random, shape);
      const std::vector<float> tables = random.floats(3 * kTable * shape.dim);
      const auto attend = [&](Kind kind, const StoredView& k) {
        AttentionOptions options = scaled(shape.dim);
        ScoreOutputs scores;
        const size_t cells = 2 * 4 * queries * keys;
        std::vector<float> out(2 * 4 * queries * shape.value_dim + 2 * cells, kNaN);
        float* const given = out.data() + out.size() - 2 * cells;
        switch (kind) {
          case Kind::kPlain:
            break;
          case Kind::kWindow:
            options.causal = true;
            options.query_offset = static_cast<int64_t>(keys) - static_cast<int64_t>(queries);
            options.window_left = 11;
            options.sink_tokens = 2;
            break;
          case Kind::kParts:
            scores.content = given;
            scores.raw = given + cells;
            break;
          case Kind::kTables:
            options.relative.query_table = tables.data();
            options.relative.key_table = tables.data() + kTable * shape.dim;
            break;
          case Kind::kProduct:
            options.relative.product_table = tables.data() + 2 * kTable * shape.dim;
            break;
        }
        options.relative.rows.limit = kLimit;
        const HeadView<float> to = headsFirst(out.data(), 2, 4, queries, shape.value_dim);
        REQUIRE(attention(to, data.queryView(), k, data.valueView(), options, scores) == Status::kOk);
        return out;
      };
      for (const Kind kind : {Kind::kPlain, Kind::kWindow, Kind::kParts, Kind::kTables, Kind::kProduct}) {
        const std::vector<float> expected = attend(kind, data.keyView());
        for (size_t lane = 0; lane < kTileColumns; ++lane) {
          // What lies before the first key and behind the last may not be seen.
          const size_t slots = lane + keys + 9;
          const std::vector<float> poison(2 * 2 * slots * shape.dim, kNaN);
          KeyPanels panels;
          REQUIRE(panels.allocate(2, 2, slots, shape.dim) == Status::kOk);
          panels.put(0, headsFirst(poison.data(), 2, 2, slots, shape.dim));
          panels.put(lane, data.keyView());
          INFO(static_cast<int>(kind)
               << ": " << queries << " queries, " << keys << " keys from lane " << lane);
          CHECK(sameBits(attend(kind, panels.view(lane, keys)), expected));
        }
      }
    }
  }
}

}  // namespace ropewalk::test
