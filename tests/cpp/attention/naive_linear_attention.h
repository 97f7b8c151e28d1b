// Naive linear attention in double, one weight after the other, with a bound on the error of float32.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "attention/linear_attention.h"
#include "encodings/rope_plan.h"
#include "reference.h"

namespace ropewalk::test {

struct LinearShape {
  size_t batch = 1;
  size_t heads = 1;
  size_t kv_heads = 1;
  size_t queries = 1;
  size_t keys = 1;
  size_t dim = 4;
  size_t value_dim = 4;
};

struct LinearCase {
  LinearAttentionOptions options;
  bool causal = false;
  RopePlan* rope = nullptr;
  int64_t offset = 0;             // where key 0 stands; the last query stands at the last key
  const uint8_t* keep = nullptr;  // [B, Tk]
};

// Seeded queries, keys and values, and room for results, all of exact size.
struct LinearData {
  LinearShape shape;
  bool heads_first;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
  std::vector<float> out;
  std::vector<float> denominators;
  DenominatorReport report;

  LinearData(Random& random, const LinearShape& s, bool heads_first_layout = true)
      : shape(s),
        heads_first(heads_first_layout),
        q(random.floats(s.batch * s.heads * s.queries * s.dim, 2)),
        k(random.floats(s.batch * s.kv_heads * s.keys * s.dim, 2)),
        v(random.floats(s.batch * s.kv_heads * s.keys * s.value_dim)),
        out(s.batch * s.heads * s.queries * s.value_dim, kNaN),
        denominators(s.batch * s.heads * s.queries, kNaN) {}

  template <class T>
  HeadView<T> view(T* data, size_t heads, size_t tokens, size_t dim) const {
    return heads_first ? headsFirst(data, shape.batch, heads, tokens, dim)
                       : tokensFirst(data, shape.batch, heads, tokens, dim);
  }
  HeadView<const float> qView() const { return view(q.data(), shape.heads, shape.queries, shape.dim); }
  HeadView<const float> kView() const { return view(k.data(), shape.kv_heads, shape.keys, shape.dim); }
  HeadView<const float> vView() const { return view(v.data(), shape.kv_heads, shape.keys, shape.value_dim); }

  LinearAttentionInput input(const LinearCase& c) const {
    LinearAttentionInput in;
    in.q = qView();
    in.k = kView();
    in.v = vView();
    in.rope = c.rope;
    in.key_positions.offset = c.offset;
    in.query_positions.offset =
        c.offset + static_cast<int64_t>(shape.keys) - static_cast<int64_t>(shape.queries);
    in.keep = c.keep;
    in.keep_batch_stride = shape.keys;
    return in;
  }
  LinearAttentionOutput output() {
    LinearAttentionOutput to;
    to.out = view(out.data(), shape.heads, shape.queries, shape.value_dim);
    to.denominators = denominators.data();
    to.report = &report;
    return to;
  }

  Status run(const LinearCase& c) { return linearAttention(c.options, c.causal, input(c), output()); }

  double errorShare(const LinearCase& c);
};

struct Features {
  std::vector<double> plain;
  std::vector<double> turned;
};

inline Features featuresOf(const LinearCase& c, const float* x, size_t dim, int64_t position) {
  Features f;
  double squares = 0;
  for (size_t d = 0; d < dim; ++d) squares += static_cast<double>(x[d]) * x[d];
  for (size_t d = 0; d < dim; ++d) {
    const double v = x[d];
    switch (c.options.kernel) {
      case LinearKernel::kElu1:
        f.plain.push_back(v > 0 ? v + 1 : std::exp(v));
        break;
      case LinearKernel::kRelu:
        f.plain.push_back(std::max(v, 0.0));
        break;
      case LinearKernel::kExp:
        f.plain.push_back(std::exp(v));
        break;
      case LinearKernel::kCosine:
        f.plain.push_back(v / std::max(std::sqrt(squares), 1e-12));
        break;
      case LinearKernel::kProduct:
        f.plain.push_back(v);
        break;
    }
  }
  f.turned = f.plain;
  if (c.rope == nullptr) return f;
  const Tables tables = tablesOf(*c.rope, {position});
  const size_t pairs = c.rope->pairs();
  for (size_t j = 0; j < pairs; ++j) {  // the half pairing
    f.turned[j] = f.plain[j] * tables.cos[j] - f.plain[pairs + j] * tables.sin[j];
    f.turned[pairs + j] = f.plain[j] * tables.sin[j] + f.plain[pairs + j] * tables.cos[j];
  }
  return f;
}

struct Sum {
  double value = 0;
  double work = 0;  // of the sizes of all terms

