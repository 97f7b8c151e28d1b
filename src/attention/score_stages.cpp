#include "attention/score_stages.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "attention/key_blocks.h"
#include "kernels/exp.h"
#include "kernels/softcap.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

constexpr float kHidden = -std::numeric_limits<float>::infinity();

void scaleScores(float* x, size_t n, float scale) {
  const f32x4 scales = simd::splat(scale);
  for (size_t i = 0; i < n; i += kLanes) simd::store(x + i, simd::mul(simd::load(x + i), scales));
}

// Index of the bias of key j in distance_bias. Every distance of a call lies in one of its ranges.
size_t biasIndex(const AttentionOptions& options, const QueryRow& row, size_t j) {
  const int64_t distance = distanceOf(options, row, j);
  const size_t h = options.fire.out_bias != nullptr ? 0 : row.h;
  if (options.distance_ranges == nullptr) {
    const auto at = static_cast<size_t>(distance - options.distance_first);
    assert(at < options.distance_count);
    return h * options.distance_count + at;
  }
  const auto behind = [](int64_t d, const DistanceRange& range) { return d < range.first; };
  const DistanceRange* end = options.distance_ranges + options.distance_range_count;
  const DistanceRange& range = *(std::upper_bound(options.distance_ranges, end, distance, behind) - 1);
  return static_cast<size_t>(range.start + static_cast<int64_t>(h) * range.count + distance - range.first);
}

void addDistanceBias(const AttentionOptions& options, const QueryRow& row, const ScorePart& part) {
  if (part.size() == 0) return;
  float gathered[kBlockKeys];
  const float* bias = gathered;
  if (options.key_positions == nullptr) {
    // Neighbours among keys are neighbours among distances.
    bias = options.distance_bias + biasIndex(options, row, part.keys.first);
  } else {
    for (size_t n = 0; n < part.size(); ++n)
      gathered[n] = options.distance_bias[biasIndex(options, row, part.keys.first + n)];
  }
  if (options.fire.out_bias != nullptr)
    return addFire(part.x, bias, part.size(), options.fire, row.h, row.position);
  for (size_t n = 0; n < part.size(); ++n) part.x[n] += bias[n];
}

float temperatureAt(const QueryTemperature& temperature, int64_t position) {
  if (temperature.step == 0) return 1;
  const int64_t steps = std::max<int64_t>(position + 1, 0) / temperature.step;
  return static_cast<float>(1 +
                            static_cast<double>(temperature.scale) * std::log1p(static_cast<double>(steps)));
}

// A probability of 0 stays 0 in a row of NaN: no one may attend to it.
f32x4 probability(f32x4 score, f32x4 shift, f32x4 inverse) {
  const f32x4 e = exp(simd::sub(score, shift));
  const f32x4 least = simd::splat(std::numeric_limits<float>::min());
  return simd::select(simd::lessThan(e, least), simd::splat(0), simd::mul(e, inverse));
}

}  // namespace

QueryRow queryRow(HeadView<const float> q, const AttentionOptions& options, const ScoreOutputs& outputs,
                  size_t b, size_t h, size_t i, size_t keys) {
  const int64_t position = queryPosition(options, b, i);
  const bool chosen = outputs.slots != nullptr;
  const size_t heads = chosen ? outputs.slot_count : q.heads;
  const int64_t slot = chosen ? outputs.slots[h] : static_cast<int64_t>(h);
  const bool given = outputs.any() && slot >= 0;
  const size_t start = given ? ((b * heads + static_cast<size_t>(slot)) * q.tokens + i) * keys : 0;
  const float temperature = temperatureAt(options.temperature, position);
  return {q.row(b, h, i), b,    h, i, position, temperature, visibleKeys(options, b, position, keys),
          given,          start};
}

void ScoreStages::apply(const QueryRow& row, const ScorePart& part, float* content) const {
  const size_t whole = (part.size() + kLanes - 1) / kLanes * kLanes;
  if (plain_ && !row.given && options_.keep.data == nullptr) {
    hide(row, part);
    std::fill(part.x + part.size(), part.x + whole, kHidden);
    return;
  }
  if (!plain_) scaleScores(part.x, whole, options_.scale);
  if (row.given) {
    if (wantsParts()) giveParts(row, part, content);
    give(outputs_.raw, row, part);
  }
  if (options_.softcap > 0) softcapRow(part.x, whole, options_.softcap);
  if (row.given) give(outputs_.capped, row, part);
  if (options_.distance_bias != nullptr || options_.bias.data != nullptr || options_.keep.data != nullptr)
    addBiases(row, part);
  hide(row, part);
  std::fill(part.x + part.size(), part.x + whole, kHidden);
  if (!row.given) return;
  give(outputs_.biased, row, part);
  give(outputs_.probabilities, row, part);  // to be normalized when the whole row is known
}

