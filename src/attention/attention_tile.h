// A tile of queries that read the same key head, taken through all of its keys block by block: products, the
// stages of the scores, softmax so far, weighted sum of values. No more than a block of scores exists at a
// time (Dao et al., arXiv:2205.14135). A row's arithmetic does not depend on the other rows of its tile: its
// keys fall into the same blocks wherever it is, and keys that are visible to other rows alone add exact
// zeros.
#pragma once

#include <cstddef>

#include "attention/attention.h"
#include "attention/key_blocks.h"
#include "attention/online_softmax.h"
#include "attention/relative_tile.h"
#include "attention/score_stages.h"
#include "memory.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

class AttentionTile {
 public:
  static constexpr size_t kQueries = 60;

  AttentionTile(HeadView<float> out, HeadView<const float> q, const StoredView& k,
                const AttentionOptions& options, const ScoreOutputs& outputs)
      : out_(out),
        q_(q),
        k_(k),
        options_(options),
        outputs_(outputs),
        stages_(options, outputs, k.tokens),
        relative_(options) {}

  // Room for tiles of up to `queries` rows, at most kQueries.
  Status allocate(size_t queries);

  // Queries first ... first + count - 1 of key head g of batch entry b, counted with the query heads of the
  // group innermost: neighbours have nearly the same visible keys.
  void run(size_t b, size_t g, size_t first, size_t count, KeyBlocks& blocks);

 private:
  // Rows that go through a tile together.
  struct Strip {
    size_t first;
    size_t rows;
  };

  Strip strip(size_t s) const;
  size_t strips() const { return (count_ + kTileRows - 1) / kTileRows; }
  void startRows(size_t b, size_t g, size_t first);
  void applyTemperature(float* packed, size_t start, size_t rows) const;
  void runBlock(const KeyBlock& block, bool all);
  KeyRange rangeOf(Strip strip, const KeyBlock& block, bool all) const;
  void scoreStrip(Strip strip, const KeyBlock& block, KeyRange range);
  void addSegments(const QueryRow& row, const ScorePart& part) const;
  void multiply(Strip strip, float* scores, const float* queries, const float* keys, size_t lane,
                KeyRange range) const;
  void mixValues(Strip strip, const KeyBlock& block, KeyRange keys);
  void mixStrip(Strip strip, const KeyBlock& block, KeyRange range);
  void finishRow(size_t r);
  // Of row r of the strip at hand, from the block's first key on.
  float* scoresOf(size_t r) { return scores_.data() + kTileColumns + r * kScoreStride; }
  float* contentsOf(size_t r) { return contents_.data() + kTileColumns + r * kScoreStride; }

  HeadView<float> out_;
  HeadView<const float> q_;
  StoredView k_;
  const AttentionOptions& options_;
  const ScoreOutputs& outputs_;
  ScoreStages stages_;
  RelativeTile relative_;

  size_t count_ = 0;
  QueryRow rows_[kQueries];
  OnlineSoftmax softmax_[kQueries];
  VisibleKeys visible_{};        // a range that holds every key visible to any row
  Buffer<float> queries_;        // packed strip by strip: [D][rows of the strip]
  Buffer<float> sums_;           // [kQueries][panelWidth(Dv)]
  Buffer<float> scores_;         // kTileRows rows, kScoreStride apart, see scoresOf()
  Buffer<float> mixed_;          // [kTileRows][panelWidth(Dv)], what a block adds to sums_
  Buffer<float> contents_;       // as scores_, where parts are asked for
  Buffer<float> plain_queries_;  // queries_, before a rotary encoding
  Buffer<float> plain_keys_;     // a block's keys, before a rotary encoding
};

}  // namespace ropewalk
