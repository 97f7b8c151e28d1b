#include "training/fire_bias.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ropewalk::training {
namespace {

// The least psi that a distance is divided by: c may pass through 0 while it is trained.
constexpr double kLeastPsi = 1e-6;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
struct Parts {
  T* c;
  T* length;
  T* hidden;
  T* hidden_bias;
  T* out;
  T* out_bias;

  Parts(T* p, size_t heads, size_t width)
      : c(p),
        length(p + 1),
        hidden(p + 2),
        hidden_bias(hidden + width),
        out(hidden_bias + width),
        out_bias(out + heads * width) {}
};

// A hidden unit: it gives something where t is above `knot`, or where it is not.
struct Unit {
  double weight;
  double bias;
  double knot = kInfinity;

  Unit(double w, double b) : weight(w), bias(b) {
    const double zero = -bias / weight;
    if (weight == 0 || std::isnan(zero)) return;
    // Nothing at the zero itself, on either side.
    knot = weight > 0 ? zero : std::nextafter(zero, -kInfinity);
  }

  // Lines first .. end - 1 of those between knots.
  struct Lines {
    size_t first;
    size_t end;
  };
  Lines lines(const double* knots, size_t width) const {
    if (weight == 0) return {0, bias > 0 ? width + 1 : 0};
    if (weight > 0)
      return {static_cast<size_t>(std::upper_bound(knots, knots + width, knot) - knots), width + 1};
    return {0, static_cast<size_t>(std::lower_bound(knots, knots + width, knot) - knots) + 1};
  }
};

void insertInOrder(double* sorted, size_t n, double x) {
  for (; n > 0 && sorted[n - 1] > x; --n) sorted[n] = sorted[n - 1];
  sorted[n] = x;
}

// psi that the distances of a query are divided by, and how it changes.
struct Normalizer {
  double inverse;
  double by_c = 0;      // d ln / d |c|
  double by_start = 0;  // d ln / dL

  Normalizer(const FireTables& tables, size_t position) {
    const auto at = static_cast<double>(position);
    const double most = std::max(tables.start(), at);
    const double psi = tables.start() < at ? tables.psi()[position] : std::log1p(tables.c() * most);
    inverse = 1 / std::max(psi, kLeastPsi);
    if (psi < kLeastPsi) return;
    const double slope = inverse / (1 + tables.c() * most);
    by_c = slope * most;
    by_start = tables.start() < at ? 0 : slope * tables.c();
  }
};

// f(distance, t, line, place of the key) for the keys that a query sees.
template <class F>
void eachKey(const FireTables& tables, const Normalizer& normalizer, size_t position, size_t keys, F f) {
  const double* const psi = tables.psi();
  const double* const knots = tables.knots();
  const size_t width = tables.width();
  const auto along = [&](size_t first, size_t end, auto place) {
    size_t line = 0;
    for (size_t d = first; d < end; ++d) {
      const double t = psi[d] * normalizer.inverse;
      while (line < width && t > knots[line]) ++line;
      f(d, t, line, place(d));
    }
  };
  along(0, position + 1, [&](size_t d) { return position - d; });
  along(1, keys - position, [&](size_t d) { return position + d; });
}

}  // namespace

// This and the next run once a pass: small instead of fast.
template <class T>
[[gnu::cold]] void FireTables::prepare(const T* parameters, double threshold) const {
  const Parts<const T> parts(parameters, heads_, width_);
  const double given_c = *parts.c;
  const double given_length = *parts.length;
  c() = std::fabs(given_c);
  start() = std::fabs(given_length) * threshold;
  startByFactor() = std::copysign(threshold, given_length);
  gradientOfC() = gradientOfStart() = 0;
  for (size_t d = 0; d < tokens_; ++d) {
    const auto distance = static_cast<double>(d);
    psi()[d] = std::log1p(c() * distance);
    psiByC()[d] = distance / (1 + c() * distance);
  }
  double unusable = 0;  // NaN where a number is not finite: then every bias is NaN
  for (size_t w = 0; w < width_; ++w) {
    const Unit unit(parts.hidden[w], parts.hidden_bias[w]);
    insertInOrder(knots(), w, unit.knot);
    unusable += 0 * unit.weight + 0 * unit.bias;
  }
  for (size_t h = 0; h < heads_; ++h) {
    std::fill_n(offsets(h), 4 * lines(), 0.0);
    double everywhere = parts.out_bias[h] + unusable;
    for (size_t w = 0; w < width_; ++w) {
      const Unit unit(parts.hidden[w], parts.hidden_bias[w]);
      const double out = parts.out[h * width_ + w];
      const auto [first, end] = unit.lines(knots(), width_);
      for (size_t s = first; s < end; ++s) {
        offsets(h)[s] += out * unit.bias;
        slopes(h)[s] += out * unit.weight;
      }
      everywhere += 0 * out;
    }
    for (size_t s = 0; s < lines(); ++s) offsets(h)[s] += everywhere;
  }
}

