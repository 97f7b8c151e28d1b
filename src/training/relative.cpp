#include "training/relative.h"

#include <algorithm>

#include "training/lanes.h"
#include "training/products.h"

namespace ropewalk::training {
namespace {

// f(i, j, place of j - i) for each visible pair.
template <class F>
void eachPair(Distances d, F f) {
  for (size_t i = 0; i < d.tokens; ++i) {
    for (size_t j = 0; j < d.keys(i); ++j) f(i, j, d.first(i) + j);
  }
}

// The sum over d of a three-fold product.
template <class T>
T tripleDot(const T* a, const T* b, const T* c, size_t n) {
  using L = Lanes<T>;
  auto sums = L::splat(0);
  size_t i = 0;
  for (; i + L::kCount <= n; i += L::kCount)
    sums = L::mulAdd(L::mul(L::load(a + i), L::load(b + i)), L::load(c + i), sums);
  T total = L::sum(sums);
  for (; i < n; ++i) total += a[i] * b[i] * c[i];
  return total;
}

// out[i] += s a[i] b[i]
template <class T>
void addScaledProduct(T* out, T s, const T* a, const T* b, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] += s * a[i] * b[i];
}

}  // namespace

template <class T>
void layOutByDistance(T* out, const T* table, const RelativeRows& rows, Distances d, size_t dim) {
  for (size_t p = 0; p < d.count(); ++p) std::copy_n(table + rows.row(d.at(p)) * dim, dim, out + p * dim);
}

template <class T>
void layOutBackward(T* dtable, const T* dout, const RelativeRows& rows, Distances d, size_t dim) {
  for (size_t p = 0; p < d.count(); ++p)
    addScaled(dtable + rows.row(d.at(p)) * dim, T{1}, dout + p * dim, dim);
}

template <class T>
void relativeScores(T* scores, QueriesAndKeys<const T> x, RelativeTables<const T> tables, Distances d,
                    T* room) {
  const size_t tokens = d.tokens;
  const size_t count = d.count();
  if (tables.product != nullptr) {
    eachPair(d, [&](size_t i, size_t j, size_t place) {
      scores[i * tokens + j] =
          tripleDot(x.q + i * x.q_stride, x.k + j * x.k_stride, tables.product + place * x.dim, x.dim);
    });
  }
  if (tables.query != nullptr) {
    product<T>(room, count, {x.q, x.q_stride}, {tables.query, x.dim, true}, tokens, count, x.dim, false);
    for (size_t i = 0; i < tokens; ++i)
      addScaled(scores + i * tokens, T{1}, room + i * count + d.first(i), d.keys(i));
  }
  if (tables.key != nullptr) {
    product<T>(room, count, {x.k, x.k_stride}, {tables.key, x.dim, true}, tokens, count, x.dim, false);
    eachPair(d, [&](size_t i, size_t j, size_t place) { scores[i * tokens + j] += room[j * count + place]; });
  }
}

template <class T>
void relativeScoresBackward(QueriesAndKeys<T> dx, RelativeTables<T> gradients, const T* dscores,
                            QueriesAndKeys<const T> x, RelativeTables<const T> tables, Distances d, T* room) {
  const size_t tokens = d.tokens;
  const size_t count = d.count();
  const size_t dim = x.dim;
  if (tables.product != nullptr) {
    for (size_t t = 0; t < tokens; ++t) {
      std::fill_n(dx.q + t * dx.q_stride, dim, T{0});
      std::fill_n(dx.k + t * dx.k_stride, dim, T{0});
    }
    eachPair(d, [&](size_t i, size_t j, size_t place) {
      const T g = dscores[i * tokens + j];
      const T* const q = x.q + i * x.q_stride;
      const T* const k = x.k + j * x.k_stride;
      const T* const table = tables.product + place * dim;
      addScaledProduct(dx.q + i * dx.q_stride, g, k, table, dim);
      addScaledProduct(dx.k + j * dx.k_stride, g, q, table, dim);
      addScaledProduct(gradients.product + place * dim, g, q, k, dim);
    });
  }
  if (tables.query != nullptr) {
    byDistanceOfQuery(room, dscores, d);
    product<T>(dx.q, dx.q_stride, {room, count}, {tables.query, dim}, tokens, dim, count, true);
    product<T>(gradients.query, dim, {room, count, true}, {x.q, x.q_stride}, count, dim, tokens, true);
  }
  if (tables.key != nullptr) {
    byDistanceOfKey(room, dscores, d);
    product<T>(dx.k, dx.k_stride, {room, count}, {tables.key, dim}, tokens, dim, count, true);
    product<T>(gradients.key, dim, {room, count, true}, {x.k, x.k_stride}, count, dim, tokens, true);
  }
}

template void layOutByDistance(float*, const float*, const RelativeRows&, Distances, size_t);
template void layOutByDistance(double*, const double*, const RelativeRows&, Distances, size_t);
template void layOutBackward(float*, const float*, const RelativeRows&, Distances, size_t);
template void layOutBackward(double*, const double*, const RelativeRows&, Distances, size_t);
template void relativeScores(float*, QueriesAndKeys<const float>, RelativeTables<const float>, Distances,
                             float*);
template void relativeScores(double*, QueriesAndKeys<const double>, RelativeTables<const double>, Distances,
                             double*);
template void relativeScoresBackward(QueriesAndKeys<float>, RelativeTables<float>, const float*,
                                     QueriesAndKeys<const float>, RelativeTables<const float>, Distances,
                                     float*);
template void relativeScoresBackward(QueriesAndKeys<double>, RelativeTables<double>, const double*,
                                     QueriesAndKeys<const double>, RelativeTables<const double>, Distances,
                                     double*);

}  // namespace ropewalk::training
