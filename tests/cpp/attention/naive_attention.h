// Naive attention in double, one probability after the other, with a bound on the error of float32.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "attention/attention.h"
#include "reference.h"

namespace ropewalk::test {

struct NaiveAttention {
  std::vector<double> out;                    // [B, H, Tq, Dv]
  std::vector<double> out_tolerance;          // the same shape
  std::vector<double> probabilities;          // [B, H, Tq, Tk]
  std::vector<double> probability_tolerance;  // the same shape
};

inline int64_t naiveQueryPosition(const AttentionOptions& o, size_t b, size_t i) {
  return static_cast<int64_t>(i) + (o.query_offsets == nullptr ? o.query_offset : o.query_offsets[b]);
}

inline int64_t naiveKeyPosition(const AttentionOptions& o, size_t j) {
  return o.key_positions == nullptr ? static_cast<int64_t>(j) : o.key_positions[j];
}

// Which chunk a position lies in.
inline double chunkOf(int64_t position, const AttentionOptions& o) {
  return std::floor(static_cast<double>(position) / static_cast<double>(o.window_left + 1));
}

inline bool isHidden(const AttentionOptions& o, size_t b, size_t h, size_t i, size_t j) {
  const int64_t ahead = naiveKeyPosition(o, j) - naiveQueryPosition(o, b, i);
  if (o.causal && ahead > 0) return true;
  const bool behind = o.chunked ? chunkOf(naiveKeyPosition(o, j), o) < chunkOf(naiveQueryPosition(o, b, i), o)
                                : -ahead > o.window_left;
  if (o.window_left >= 0 && behind && j >= o.sink_tokens) return true;
  if (o.window_right >= 0 && ahead > o.window_right) return true;
  if (o.key_lengths != nullptr && static_cast<int64_t>(j) >= o.key_lengths[b]) return true;
  if (o.keep.data != nullptr && o.keep.row(b, h, i)[j * o.keep.key_stride] == 0) return true;
  return o.bias.data != nullptr && o.bias.row(b, h, i)[j * o.bias.key_stride] == -kInfinity;
}

template <class T>
NaiveAttention naiveAttention(HeadView<const T> q, HeadView<const T> k, HeadView<const T> v,
                              const AttentionOptions& o) {
  NaiveAttention result;
  const size_t group = q.heads / k.heads;
  for (size_t b = 0; b < q.batch; ++b) {
    for (size_t h = 0; h < q.heads; ++h) {
      for (size_t i = 0; i < q.tokens; ++i) {
        // A score is off by the roundings of its dot product (at most D / 8 + 6), its scale and its bias.
        std::vector<double> scores(k.tokens, -kInfinity);
        double score_error = 0;
        double largest = -kInfinity;
        double smallest = kInfinity;
        for (size_t j = 0; j < k.tokens; ++j) {
          if (isHidden(o, b, h, i, j)) continue;
          double sum = 0;
          double work = 0;
          for (size_t d = 0; d < q.dim; ++d) {
            const double term = static_cast<double>(q.row(b, h, i)[d]) * k.row(b, h / group, j)[d];
            sum += term;
            work += std::fabs(term);
          }
          const double bias = o.bias.data == nullptr ? 0 : o.bias.row(b, h, i)[j * o.bias.key_stride];
          const auto step = static_cast<double>(o.temperature.step);
          const auto at = static_cast<double>(naiveQueryPosition(o, b, i));
          const double factor =
              step == 0 ? 1
                        : 1 + o.temperature.scale * std::log1p(std::max(0.0, std::floor((at + 1) / step)));
          sum *= factor;
          work *= factor;
          // A cap moves scores together, so its own roundings are all that it adds.
          const double capped =
              o.softcap > 0 ? o.softcap * std::tanh(o.scale * sum / o.softcap) : o.scale * sum;
          work += o.softcap / std::fabs(o.scale);
          scores[j] = capped + bias;
          score_error = std::max(score_error, (static_cast<double>(q.dim) / 8 + 8) * kUnit *
                                                  (std::fabs(o.scale) * work + std::fabs(bias)));
          largest = std::max(largest, scores[j]);
          smallest = std::min(smallest, scores[j]);
        }

        // A sink is one more score.
        const double sink = o.sinks == nullptr ? -kInfinity : o.sinks[h];
        largest = std::max(largest, sink);
        if (sink > -kInfinity) smallest = std::min(smallest, sink);

        // A probability is off by twice that (its own score and the sum), by x - max, e^x, the sum and a
        // division.
        double sum = sink == -kInfinity ? 0 : std::exp(sink - largest);
        for (const double s : scores) sum += s == -kInfinity ? 0 : std::exp(s - largest);
        const double spread = largest > -kInfinity ? largest - smallest : 0;
        const double relative = 2 * score_error + (2 * spread + 8 + static_cast<double>(k.tokens)) * kUnit;
        for (const double s : scores) {
          const double p = s == -kInfinity ? 0 : std::exp(s - largest) / sum;
          result.probabilities.push_back(p);
          result.probability_tolerance.push_back(relative * p + 0x1p-126);
        }

        // And each weighted sum rounds twice a key.
        const double* p = result.probabilities.data() + result.probabilities.size() - k.tokens;
        for (size_t d = 0; d < v.dim; ++d) {
          double mixed = 0;
          double work = 0;
          for (size_t j = 0; j < k.tokens; ++j) {
            if (scores[j] == -kInfinity) continue;
            const double term = p[j] * v.row(b, h / group, j)[d];
            mixed += term;
            work += std::fabs(term);
          }
          result.out.push_back(mixed);
          result.out_tolerance.push_back((relative + 2 * static_cast<double>(k.tokens) * kUnit) * work +
                                         0x1p-120);
        }
      }
    }
  }
  return result;
}

struct AttentionShape {
  size_t batch;
  size_t heads;     // H
  size_t kv_heads;  // G
  size_t queries;   // Tq
  size_t keys;      // Tk
  size_t dim;       // D
  size_t value_dim;
};

// Seeded queries, keys and values of a shape, and room for results, all of exact size.
struct AttentionData {
  AttentionShape shape;
  bool heads_first;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
  std::vector<float> out;
  std::vector<float> probabilities;