template <class T>
[[gnu::cold]] void FireTables::addGradients(T* gradients, const T* parameters) const {
  const Parts<const T> parts(parameters, heads_, width_);
  const Parts<T> d(gradients, heads_, width_);
  *d.c += static_cast<T>(std::copysign(1.0, static_cast<double>(*parts.c)) * gradientOfC());
  *d.length += static_cast<T>(gradientOfStart() * startByFactor());
  for (size_t h = 0; h < heads_; ++h) {
    for (size_t s = 0; s < lines(); ++s) d.out_bias[h] += static_cast<T>(sums(h)[s]);
    for (size_t w = 0; w < width_; ++w) {
      const Unit unit(parts.hidden[w], parts.hidden_bias[w]);
      const auto [first, end] = unit.lines(knots(), width_);
      double sum = 0;
      double moment = 0;
      for (size_t s = first; s < end; ++s) {
        sum += sums(h)[s];
        moment += moments(h)[s];
      }
      const double out = parts.out[h * width_ + w];
      d.out[h * width_ + w] += static_cast<T>(unit.weight * moment + unit.bias * sum);
      d.hidden[w] += static_cast<T>(out * moment);
      d.hidden_bias[w] += static_cast<T>(out * sum);
    }
  }
}

template <class T>
void fireBias(T* out, const FireTables& tables, const FirePart& part) {
  const QueryBlock& b = part.queries;
  for (size_t h = part.head; h < part.end; ++h) {
    const double* const offsets = tables.offsets(h);
    const double* const slopes = tables.slopes(h);
    for (size_t i = 0; i < b.rows(); ++i, out += b.count()) {
      const size_t position = b.begin + i;
      T* const row = out + b.first(i);
      eachKey(tables, Normalizer(tables, position), position, b.keys(i),
              [&](size_t, double t, size_t line, size_t key) {
                row[key] = static_cast<T>(offsets[line] + slopes[line] * t);
              });
    }
  }
}

template <class T>
void fireBiasBackward(const FireTables& tables, const T* dbias, const FirePart& part) {
  const QueryBlock& b = part.queries;
  for (size_t h = part.head; h < part.end; ++h) {
    const double* const slopes = tables.slopes(h);
    double* const sums = tables.sums(h);
    double* const moments = tables.moments(h);
    for (size_t i = 0; i < b.rows(); ++i, dbias += b.count()) {
      const size_t position = b.begin + i;
      const T* const row = dbias + b.first(i);
      const Normalizer normalizer(tables, position);
      double by_psi = 0;  // by c, as it is in psi(|d|)
      double by_log = 0;  // by the logarithm of the normalizer, negated
      eachKey(tables, normalizer, position, b.keys(i), [&](size_t d, double t, size_t line, size_t key) {
        const double g = row[key];
        sums[line] += g;
        moments[line] += g * t;
        by_psi += g * slopes[line] * tables.psiByC()[d];
        by_log += g * slopes[line] * t;
      });
      tables.gradientOfC() += by_psi * normalizer.inverse - by_log * normalizer.by_c;
      tables.gradientOfStart() -= by_log * normalizer.by_start;
    }
  }
}

template void FireTables::prepare(const float*, double) const;
template void FireTables::prepare(const double*, double) const;
template void FireTables::addGradients(float*, const float*) const;
template void FireTables::addGradients(double*, const double*) const;
template void fireBias(float*, const FireTables&, const FirePart&);
template void fireBias(double*, const FireTables&, const FirePart&);
template void fireBiasBackward(const FireTables&, const float*, const FirePart&);
template void fireBiasBackward(const FireTables&, const double*, const FirePart&);

}  // namespace ropewalk::training
