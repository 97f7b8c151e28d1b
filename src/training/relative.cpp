#include "training/relative.h"

#include <algorithm>

#include "training/lanes.h"
#include "training/products.h"

namespace ropewalk::training {
namespace {

// f(row, key, entry of scores, place of the distance) for each visible pair.
template <class F>
void eachPair(const QueryBlock& b, F f) {
  for (size_t i = 0; i < b.rows(); ++i) {
    for (size_t j = 0; j < b.keys(i); ++j) f(i, j, i * b.all.tokens + j, b.first(i) + j);
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
void relativeScores(T* scores, QueriesAndKeys<const T> x, RelativeTables<const T> tables, const QueryBlock& b,
                    T* room) {
  const size_t count = b.count();
  const size_t dim = x.dim;
  if (tables.product != nullptr) {
    eachPair(b, [&](size_t i, size_t j, size_t entry, size_t place) {
      scores[entry] =
          tripleDot(x.q + i * x.q_stride, x.k + j * x.k_stride, tables.product + place * dim, dim);
    });
  }
  if (tables.query != nullptr) {
    product<T>(room, count, {x.q, x.q_stride}, {tables.query, dim, true}, b.rows(), count, dim, false);
    for (size_t i = 0; i < b.rows(); ++i)
      addScaled(scores + i * b.all.tokens, T{1}, room + i * count + b.first(i), b.keys(i));
  }
  if (tables.key != nullptr) {
    eachPair(b, [&](size_t, size_t j, size_t entry, size_t place) {
      scores[entry] += dot(x.k + j * x.k_stride, tables.key + place * dim, dim);
    });
  }
}

template <class T>
void relativeScoresBackward(QueriesAndKeys<T> dx, RelativeTables<T> gradients, const T* dscores,
                            QueriesAndKeys<const T> x, RelativeTables<const T> tables, const QueryBlock& b,
                            T* room) {
  const size_t count = b.count();
  const size_t dim = x.dim;
  if (tables.product != nullptr) {
    eachPair(b, [&](size_t i, size_t j, size_t entry, size_t place) {
      const T g = dscores[entry];
      const T* const q = x.q + i * x.q_stride;
      const T* const k = x.k + j * x.k_stride;
      const T* const table = tables.product + place * dim;
      addScaledProduct(dx.q + i * dx.q_stride, g, k, table, dim);
      addScaledProduct(dx.k + j * dx.k_stride, g, q, table, dim);
      addScaledProduct(gradients.product + place * dim, g, q, k, dim);
    });
  }
  if (tables.query != nullptr) {
    byDistance(room, dscores, b);
    product<T>(dx.q, dx.q_stride, {room, count}, {tables.query, dim}, b.rows(), dim, count, true);
    product<T>(gradients.query, dim, {room, count, true}, {x.q, x.q_stride}, count, dim, b.rows(), true);
  }
  if (tables.key != nullptr) {
    eachPair(b, [&](size_t, size_t j, size_t entry, size_t place) {
      addScaled(dx.k + j * dx.k_stride, dscores[entry], tables.key + place * dim, dim);
      addScaled(gradients.key + place * dim, dscores[entry], x.k + j * x.k_stride, dim);
    });
  }
}

template void layOutByDistance(float*, const float*, const RelativeRows&, Distances, size_t);
template void layOutByDistance(double*, const double*, const RelativeRows&, Distances, size_t);
template void layOutBackward(float*, const float*, const RelativeRows&, Distances, size_t);
template void layOutBackward(double*, const double*, const RelativeRows&, Distances, size_t);
template void relativeScores(float*, QueriesAndKeys<const float>, RelativeTables<const float>,
                             const QueryBlock&, float*);
template void relativeScores(double*, QueriesAndKeys<const double>, RelativeTables<const double>,
                             const QueryBlock&, double*);
template void relativeScoresBackward(QueriesAndKeys<float>, RelativeTables<float>, const float*,
                                     QueriesAndKeys<const float>, RelativeTables<const float>,
                                     const QueryBlock&, float*);
template void relativeScoresBackward(QueriesAndKeys<double>, RelativeTables<double>, const double*,
                                     QueriesAndKeys<const double>, RelativeTables<const double>,
                                     const QueryBlock&, double*);

}  // namespace ropewalk::training
