#include "attention/attention_tile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/dots.h"
#include "kernels/tile.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

// packTile() of rows that lie anywhere: q(r) is row r.
template <class Row>
void packStrip(float* packed, size_t rows, size_t dim, Row q) {
  withRows(rows, [&](auto n) {
    const float* from[n];
    for (size_t r = 0; r < n; ++r) from[r] = q(r);
    for (size_t d = 0; d < dim; ++d) {
      for (size_t r = 0; r < n; ++r) packed[d * n + r] = from[r][d];
    }
  });
}

// What tile() gives for one row of weights and values that may be NaN or infinite: those of weight 0 are not
// read.
void mixRow(float* out, const float* p, const KeyBlock& block, KeyRange range, size_t width) {
  for (size_t d = 0; d < width; d += kTileColumns) {
    const float* panel = block.values + d / kTileColumns * block.value_panel;
    for (size_t half = 0; half < kTileColumns; half += kLanes) {
      f32x4 sum = simd::splat(0);
      for (size_t j = range.first; j < range.end; ++j) {
        if (p[j] != 0)
          sum = simd::mulAdd(simd::splat(p[j]), simd::load(panel + j * block.value_stride + half), sum);
      }
      simd::store(out + d + half, sum);
    }
  }
}

// x - x is 0 for numbers and NaN for the rest, and a sum of zeros stays 0.
bool allFinite(const float* x, size_t n) {
  f32x4 sum = simd::splat(0);
  for (size_t i = 0; i < n; i += kLanes) {
    const f32x4 a = simd::load(x + i);
    sum = simd::add(sum, simd::sub(a, a));
  }
  return simd::sum(sum) == 0;
}

// sums = factor * sums + x
void addRow(float* sums, const float* x, size_t n, float factor) {
  const f32x4 factors = simd::splat(factor);
  for (size_t i = 0; i < n; i += kLanes)
    simd::store(sums + i, simd::mulAdd(simd::load(sums + i), factors, simd::load(x + i)));
}

}  // namespace

Status AttentionTile::allocate(size_t queries) {
  const size_t dim = q_.dim;
  Status status = queries_.allocate(queries, dim);
  if (status == Status::kOk) status = sums_.allocate(queries, panelWidth(out_.dim));
  if (status == Status::kOk) status = mixed_.allocate(kTileRows, panelWidth(out_.dim));
  if (status == Status::kOk) status = scores_.allocate(kTileColumns + kTileRows * kScoreStride);
  if (status == Status::kOk) status = relative_.allocate(queries, dim, out_.dim);
  if (status != Status::kOk || !stages_.wantsParts()) return status;
  status = contents_.allocate(kTileColumns + kTileRows * kScoreStride);
  if (status == Status::kOk) status = plain_queries_.allocate(queries, dim);
  if (status == Status::kOk) status = plain_keys_.allocate(kBlockKeys, dim);
  return status;
}

// As many strips as needed, of nearly the same height: 5 and 4, not 6 and 3.
AttentionTile::Strip AttentionTile::strip(size_t s) const {
  const size_t first = count_ * s / strips();
  return {first, count_ * (s + 1) / strips() - first};
}

void AttentionTile::run(size_t b, size_t g, size_t first, size_t count, KeyBlocks& blocks) {
  count_ = count;
  relative_.startHead(g, k_.heads);
  startRows(b, g, first);
  bool all = false;  // scores of hidden keys are asked for
  for (size_t r = 0; r < count_; ++r) all = all || (rows_[r].given && stages_.wantsHidden());
  for (size_t n = 0; n < blocks.count(); ++n) {
    const size_t start = n * kBlockKeys;
    const size_t end = std::min(k_.tokens, start + kBlockKeys);
    if (all || !visible_.within(start, end).empty()) {
      runBlock(blocks.block(n), all);
    } else {
      for (size_t r = 0; r < count_; ++r) stages_.giveHidden(rows_[r], {start, end});
    }
  }
  for (size_t r = 0; r < count_; ++r) finishRow(r);
}