  void add(const std::vector<double>& a, const std::vector<double>& b, double factor, double constant) {
    value += constant * factor;
    work += std::fabs(constant * factor);
    for (size_t i = 0; i < a.size(); ++i) {
      value += a[i] * b[i] * factor;
      work += std::fabs(a[i] * b[i] * factor);
    }
  }
};

// The worst error of out and of the denominators, as a share of what float32 may be off by. A feature has 8
// roundings (its map and its rotation); the sums of a weight have F terms, those of a block 64, and both are
// made twice: within the block and from the state.
inline double LinearData::errorShare(const LinearCase& c) {
  const double roundings = 2 * (static_cast<double>(shape.dim) + 64 + 16) * kUnit;
  const bool both = c.options.rotate_normalizer;
  const double one = c.options.kernel == LinearKernel::kCosine ? 1 : 0;
  const LinearAttentionInput in = input(c);
  const HeadView<float> results = output().out;
  Worst worst;
  for (size_t b = 0; b < shape.batch; ++b) {
    for (size_t h = 0; h < shape.heads; ++h) {
      const size_t g = h / (shape.heads / shape.kv_heads);
      std::vector<Features> keys;
      for (size_t j = 0; j < shape.keys; ++j) {
        keys.push_back(featuresOf(c, in.k.row(b, g, j), shape.dim, c.offset + static_cast<int64_t>(j)));
      }
      for (size_t i = 0; i < shape.queries; ++i) {
        const int64_t at = in.query_positions.offset + static_cast<int64_t>(i);
        const Features query = featuresOf(c, in.q.row(b, h, i), shape.dim, at);
        const size_t end = c.causal ? i + 1 + shape.keys - shape.queries : shape.keys;
        Sum denominator;
        std::vector<Sum> numerators(shape.value_dim);
        for (size_t j = 0; j < end; ++j) {
          if (c.keep != nullptr && c.keep[b * shape.keys + j] == 0) continue;
          denominator.add(both ? query.turned : query.plain, both ? keys[j].turned : keys[j].plain, 1, one);
          for (size_t d = 0; d < shape.value_dim; ++d) {
            numerators[d].add(query.turned, keys[j].turned, in.v.row(b, g, j)[d], one);
          }
        }
        const bool divides = c.options.normalize;
        const double by = divides ? denominator.value : 1 / static_cast<double>(c.options.scale);
        if (divides) {
          worst.add(denominators[(b * shape.heads + h) * shape.queries + i], by,
                    roundings * denominator.work);
        }
        // A denominator that is all rounding error, as where RoPE makes one term cancel another, says
        // nothing.
        const bool empty = divides && denominator.work == 0;
        if (divides && !empty && std::fabs(by) <= roundings * denominator.work) continue;
        for (size_t d = 0; d < shape.value_dim; ++d) {
          const double want = empty ? 0 : numerators[d].value / by;
          const double spread = divides ? denominator.work / std::fabs(by) * std::fabs(want) : 0;
          const double tolerance = roundings * (numerators[d].work / std::fabs(by) + spread) + 0x1p-120;
          worst.add(results.row(b, h, i)[d], want, empty ? 0x1p-120 : tolerance);
        }
      }
    }
  }
  return worst.share();
}

}  // namespace ropewalk::test
