#include "attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/softmax.h"
#include "memory.h"

namespace ropewalk {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// The keys that a query sees, masks aside: [0, sinks) and [first, end), sinks <= first <= end.
struct VisibleKeys {
  size_t sinks;
  size_t first;
  size_t end;
};

// How many keys stand before a position.
size_t keysBefore(const AttentionOptions& options, size_t keys, int64_t position) {
  if (options.key_positions != nullptr) {
    const int64_t* begin = options.key_positions;
    return static_cast<size_t>(std::lower_bound(begin, begin + keys, position) - begin);
  }
  if (position <= 0) return 0;
  return static_cast<uint64_t>(position) >= keys ? keys : static_cast<size_t>(position);
}

VisibleKeys visibleKeys(const AttentionOptions& options, size_t b, int64_t position, size_t keys) {
  size_t end = keys;
  if (options.key_lengths != nullptr) {
    end = static_cast<size_t>(std::clamp<int64_t>(options.key_lengths[b], 0, static_cast<int64_t>(keys)));
  }
  if (options.causal) end = std::min(end, keysBefore(options, keys, position + 1));
  if (options.window_right >= 0) {
    end = std::min(end, keysBefore(options, keys, position + options.window_right + 1));
  }
  const size_t first =
      options.window_left < 0 ? 0 : std::min(end, keysBefore(options, keys, position - options.window_left));
  return {std::min(options.sink_tokens, first), first, end};
}

// One query among the keys of its head.
struct Query {
  const float* q;
  size_t b;
  size_t h;  // query head
  size_t kv_head;
  size_t i;
  int64_t position;
};

int64_t distance(const AttentionOptions& options, const Query& at, size_t j) {
  const int64_t key = options.key_positions == nullptr ? static_cast<int64_t>(j) : options.key_positions[j];
  return key - at.position;
}

// scores[j] = scale * (q_i . k_j and the relative terms), first <= j < end. `lines` has room for a query and
// for one number per row of a relative table.
void rawScores(const Query& at, HeadView<const float> k, const AttentionOptions& options, size_t first,
               size_t end, float* lines, float* scores) {
  const RelativeTerms& terms = options.relative;
  const size_t dim = k.dim;
  float* const product = lines;
  float* const query_dots = lines + dim;
  if (terms.query_table != nullptr) {
    for (size_t r = 0; r < terms.rows.rows(); ++r)
      query_dots[r] = dot(at.q, terms.query_table + r * dim, dim);
  }
  for (size_t j = first; j < end; ++j) {
    const float* key = k.row(at.b, at.kv_head, j);
    const size_t r = terms.rows.row(distance(options, at, j));
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

float distanceBias(const AttentionOptions& options, const Query& at, size_t j) {
  if (options.distance_bias == nullptr) return 0;
  return options.distance_bias[at.h * options.distance_count +
                               static_cast<size_t>(distance(options, at, j) - options.distance_first)];
}

// Adds the biases and hides what may not be seen. Hidden keys are chosen, not added to: NaN + -infinity would
// let them through.
void applyBiases(const Query& at, const AttentionOptions& options, VisibleKeys visible, size_t keys,
                 float* scores) {
  if (options.distance_bias != nullptr) {
    for (size_t j = 0; j < visible.end; ++j) scores[j] += distanceBias(options, at, j);
  }
  if (options.bias.data != nullptr) {
    const float* bias = options.bias.row(at.b, at.h, at.i);
    for (size_t j = 0; j < visible.end; ++j) {
      const float added = bias[j * options.bias.key_stride];
      scores[j] = added == kHidden ? kHidden : scores[j] + added;
    }
  }
  if (options.keep.data != nullptr) {
    const uint8_t* keep = options.keep.row(at.b, at.h, at.i);
    for (size_t j = 0; j < visible.end; ++j) {
      if (keep[j * options.keep.key_stride] == 0) scores[j] = kHidden;
    }
  }
  std::fill(scores + visible.sinks, scores + visible.first, kHidden);
  std::fill(scores + visible.end, scores + keys, kHidden);
}

// scores [keys + 1] -> probabilities; a sink takes the last place, and takes its share along.
void toProbabilities(const Query& at, const AttentionOptions& options, VisibleKeys visible, size_t keys,
                     float* scores) {
  if (options.sinks == nullptr) {
    softmax(scores, visible.end);
  } else {
    scores[visible.end] = options.sinks[at.h];
    softmax(scores, visible.end + 1);
  }
  std::fill(scores + visible.end, scores + keys, 0.0f);
}

// out = sum_j p_j (v_j + value_table[row]). Keys of weight 0 are not read. `lines` has room for one row of v
// and for one number per row of a relative table.
void mixValues(const Query& at, HeadView<const float> v, const AttentionOptions& options, const float* p,
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
  const RelativeTerms& terms = options.relative;
  if (terms.value_table == nullptr) return;
  std::fill_n(weights, terms.rows.rows(), 0.0f);
  for (size_t j = 0; j < keys; ++j) weights[terms.rows.row(distance(options, at, j))] += p[j];
  for (size_t r = 0; r < terms.rows.rows(); ++r) {
    if (weights[r] != 0) addScaled(out, weights[r], terms.value_table + r * v.dim, v.dim);
  }
}

bool fits(HeadView<float> out, HeadView<const float> q, HeadView<const float> k, HeadView<const float> v) {
  return q.batch == k.batch && k.batch == v.batch && out.batch == q.batch && k.heads == v.heads &&
         k.heads != 0 && q.heads % k.heads == 0 && out.heads == q.heads && q.dim == k.dim &&
         k.tokens == v.tokens && out.tokens == q.tokens && out.dim == v.dim;
}

// Where the scores of one query go.
struct ScoreRow {
  const ScoreOutputs& outputs;
  size_t start;
  size_t keys;
  bool wanted;

  ScoreRow(const ScoreOutputs& o, const Query& at, HeadView<const float> q, size_t n) : outputs(o), keys(n) {
    const bool chosen = o.slots != nullptr;
    const size_t heads = chosen ? o.slot_count : q.heads;
    const int64_t slot = chosen ? o.slots[at.h] : static_cast<int64_t>(at.h);
    wanted = o.any() && slot >= 0;
    start = wanted ? ((at.b * heads + static_cast<size_t>(slot)) * q.tokens + at.i) * keys : 0;
  }

  float* of(float* output) const { return wanted && output != nullptr ? output + start : nullptr; }
  void give(float* output, const float* scores) const {
    if (float* to = of(output)) std::copy_n(scores, keys, to);
  }
  // Whether scores of hidden keys are asked for.
  bool all() const {
    return of(outputs.content) || of(outputs.position) || of(outputs.raw) || of(outputs.capped);
  }
};

// Splits raw scores in content and position.
void giveParts(const ScoreRow& row, const Query& at, HeadView<const float> k, const AttentionOptions& options,
               const float* raw) {
  float* const content = row.of(row.outputs.content);
  float* const position = row.of(row.outputs.position);
  if (content == nullptr && position == nullptr) return;
  const HeadView<const float> plain_k = row.outputs.plain_k.data == nullptr ? k : row.outputs.plain_k;
  const float* query = row.outputs.plain_q.data == nullptr ? at.q : row.outputs.plain_q.row(at.b, at.h, at.i);
  for (size_t j = 0; j < row.keys; ++j) {
    const float score = options.scale * dot(query, plain_k.row(at.b, at.kv_head, j), k.dim);
    if (content != nullptr) content[j] = score;
    if (position != nullptr) position[j] = raw[j] - score + distanceBias(options, at, j);
  }
}

}  // namespace

Status attention(HeadView<float> out, HeadView<const float> q, HeadView<const float> k,
                 HeadView<const float> v, const AttentionOptions& options, const ScoreOutputs& scores) {
  if (!fits(out, q, k, v)) return Status::kInvalidShape;
  const size_t keys = k.tokens;
  Buffer<float> row_buffer;
  Buffer<float> line_buffer;
  if (row_buffer.allocate(keys + 1) != Status::kOk ||
      line_buffer.allocate(std::max(q.dim, v.dim) + options.relative.rows.rows()) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  float* const row = row_buffer.data();
  float* const lines = line_buffer.data();

  const size_t group = q.heads / k.heads;  // query heads that share a key head
  for (size_t b = 0; b < q.batch; ++b) {
    const int64_t offset = options.query_offsets == nullptr ? options.query_offset : options.query_offsets[b];
    for (size_t h = 0; h < q.heads; ++h) {
      for (size_t i = 0; i < q.tokens; ++i) {
        const Query at = {q.row(b, h, i), b, h, h / group, i, static_cast<int64_t>(i) + offset};
        const VisibleKeys visible = visibleKeys(options, b, at.position, keys);
        const ScoreRow given(scores, at, q, keys);
        // Keys that nobody sees are worth computing only if their scores are asked for.
        if (given.all()) {
          rawScores(at, k, options, 0, keys, lines, row);
          giveParts(given, at, k, options, row);
          given.give(scores.raw, row);
        } else {
          rawScores(at, k, options, 0, visible.sinks, lines, row);
          rawScores(at, k, options, visible.first, visible.end, lines, row);
          std::fill(row + visible.sinks, row + visible.first, kHidden);
        }
        if (options.softcap > 0) {
          const size_t capped = given.all() ? keys : visible.end;
          for (size_t j = 0; j < capped; ++j) row[j] = options.softcap * std::tanh(row[j] / options.softcap);
        }
        given.give(scores.capped, row);
        applyBiases(at, options, visible, keys, row);
        given.give(scores.biased, row);
        toProbabilities(at, options, visible, keys, row);
        given.give(scores.probabilities, row);
        mixValues(at, v, options, row, visible.end, lines, out.row(b, h, i));
      }
    }
  }
  return Status::kOk;
}

}  // namespace ropewalk