void ScoreStages::giveHidden(const QueryRow& row, const KeyRange& keys) const {
  if (!row.given || keys.empty()) return;
  for (float* output : {outputs_.biased, outputs_.probabilities}) {
    if (output != nullptr)
      std::fill_n(output + row.scores_start + keys.first, keys.end - keys.first, kHidden);
  }
}

void ScoreStages::giveProbabilities(const QueryRow& row, float shift, float inverse) const {
  if (!row.given || outputs_.probabilities == nullptr) return;
  float* p = outputs_.probabilities + row.scores_start;
  const f32x4 shifts = simd::splat(shift * scaleLeft());
  const f32x4 inverses = simd::splat(inverse);
  size_t j = 0;
  for (; j + kLanes <= keys_; j += kLanes)
    simd::store(p + j, probability(simd::load(p + j), shifts, inverses));
  simd::storeN(p + j, probability(simd::loadN(p + j, keys_ - j), shifts, inverses), keys_ - j);
}

void ScoreStages::give(float* output, const QueryRow& row, const ScorePart& part) const {
  if (output == nullptr) return;
  float* const out = output + row.scores_start + part.keys.first;
  for (size_t n = 0; n < part.size(); ++n) out[n] = part.x[n] * scaleLeft();
}

void ScoreStages::giveParts(const QueryRow& row, const ScorePart& raw, float* content) const {
  const size_t start = row.scores_start + raw.keys.first;
  for (size_t n = 0; n < raw.size(); ++n) content[n] *= options_.scale;
  if (outputs_.content != nullptr) std::copy_n(content, raw.size(), outputs_.content + start);
  if (outputs_.position == nullptr) return;
  for (size_t n = 0; n < raw.size(); ++n) content[n] = raw.x[n] * scaleLeft() - content[n];
  if (options_.distance_bias != nullptr) addDistanceBias(options_, row, {content, raw.keys});
  std::copy_n(content, raw.size(), outputs_.position + start);
}

void ScoreStages::addBiases(const QueryRow& row, const ScorePart& whole) const {
  // Distances of keys behind the last visible one may have no bias.
  ScorePart part = whole;
  part.keys.end = std::max(part.keys.first, std::min(part.keys.end, row.visible.end));
  if (options_.distance_bias != nullptr) addDistanceBias(options_, row, part);
  // Hidden keys are chosen, not added to: NaN + -infinity would let them through.
  if (const MaskView<float>& bias = options_.bias; bias.data != nullptr) {
    const float* values = bias.row(row.b, row.h, row.i) + part.keys.first * bias.key_stride;
    for (size_t n = 0; n < part.size(); ++n) {
      const float added = values[n * bias.key_stride];
      part.x[n] = added == kHidden ? kHidden : part.x[n] + added;
    }
  }
  if (const MaskView<uint8_t>& keep = options_.keep; keep.data != nullptr) {
    const uint8_t* values = keep.row(row.b, row.h, row.i) + part.keys.first * keep.key_stride;
    for (size_t n = 0; n < part.size(); ++n) {
      if (values[n * keep.key_stride] == 0) part.x[n] = kHidden;
    }
  }
}

bool ScoreStages::anyVisible(const QueryRow& row) const {
  const auto [sink_tokens, first, end] = row.visible;
  const float* bias = options_.bias.data == nullptr ? nullptr : options_.bias.row(row.b, row.h, row.i);
  const uint8_t* keep = options_.keep.data == nullptr ? nullptr : options_.keep.row(row.b, row.h, row.i);
  for (size_t j = 0; j < end; ++j) {
    const bool visible = j < sink_tokens || j >= first;
    const bool biased = bias == nullptr || bias[j * options_.bias.key_stride] != kHidden;
    if (visible && biased && (keep == nullptr || keep[j * options_.keep.key_stride] != 0)) return true;
  }
  return false;
}

void ScoreStages::hide(const QueryRow& row, const ScorePart& part) const {
  const auto [sink_tokens, first, end] = row.visible;
  if (first <= part.keys.first && part.keys.end <= end) return;
  const auto at = [&](size_t j) { return std::clamp(j, part.keys.first, part.keys.end) - part.keys.first; };
  std::fill(part.x + at(sink_tokens), part.x + at(first), kHidden);
  std::fill(part.x + at(end), part.x + part.size(), kHidden);
}

}  // namespace ropewalk