void AttentionTile::startRows(size_t b, size_t g, size_t first) {
  const size_t group = q_.heads / k_.heads;
  visible_ = {0, std::numeric_limits<size_t>::max(), 0};
  for (size_t r = 0; r < count_; ++r) {
    const size_t h = g * group + (first + r) % group;
    rows_[r] = queryRow(q_, options_, outputs_, b, h, (first + r) / group, k_.tokens);
    softmax_[r].start(options_.sinks == nullptr ? -std::numeric_limits<float>::infinity()
                                                : options_.sinks[h]);
    const VisibleKeys& visible = rows_[r].visible;
    visible_.sink_tokens = std::max(visible_.sink_tokens, visible.sink_tokens);
    visible_.first = std::min(visible_.first, visible.first);
    visible_.end = std::max(visible_.end, visible.end);
  }
  visible_.first = std::min(visible_.first, visible_.end);
  std::fill_n(sums_.data(), count_ * panelWidth(out_.dim), 0.0f);

  const HeadView<const float>& plain = outputs_.plain_q;
  for (size_t s = 0; s < strips(); ++s) {
    const auto [start, rows] = strip(s);
    float* packed = queries_.data() + start * q_.dim;
    packStrip(packed, rows, q_.dim, [&](size_t r) { return rows_[start + r].q; });
    applyTemperature(packed, start, rows);
    relative_.startQueries(packed, start, rows);
    if (!stages_.wantsParts()) continue;
    float* packed_plain = plain_queries_.data() + start * q_.dim;
    packStrip(packed_plain, rows, q_.dim, [&](size_t r) {
      const QueryRow& row = rows_[start + r];
      return plain.data == nullptr ? row.q : plain.row(row.b, row.h, row.i);
    });
    applyTemperature(packed_plain, start, rows);
  }
}

// Multiplies the packed queries of a strip by the factors of their positions.
void AttentionTile::applyTemperature(float* packed, size_t start, size_t rows) const {
  if (options_.temperature.step == 0) return;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t d = 0; d < q_.dim; ++d) packed[d * rows + r] *= rows_[start + r].temperature;
  }
}

void AttentionTile::runBlock(const KeyBlock& block, bool all) {
  relative_.startBlock(block, rows_[0].position, rows_[count_ - 1].position);
  if (const HeadView<const float>& plain = outputs_.plain_k; stages_.wantsParts() && plain.data != nullptr) {
    const size_t g = rows_[0].h / (q_.heads / k_.heads);
    packPanels(plain_keys_.data(), plain.row(rows_[0].b, g, block.start), plain.token_stride, block.count,
               q_.dim);
  }
  for (size_t s = 0; s < strips(); ++s) {
    const Strip at = strip(s);
    const KeyRange seen = rangeOf(at, block, false);
    const KeyRange range = all ? rangeOf(at, block, true) : seen;
    const size_t end = block.start + block.count;
    for (size_t r = at.first; r < at.first + at.rows; ++r) {
      stages_.giveHidden(rows_[r], {block.start, block.start + range.first});
      stages_.giveHidden(rows_[r], {std::min(end, block.start + range.end), end});
    }
    if (range.empty()) continue;
    scoreStrip(at, block, range);
    if (!seen.empty()) mixStrip(at, block, range);
  }
}

// The keys of a block that are visible to some row of the strip, or all of them, in whole panels; counted
// from its start.
KeyRange AttentionTile::rangeOf(Strip strip, const KeyBlock& block, bool all) const {
  size_t first = all ? 0 : block.count;
  size_t end = all ? block.count : 0;
  for (size_t r = strip.first; r < strip.first + strip.rows && !all; ++r) {
    const KeyRange range = rows_[r].visible.within(block.start, block.start + block.count);
    if (range.empty()) continue;
    first = std::min(first, range.first - block.start);
    end = std::max(end, range.end - block.start);
  }
  if (first >= end) return {0, 0};
  return {first - first % kTileColumns, panelWidth(end)};
}

// Scores of the strip as softmax reads them, in scores_.
void AttentionTile::scoreStrip(Strip strip, const KeyBlock& block, KeyRange range) {
  const KeyRange held = {range.first, std::min(range.end, block.count)};
  const KeyRange keys = {block.start + held.first, block.start + held.end};
  if (!relative_.replacesProducts()) {
    multiply(strip, scoresOf(0), queries_.data(), block.keys, block.lane, held);
  }
  if (stages_.wantsParts()) {
    const bool turned = outputs_.plain_k.data != nullptr;
    multiply(strip, contentsOf(0), plain_queries_.data(), turned ? plain_keys_.data() : block.keys,
             turned ? 0 : block.lane, held);
  }
  for (size_t r = 0; r < strip.rows; ++r) {
    const QueryRow& row = rows_[strip.first + r];
    const ScorePart part = {scoresOf(r) + range.first, keys};
    if (relative_.replacesProducts()) relative_.products(row, block, part);
    relative_.addTo(strip.first + r, row, block, part);
    if (options_.segments.types != nullptr) addSegments(row, part);
    stages_.apply(row, part, stages_.wantsParts() ? contentsOf(r) + range.first : nullptr);
    std::fill(part.x + part.size(), scoresOf(r) + range.end, -std::numeric_limits<float>::infinity());
  }
}

