#include "layers/feed_forward.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/add_scaled.h"
#include "kernels/softmax.h"
#include "memory.h"

namespace ropewalk {
namespace {

// A multiple of the rows that gemm packs at a time, so that weights are read no more often than for all rows
// at once.
constexpr size_t kChunkRows = 300;

// From the softmax of a row, or its logits, to the weights of its experts, 0 for all others.
void choose(const FeedForwardOptions& options, float* weights, size_t experts) {
  const float least = options.sigmoid ? -std::numeric_limits<float>::infinity() : 0;
  for (size_t e = 0; e < experts; ++e) {
    size_t before = 0;
    for (size_t i = 0; i < experts; ++i) {
      if (weights[i] > weights[e] || (weights[i] == weights[e] && i < e)) ++before;
    }
    if (before >= options.chosen) weights[e] = least;
  }
  float sum = 0;
  for (size_t e = 0; e < experts; ++e) {
    if (options.sigmoid) weights[e] = 1 / (1 + std::exp(-weights[e]));
    sum += weights[e];
  }
  for (size_t e = 0; options.normalize && e < experts; ++e) weights[e] /= sum;
}

}  // namespace

Status FeedForward::create(const FeedForwardOptions& options, FeedForwardParts&& parts) {
  const PackedMatrix& gate = parts.gate.weight();
  const PackedMatrix& up = parts.up.weight();
  const PackedMatrix& down = parts.down.weight();
  const PackedMatrix& router = parts.router.weight();
  const FeedForward* const next = parts.next.get();
  const bool gate_fits = gate.rows() == 0 || (gate.rows() == up.rows() && gate.columns() == up.columns());
  if (!gate_fits || up.rows() == 0 || down.columns() != up.rows() || down.rows() != up.columns() ||
      (router.rows() != 0 && (router.columns() != up.columns() || options.chosen == 0)) ||
      (next != nullptr && (next->modelDim() != down.rows() || next->hiddenDim() != up.rows() ||
                           next->gated() != (gate.rows() != 0)))) {
    return Status::kInvalidShape;
  }
  size_t count = 1;
  for (const FeedForward* each = next; each != nullptr; each = each->parts_.next.get()) ++count;
  if (router.rows() != 0 && router.rows() != count && router.rows() + 1 != count)
    return Status::kInvalidShape;
  options_ = options;
  parts_ = std::move(parts);
  return Status::kOk;
}

size_t FeedForward::bytes() const {
  size_t sum = 0;
  for (const FeedForward* each = this; each != nullptr; each = each->parts_.next.get()) {
    const FeedForwardParts& parts = each->parts_;
    sum += parts.gate.bytes() + parts.up.bytes() + parts.down.bytes() + parts.router.bytes();
  }
  return sum;
}

bool FeedForward::workSize(size_t rows, size_t* size) const {
  const size_t own = routed() == 0 ? 0 : routed() + 2 * modelDim();
  return multiply(std::min(rows, kChunkRows), hiddenDim() * (gated() ? 2 : 1) + own, size);
}

void FeedForward::applyOne(float* out, const float* x, size_t rows, float* work) const {
  const size_t cells = rows * hiddenDim();
  parts_.up.apply(work, x, rows);
  if (gated()) {
    float* const gate = work + cells;
    parts_.gate.apply(gate, x, rows);
    activateGated(options_.activation, work, gate, work, cells);
  } else {
    activate(options_.activation, work, work, cells);
  }
  parts_.down.apply(out, work, rows);
}

void FeedForward::applyExperts(float* out, const float* x, size_t rows, float* work) const {
  const size_t model = modelDim();
  const size_t count = routed();
  float* const weights = work;               // [rows, E]
  float* const taken = work + rows * count;  // the rows of an expert
  float* const made = taken + rows * model;  // what it makes of them

  // 1. which experts each row takes
  parts_.router.apply(weights, x, rows);
  if (!options_.sigmoid) softmaxRows(weights, count, weights, count, rows, count);
  for (size_t r = 0; r < rows; ++r) choose(options_, weights + r * count, count);

  // 2. each expert with its rows, all at once
  std::fill_n(out, rows * model, 0.0f);
  size_t e = 0;
  for (const FeedForward* each = this; each != nullptr; each = each->parts_.next.get(), ++e) {
    const auto weightOf = [&](size_t r) { return e < count ? weights[r * count + e] : 1; };
    size_t picked = 0;
    for (size_t r = 0; r < rows; ++r) {
      const float weight = weightOf(r);
      if (weight == 0) continue;
      float* const row = taken + picked++ * model;
      for (size_t i = 0; i < model; ++i) row[i] = (options_.sigmoid ? weight : 1) * x[r * model + i];
    }
    each->applyOne(made, taken, picked, made + rows * model);
    picked = 0;
    for (size_t r = 0; r < rows; ++r) {
      const float weight = weightOf(r);
      if (weight == 0) continue;
      addScaled(out + r * model, options_.sigmoid ? 1 : weight, made + picked++ * model, model);
    }
  }
}

void FeedForward::apply(float* out, const float* x, size_t rows, float* work) const {
  const size_t model = modelDim();
  for (size_t start = 0; start < rows; start += kChunkRows) {
    const size_t count = std::min(kChunkRows, rows - start);
    const auto part = routed() == 0 ? &FeedForward::applyOne : &FeedForward::applyExperts;
    (this->*part)(out + start * model, x + start * model, count, work);
  }
}

}  // namespace ropewalk
