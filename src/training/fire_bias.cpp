#include "training/fire_bias.h"

#include <algorithm>
#include <cmath>

namespace ropewalk::training {
namespace {

// The least psi that a distance is divided by: c may pass through 0 while it is trained.
constexpr double kLeastPsi = 1e-6;

template <class T>
struct Parts {
  T* c;
  T* length;
  T* hidden;
  T* hidden_bias;
  T* out;
  T* out_bias;

  Parts(T* p, const BiasShape& shape)
      : c(p),
        length(p + 1),
        hidden(p + 2),
        hidden_bias(hidden + shape.width),
        out(hidden_bias + shape.width),
        out_bias(out + shape.heads * shape.width) {}
};

// t of one query and distance, and its derivatives by c and l.
struct Share {
  double value;
  double by_c;
  double by_length;
};

// f(share, place in the biases of a head)
template <class T, class F>
void eachShare(const BiasShape& shape, const Parts<const T>& parts, const QueryBlock& b, F f) {
  const auto c = static_cast<double>(*parts.c);
  const auto length = static_cast<double>(*parts.length);
  const double a = std::fabs(c);
  const double start = std::fabs(length) * shape.threshold;
  for (size_t i = 0; i < b.rows(); ++i) {
    const auto position = static_cast<double>(b.begin + i);
    const double most = std::max(start, position);
    const double psi = std::log1p(a * most);
    const double normalizer = std::max(psi, kLeastPsi);
    for (size_t n = 0; n < b.keys(i); ++n) {
      const double distance = std::fabs(static_cast<double>(n) - position);
      const double value = std::log1p(a * distance) / normalizer;
      // By psi of the normalizer, and by its argument a most.
      const double by_psi = psi < kLeastPsi ? 0 : -value / normalizer;
      const double by_most = by_psi / (1 + a * most);
      const double by_a = distance / (1 + a * distance) / normalizer + by_most * most;
      const double by_length =
          start < position ? 0 : std::copysign(1.0, length) * by_most * a * shape.threshold;
      f(Share{value, std::copysign(1.0, c) * by_a, by_length}, i * b.count() + b.first(i) + n);
    }
  }
}

}  // namespace

template <class T>
void fireBias(T* out, const BiasShape& shape, const T* parameters, const FirePart& part) {
  const Parts<const T> parts(parameters, shape);
  const QueryBlock& b = part.queries;
  eachShare(shape, parts, b, [&](const Share& share, size_t at) {
    const T t = static_cast<T>(share.value);
    for (size_t h = part.head; h < part.end; ++h) {
      T sum = parts.out_bias[h];
      for (size_t w = 0; w < shape.width; ++w)
        sum += parts.out[h * shape.width + w] * std::max(T{0}, parts.hidden[w] * t + parts.hidden_bias[w]);
      out[(h - part.head) * b.rows() * b.count() + at] = sum;
    }
  });
}

template <class T>
void fireBiasBackward(T* gradients, const T* dbias, const BiasShape& shape, const T* parameters,
                      const FirePart& part) {
  const Parts<const T> parts(parameters, shape);
  const Parts<T> d(gradients, shape);
  const QueryBlock& b = part.queries;
  eachShare(shape, parts, b, [&](const Share& share, size_t at) {
    const T t = static_cast<T>(share.value);
    T dt = 0;
    for (size_t h = part.head; h < part.end; ++h) {
      const T dsum = dbias[(h - part.head) * b.rows() * b.count() + at];
      d.out_bias[h] += dsum;
      for (size_t w = 0; w < shape.width; ++w) {
        const T hidden = parts.hidden[w] * t + parts.hidden_bias[w];
        if (hidden <= 0) continue;
        d.out[h * shape.width + w] += dsum * hidden;
        const T dhidden = dsum * parts.out[h * shape.width + w];
        d.hidden[w] += dhidden * t;
        d.hidden_bias[w] += dhidden;
        dt += dhidden * parts.hidden[w];
      }
    }
    *d.c += dt * static_cast<T>(share.by_c);
    *d.length += dt * static_cast<T>(share.by_length);
  });
}

template void fireBias(float*, const BiasShape&, const float*, const FirePart&);
template void fireBias(double*, const BiasShape&, const double*, const FirePart&);
template void fireBiasBackward(float*, const float*, const BiasShape&, const float*, const FirePart&);
template void fireBiasBackward(double*, const double*, const BiasShape&, const double*, const FirePart&);

}  // namespace ropewalk::training
