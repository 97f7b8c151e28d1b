#include "training/cope.h"

#include <algorithm>
#include <cmath>

#include "training/products.h"

namespace ropewalk::training {
namespace {

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

template <class T>
CopeBlock<T>::CopeBlock(const CopeTerms<T>& terms, const QueriesAndKeys<const T>& x, const QueryBlock& b)
    : terms_(terms), x_(x), b_(b) {
  product<T>(products(), terms.positions, {x.q, x.q_stride}, {terms.table, x.dim, true}, b.rows(),
             terms.positions, x.dim, false);
}

template <class T>
typename CopeBlock<T>::Place CopeBlock<T>::placeOf(double position) const {
  const size_t last = terms_.positions - 1;
  if (!(position < static_cast<double>(last))) return {last, last, 0, false};  // NaN too
  const auto below = static_cast<size_t>(position);
  return {below, below + 1, static_cast<T>(position - static_cast<double>(below)), true};
}

template <class T>
void CopeBlock<T>::add(T* row, size_t i) const {
  const T* const of_query = products() + i * terms_.positions;
  double position = 0;
  for (size_t j = b_.keys(i); j-- > 0;) {
    position += static_cast<double>(sigmoid(row[j]));
    const Place at = placeOf(position);
    row[j] += of_query[at.below] + at.part * (of_query[at.above] - of_query[at.below]);
  }
}

template <class T>
void CopeBlock<T>::beginBackward(T scale) const {
  for (size_t i = 0; i < b_.rows(); ++i) {
    T* const row = scores() + i * b_.all.tokens;
    for (size_t j = 0; j < b_.keys(i); ++j) row[j] = sigmoid(scale * row[j]);
  }
  std::fill_n(dproducts(), b_.rows() * terms_.positions, T{0});
}

template <class T>
void CopeBlock<T>::addBackward(T* drow, size_t i) const {
  const T* const of_query = products() + i * terms_.positions;
  T* const dproduct = dproducts() + i * terms_.positions;
  T* const gates = scores() + i * b_.all.tokens;
  double position = 0;
  for (size_t j = b_.keys(i); j-- > 0;) {
    position += static_cast<double>(gates[j]);
    const Place at = placeOf(position);
    dproduct[at.below] += (1 - at.part) * drow[j];
    dproduct[at.above] += at.part * drow[j];
    slopes()[j] = at.moves ? drow[j] * (of_query[at.above] - of_query[at.below]) : 0;
  }
  T sum = 0;  // a gate moves the keys up to its own
  for (size_t j = 0; j < b_.keys(i); ++j) {
    sum += slopes()[j];
    drow[j] += sum * gates[j] * (1 - gates[j]);
  }
}

template <class T>
void CopeBlock<T>::endBackward(T* dq, size_t dq_stride, T* dtable) const {
  const size_t positions = terms_.positions;
  product<T>(dq, dq_stride, {dproducts(), positions}, {terms_.table, x_.dim}, b_.rows(), x_.dim, positions,
             true);
  product<T>(dtable, x_.dim, {dproducts(), positions, true}, {x_.q, x_.q_stride}, positions, x_.dim,
             b_.rows(), true);
}

template class CopeBlock<float>;
template class CopeBlock<double>;

}  // namespace ropewalk::training