void AttentionTile::addSegments(const QueryRow& row, const ScorePart& part) const {
  const auto& [table, bias, all_types] = options_.segments;
  const double* types = all_types + row.b * k_.tokens;
  float terms[2];
  for (size_t n = 0; n < 2; ++n) {
    const size_t h = n * q_.heads + row.h;
    terms[n] = bias[h];
    for (size_t d = 0; d < q_.dim; ++d) terms[n] += row.temperature * row.q[d] * table[h * q_.dim + d];
  }
  for (size_t j = 0; j < part.size(); ++j)
    part.x[j] += types[part.keys.first + j] == types[row.i] ? terms[0] : terms[1];
}

// Scores of the keys of a range that starts with a whole panel, counted from the block's start; keys: its
// panels, the first key in `lane` of the first.
void AttentionTile::multiply(Strip strip, float* scores, const float* queries, const float* keys, size_t lane,
                             KeyRange range) const {
  const size_t panels = panelWidth(lane + range.end - range.first) / kTileColumns;
  dotsOfPanels(strip.rows, scores + range.first - lane, kScoreStride, queries + strip.first * q_.dim,
               keys + range.first * q_.dim, panels, q_.dim);
}

// Scores become weights, and the weighted values are added.
void AttentionTile::mixStrip(Strip strip, const KeyBlock& block, KeyRange range) {
  const size_t width = panelWidth(out_.dim);
  const KeyRange keys = {range.first, std::min(range.end, block.count)};
  const ScaledExp exp_of(stages_.scaleLeft());
  float factors[kTileRows];
  for (size_t r = 0; r < strip.rows; ++r) {
    const size_t row = strip.first + r;
    float* const p = scoresOf(r);
    factors[r] = softmax_[row].add(p + range.first, range.end - range.first, exp_of);
    relative_.addWeights(row, rows_[row],
                         {p + keys.first, {block.start + keys.first, block.start + keys.end}}, factors[r]);
  }
  mixValues(strip, block, keys);
  for (size_t r = 0; r < strip.rows; ++r) {
    float* const mixed = mixed_.data() + r * width;
    // The NaN may come from weight 0 times a value that is NaN or infinite.
    if (!allFinite(mixed, width)) mixRow(mixed, scoresOf(r), block, keys, width);
    addRow(sums_.data() + (strip.first + r) * width, mixed, width, factors[r]);
  }
}

// mixed_ = weights * values
void AttentionTile::mixValues(Strip strip, const KeyBlock& block, KeyRange keys) {
  const size_t width = panelWidth(out_.dim);
  const float* const p = scoresOf(0) + keys.first;
  const float* const values = block.values + keys.first * block.value_stride;
  const size_t count = keys.end - keys.first;
  if (block.value_panel == kTileColumns) {
    tilesOfRows<kScoreStride>(strip.rows, mixed_.data(), width, false, p, values, block.value_stride, count,
                              width);
    return;
  }
  for (size_t d = 0; d < width; d += kTileColumns) {
    tileOfRows<kScoreStride>(strip.rows, mixed_.data() + d, width, false, p,
                             values + d / kTileColumns * block.value_panel, block.value_stride, count);
  }
}

void AttentionTile::finishRow(size_t r) {
  const QueryRow& row = rows_[r];
  float inverse = softmax_[r].inverse();
  stages_.giveProbabilities(row, softmax_[r].shift(), inverse);
  // Scores that all overflowed to -infinity have lost their order.
  if (inverse == 0 && stages_.anyVisible(row)) inverse = std::numeric_limits<float>::quiet_NaN();
  float* const out = out_.row(row.b, row.h, row.i);
  const float* sums = sums_.data() + r * panelWidth(out_.dim);
  for (size_t d = 0; d < out_.dim; ++d) out[d] = sums[d] * inverse;
  relative_.addValues(r, inverse, out);
}

}  // namespace ropewalk