  AttentionData(Random& random, const AttentionShape& s, bool heads_first_layout = true)
      : shape(s),
        heads_first(heads_first_layout),
        q(random.floats(s.batch * s.heads * s.queries * s.dim, 2)),
        k(random.floats(s.batch * s.kv_heads * s.keys * s.dim, 2)),
        v(random.floats(s.batch * s.kv_heads * s.keys * s.value_dim)),
        out(s.batch * s.heads * s.queries * s.value_dim, kNaN),
        probabilities(s.batch * s.heads * s.queries * s.keys, kNaN) {}

  HeadView<const float> queryView() const { return view(q.data(), shape.heads, shape.queries, shape.dim); }
  HeadView<const float> keyView() const { return view(k.data(), shape.kv_heads, shape.keys, shape.dim); }
  HeadView<const float> valueView() const {
    return view(v.data(), shape.kv_heads, shape.keys, shape.value_dim);
  }
  HeadView<float> outView() { return view(out.data(), shape.heads, shape.queries, shape.value_dim); }

  Status run(const AttentionOptions& options) {
    ScoreOutputs scores;
    scores.probabilities = probabilities.data();
    return attention(outView(), queryView(), keyView(), valueView(), options, scores);
  }

  // Results against the naive ones.
  double errorShare(const AttentionOptions& options) {
    const NaiveAttention naive = naiveAttention(queryView(), keyView(), valueView(), options);
    Worst worst;
    size_t n = 0;
    for (size_t b = 0; b < shape.batch; ++b) {
      for (size_t h = 0; h < shape.heads; ++h) {
        for (size_t i = 0; i < shape.queries; ++i) {
          for (size_t d = 0; d < shape.value_dim; ++d, ++n) {
            worst.add(outView().row(b, h, i)[d], naive.out[n], naive.out_tolerance[n]);
          }
        }
      }
    }
    for (size_t p = 0; p < probabilities.size(); ++p) {
      worst.add(probabilities[p], naive.probabilities[p], naive.probability_tolerance[p]);
    }
    return worst.share();
  }

 private:
  template <class T>
  HeadView<T> view(T* data, size_t heads, size_t tokens, size_t dim) const {
    return heads_first ? headsFirst(data, shape.batch, heads, tokens, dim)
                       : tokensFirst(data, shape.batch, heads, tokens, dim);
  }
};

// A bias [H, Tq + Tk - 1] for the distances that a shape has.
inline void setDistanceBias(AttentionOptions& options, const AttentionShape& s,
                            const std::vector<float>& bias) {
  options.distance_bias = bias.data();
  options.distance_count = s.queries + s.keys - 1;
  options.distance_first = 1 - static_cast<int64_t>(s.queries) - options.query_offset;
}

inline AttentionOptions scaled(size_t dim) {
  AttentionOptions options;
  options.scale = 1 / std::sqrt(static_cast<float>(dim));
  return options;
}

}  // namespace ropewalk::test
