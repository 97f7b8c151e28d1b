// Learned tables of relative positions, laid out by distance for one sequence: Shaw's keys and values,
// BERT's relative_key and relative_key_query, and M3 (encodings/relative.h). Those of a block of queries
// begin at its first distance.
#pragma once

#include <cstddef>

#include "encodings/relative.h"
#include "training/distances.h"

namespace ropewalk::training {

// [distances, D] each, or their gradients; null: no such term. query and key may be the same array.
template <class T>
struct RelativeTables {
  T* query = nullptr;    // adds q_i . table[j - i]
  T* key = nullptr;      // adds k_j . table[j - i]
  T* product = nullptr;  // q_i . k_j becomes sum_d q_i[d] k_j[d] table[j - i][d]
  T* value = nullptr;    // v_j becomes v_j + table[j - i]
};

// out [distances, dim]: the row of a table for each distance.
template <class T>
void layOutByDistance(T* out, const T* table, const RelativeRows& rows, Distances d, size_t dim);

// Adds the rows of dout [distances, dim] to those of dtable that they came from.
template <class T>
void layOutBackward(T* dtable, const T* dout, const RelativeRows& rows, Distances d, size_t dim);

// Queries of a block and keys of one head, rows their strides apart.
template <class T>
struct QueriesAndKeys {
  T* q = nullptr;
  size_t q_stride = 0;
  T* k = nullptr;
  size_t k_stride = 0;
  size_t dim = 0;
};

// Adds the query and key terms to scores [rows, T], or writes those of `product` first. room [rows,
// distances].
template <class T>
void relativeScores(T* scores, QueriesAndKeys<const T> x, RelativeTables<const T> tables, const QueryBlock& b,
                    T* room);

// From the gradient of the scores, 0 where no key is seen: adds to dx and to the gradients of the tables.
// room [rows, distances].
template <class T>
void relativeScoresBackward(QueriesAndKeys<T> dx, RelativeTables<T> gradients, const T* dscores,
                            QueriesAndKeys<const T> x, RelativeTables<const T> tables, const QueryBlock& b,
                            T* room);

}  // namespace ropewalk::training
