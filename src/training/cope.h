// CoPE (Golovneva et al., arXiv:2405.18719), positions that depend on the text, and its gradients. Key t of
// query i counts by its gate; key j stands at the sum of the gates from it on, in causal order up to the
// query:
//   g_it = sigmoid(scale q_i . k_t),  p_ij = min(sum_{t >= j} g_it, P - 1),  score = scale q_i . k_j + q_i .
//   e[p_ij]
// with e between two rows by linear interpolation.
#pragma once

#include <cstddef>

#include "training/distances.h"
#include "training/relative.h"

namespace ropewalk::training {

template <class T>
struct CopeTerms {
  const T* table = nullptr;  // e [P, D]; null: no such term
  size_t positions = 0;      // P
  T* room = nullptr;         // copeRoom() numbers
};

inline size_t copeRoom(Distances d, size_t positions) {
  return blockRows(d.tokens) * (d.tokens + 2 * positions) + d.tokens;
}

// The term for a block of queries.
template <class T>
class CopeBlock {
 public:
  // x begins with the block's queries. Computes their products with e.
  CopeBlock(const CopeTerms<T>& terms, const QueriesAndKeys<const T>& x, const QueryBlock& b);

  // Adds q_i . e to a row of scores, which are scale q_i . k_j, for the keys that query i of the block sees.
  void add(T* row, size_t i) const;

  // For the backward pass: where the caller writes q_i . k_j [rows, T] first. They become gates, and the sums
  // of the products' gradients begin as 0.
  T* scores() const { return terms_.room; }
  void beginBackward(T scale) const;
  // From the gradients of a row of scores, to which those by the gates are added.
  void addBackward(T* drow, size_t i) const;
  // Adds to the gradients of the queries, rows dq_stride apart, and of e.
  void endBackward(T* dq, size_t dq_stride, T* dtable) const;

 private:
  // Where a key stands, between two rows of e.
  struct Place {
    size_t below;
    size_t above;
    T part;  // of the row above
    bool moves;
  };
  Place placeOf(double position) const;
  T* products() const { return terms_.room + b_.rows() * b_.all.tokens; }     // [rows, P]
  T* dproducts() const { return products() + b_.rows() * terms_.positions; }  // [rows, P]
  T* slopes() const { return dproducts() + b_.rows() * terms_.positions; }    // [T], by position

  CopeTerms<T> terms_;
  QueriesAndKeys<const T> x_;
  QueryBlock b_;
};

}  // namespace ropewalk::training
