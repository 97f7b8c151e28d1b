#include "attention/attention.h"

#include <algorithm>
#include <limits>

#include "kernels/softmax.h"
#include "memory.h"

namespace ropewalk {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// How many of the first keys query i may see.
size_t visibleKeys(const AttentionOptions& options, size_t i, size_t keys) {
  if (!options.causal || options.causal_offset >= static_cast<int64_t>(keys)) return keys;
  const int64_t last = static_cast<int64_t>(i) + options.causal_offset;
  if (last < 0) return 0;
  return static_cast<uint64_t>(last) >= keys ? keys : static_cast<size_t>(last) + 1;
}

// One query among the keys of its head.
struct Query {
  const float* q;
  size_t b;
  size_t h;  // query head
  size_t kv_head;
  size_t i;
  size_t queries;  // Tq
};

// scores[j] = scale * (q_i . k_j and the relative terms), j < keys. `lines` has room for a query and for one
// number per row of a relative table.
void rawScores(const Query& at, HeadView<const float> k, const AttentionOptions& options, size_t keys,
               float* lines, float* scores) {
  const RelativeTerms& terms = options.relative;
  const size_t dim = k.dim;
  float* const product = lines;
  float* const query_dots = lines + dim;
  if (terms.query_table != nullptr) {
    for (size_t r = 0; r < terms.rows.rows(); ++r)
      query_dots[r] = dot(at.q, terms.query_table + r * dim, dim);
  }
  for (size_t j = 0; j < keys; ++j) {
    const float* key = k.row(at.b, at.kv_head, j);
    const size_t r = terms.rows.row(at.i, j);
    const float* query = at.q;
    if (terms.product_table != nullptr) {
      for (size_t d = 0; d < dim; ++d) product[d] = at.q[d] * terms.product_table[r * dim + d];
      query = product;
    }
    float score = dot(query, key, dim);
    if (terms.query_table != nullptr) score += query_dots[r];
    if (terms.key_table != nullptr) score += dot(key, terms.key_table + r * dim, dim);
    scores[j] = options.scale * score;
  }
}

// Adds the biases and hides what may not be seen. Hidden keys are chosen, not added to: NaN + -infinity would
// let them through.
void applyBiases(const Query& at, const AttentionOptions& options, size_t keys, float* scores) {
  if (options.distance_bias != nullptr) {
    const float* bias = options.distance_bias + at.h * (at.queries + keys - 1) + at.queries - 1 - at.i;
    for (size_t j = 0; j < keys; ++j) scores[j] += bias[j];
  }
  if (options.bias.data != nullptr) {
    const float* bias = options.bias.row(at.b, at.h, at.i);
    for (size_t j = 0; j < keys; ++j) {
      const float added = bias[j * options.bias.key_stride];
      scores[j] = added == kHidden ? kHidden : scores[j] + added;
    }
  }
  if (options.keep.data != nullptr) {
    const uint8_t* keep = options.keep.row(at.b, at.h, at.i);
    for (size_t j = 0; j < keys; ++j) {
      if (keep[j * options.keep.key_stride] == 0) scores[j] = kHidden;
    }
  }
  std::fill(scores + visibleKeys(options, at.i, keys), scores + keys, kHidden);
}

// out = sum_j p_j (v_j + value_table[row]). Keys of weight 0 are not read. `lines` has room for one row of v
// and for one number per row of a relative table.
void mixValues(const Query& at, HeadView<const float> v, const RelativeTerms& terms, const float* p,
               size_t keys, float* lines, float* out) {
  // As in softmax, a long sum is made of short ones.
  constexpr size_t kBlock = 256;
  float* const part = lines;
  float* const weights = lines + v.dim;
  std::fill_n(out, v.dim, 0.0f);
  for (size_t start = 0; start < keys; start += kBlock) {
    std::fill_n(part, v.dim, 0.0f);
    for (size_t j = start; j < std::min(keys, start + kBlock); ++j) {
      if (p[j] != 0) addScaled(part, p[j], v.row(at.b, at.kv_head, j), v.dim);
    }
    addScaled(out, 1, part, v.dim);
  }
  if (terms.value_table == nullptr) return;
  std::fill_n(weights, terms.rows.rows(), 0.0f);
  for (size_t j = 0; j < keys; ++j) weights[terms.rows.row(at.i, j)] += p[j];
  for (size_t r = 0; r < terms.rows.rows(); ++r) {
    if (weights[r] != 0) addScaled(out, weights[r], terms.value_table + r * v.dim, v.dim);
  }
}

bool fits(HeadView<float> out, HeadView<const float> q, HeadView<const float> k, HeadView<const float> v) {
  return q.batch == k.batch && k.batch == v.batch && out.batch == q.batch && k.heads == v.heads &&
         k.heads != 0 && q.heads % k.heads == 0 && out.heads == q.heads && q.dim == k.dim &&
         k.tokens == v.tokens && out.tokens == q.tokens && out.dim == v.dim;
}

}  // namespace

Status attention(HeadView<float> out, HeadView<const float> q, HeadView<const float> k,
                 HeadView<const float> v, const AttentionOptions& options, ScoreStage stage, float* scores) {
  if (!fits(out, q, k, v)) return Status::kInvalidShape;
  const size_t keys = k.tokens;
  const RelativeTerms& terms = options.relative;
  Buffer<float> row_buffer;
  Buffer<float> line_buffer;
  if (row_buffer.allocate(keys) != Status::kOk ||
      line_buffer.allocate(std::max(q.dim, v.dim) + terms.rows.rows()) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  float* const row = row_buffer.data();

  const size_t group = q.heads / k.heads;  // query heads that share a key head
  for (size_t b = 0; b < q.batch; ++b) {
    for (size_t h = 0; h < q.heads; ++h) {
      for (size_t i = 0; i < q.tokens; ++i) {
        const Query at = {q.row(b, h, i), b, h, h / group, i, q.tokens};
        float* given_back = scores == nullptr ? nullptr : scores + ((b * q.heads + h) * q.tokens + i) * keys;
        // Keys that nobody sees are worth computing only if their raw scores are asked for.
        const size_t visible = visibleKeys(options, i, keys);
        const size_t computed = stage == ScoreStage::kRaw ? keys : visible;
        rawScores(at, k, options, computed, line_buffer.data(), row);
        std::fill(row + computed, row + keys, kHidden);
        if (stage == ScoreStage::kRaw) std::copy_n(row, keys, given_back);
        applyBiases(at, options, keys, row);
        if (stage == ScoreStage::kBiased) std::copy_n(row, keys, given_back);
        softmax(row, visible);
        std::fill(row + visible, row + keys, 0.0f);
        if (stage == ScoreStage::kProbabilities) std::copy_n(row, keys, given_back);
        mixValues(at, v, terms, row, visible, line_buffer.data(), out.row(b, h, i));
      }
    }
  }
  return Status::kOk;
}

}  // namespace ropewalk
