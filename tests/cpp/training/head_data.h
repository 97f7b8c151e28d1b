// One head of attention with whatever its scores can have, in double: inputs, room for results, and a
// weighted sum of the results as a loss.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "training/attention.h"
#include "training/central_differences.h"

namespace ropewalk::test {

struct HeadTerms {
  bool bias = false;
  bool forget = false;
  bool query = false;
  bool key = false;
  bool product = false;
  bool value = false;
  bool cope = false;
};

// Arrays of exact size for the sanitizer; strides are wider than rows, as in [B, T, 3 d].
template <class T>
struct HeadData {
  training::Distances distances;
  size_t dim;
  size_t value_dim;
  HeadTerms terms;
  std::vector<T> q, k, v, bias, query, key, product, value, cope, c;
  mutable std::vector<T> cope_room;
  std::vector<double> sums;

  HeadData(Random& random, size_t tokens, bool causal, size_t head_dim, size_t values, HeadTerms with)
      : distances{tokens, causal}, dim(head_dim), value_dim(values), terms(with) {
    const auto make = [&](size_t n) { return converted<T>(randomDoubles(random, n)); };
    q = make(rows(dim));
    k = make(rows(dim));
    v = make(rows(value_dim));
    bias = make(distances.count());
    sums = randomDoubles(random, tokens);
    query = make(distances.count() * dim);
    key = make(distances.count() * dim);
    product = make(distances.count() * dim);
    value = make(distances.count() * value_dim);
    c = make(tokens * value_dim);
    cope = make(terms.cope ? kPositions * dim : 0);
    cope_room.assign(training::copeRoom(distances, kPositions), kNaN);
  }

  static constexpr size_t kPositions = 4;  // of CoPE

  // Numbers of T rows, 2 apart.
  size_t rows(size_t n) const { return distances.tokens == 0 ? 0 : (distances.tokens - 1) * (n + 2) + n; }

  training::HeadInput<T> input() const {
    training::HeadInput<T> in;
    in.queries = training::allQueries(distances);
    in.x = {q.data(), dim + 2, k.data(), dim + 2, dim};
    in.v = v.data();
    in.v_stride = value_dim + 2;
    in.value_dim = value_dim;
    in.scale = static_cast<T>(0.7);
    in.bias = terms.bias ? bias.data() : nullptr;
    in.forget_sums = terms.forget ? sums.data() : nullptr;
    in.relative = {terms.query ? query.data() : nullptr, terms.key ? key.data() : nullptr,
                   terms.product ? product.data() : nullptr, terms.value ? value.data() : nullptr};
    if (terms.cope) in.cope = {cope.data(), kPositions, cope_room.data()};
    return in;
  }

  // The score of a pair by its definition.
  double score(size_t i, size_t j) const {
    const size_t place = distances.first(i) + j;
    double s = 0;
    for (size_t e = 0; e < dim; ++e) {
      const double qe = q[i * (dim + 2) + e];
      const double ke = k[j * (dim + 2) + e];
      const size_t at = place * dim + e;
      s += qe * ke * (terms.product ? static_cast<double>(product[at]) : 1);
      if (terms.query) s += qe * static_cast<double>(query[at]);
      if (terms.key) s += ke * static_cast<double>(key[at]);
    }
    s *= static_cast<double>(static_cast<T>(0.7));
    if (terms.bias) s += static_cast<double>(bias[place]);
    if (terms.forget) s += sums[i] - sums[j];
    if (terms.cope) s += copeTerm(i, j);
    return s;
  }

  // q_i . e of the position of key j.
  double copeTerm(size_t i, size_t j) const {
    const auto dot = [&](const T* row) {
      double sum = 0;
      for (size_t e = 0; e < dim; ++e)
        sum += static_cast<double>(q[i * (dim + 2) + e]) * static_cast<double>(row[e]);
      return sum;
    };
    double position = 0;
    for (size_t t = j; t < distances.keys(i); ++t)
      position +=
          1 / (1 + std::exp(-static_cast<double>(static_cast<T>(0.7)) * dot(k.data() + t * (dim + 2))));
    position = std::min(position, static_cast<double>(kPositions - 1));
    const auto below = static_cast<size_t>(position);
    const double part = position - std::floor(position);
    const double first = dot(cope.data() + below * dim);
    return part == 0 ? first : first + part * (dot(cope.data() + (below + 1) * dim) - first);
  }

  // out [T, value_dim] for given weights.
  std::vector<double> mixed(const std::vector<double>& weights) const {
    std::vector<double> out(distances.tokens * value_dim, 0);
    for (size_t i = 0; i < distances.tokens; ++i) {
      for (size_t j = 0; j < distances.keys(i); ++j) {
        for (size_t e = 0; e < value_dim; ++e) {
          double x = v[j * (value_dim + 2) + e];
          if (terms.value) x += static_cast<double>(value[(distances.first(i) + j) * value_dim + e]);
          out[i * value_dim + e] += weights[i * distances.tokens + j] * x;
        }
      }
    }
    return out;
  }
};

// Gradients of a head, as arrays like the inputs.
struct HeadGradientData {
  std::vector<double> q, k, v, bias, sums, query, key, product, value, cope;

  explicit HeadGradientData(const HeadData<double>& d)
      : q(d.q.size()),
        k(d.k.size()),
        v(d.v.size()),
        bias(d.bias.size()),
        sums(d.sums.size()),
        query(d.query.size()),
        key(d.key.size()),
        product(d.product.size()),
        value(d.value.size()),
        cope(d.cope.size()) {}

  training::HeadGradients<double> parts(const HeadData<double>& d) {
    training::HeadGradients<double> g;
    g.dx = {q.data(), d.dim + 2, k.data(), d.dim + 2, d.dim};
    g.dv = v.data();
    g.dv_stride = d.value_dim + 2;
    g.bias = bias.data();
    g.forget_sums = sums.data();
    g.relative = {query.data(), key.data(), product.data(), value.data()};
    g.cope = cope.data();
    return g;
  }

  // f(input, its gradient) for all that the loss depends on.
  template <class F>
  void eachPart(HeadData<double>& d, F f) const {
    const auto compare = [&](bool wanted, std::vector<double>& x, const std::vector<double>& gradient) {
      if (wanted) f(x, gradient);
    };
    compare(true, d.q, q);
    compare(true, d.k, k);
    compare(true, d.v, v);
    compare(d.terms.bias, d.bias, bias);
    compare(d.terms.forget, d.sums, sums);
    compare(d.terms.query, d.query, query);
    compare(d.terms.key, d.key, key);
    compare(d.terms.product, d.product, product);
    compare(d.terms.value, d.value, value);
    compare(d.terms.cope, d.cope, cope);
  }

  // The largest error of all.
  template <class Loss>
  double largestError(HeadData<double>& d, Loss loss) const {
    double worst = 0;
    eachPart(d, [&](std::vector<double>& x, const std::vector<double>& gradient) {
      worst = std::max(worst, gradientError(x, gradient, loss));
    });
    return worst;
  }

  // The same along a few directions, for arrays with many numbers.
  template <class Loss>
  double largestErrorAlong(Random& random, HeadData<double>& d, Loss loss) const {
    double worst = 0;
    eachPart(d, [&](std::vector<double>& x, const std::vector<double>& gradient) {
      worst = std::max(worst, gradientErrorAlong(random, x, gradient, loss));
    });
    return worst;
  }
};

}  // namespace ropewalk::test
