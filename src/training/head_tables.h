// Tables of distances that each head has for itself, made by a map of the layer from a vector for each
// distance. Transformer-XL (Dai et al., arXiv:1901.02860) maps sinusoidal vectors s:
//   score = scale ((q_i + u) . k_j + (q_i + v) . R_(i - j)),  R = W_R s
// DeBERTa (He et al., arXiv:2006.03654) maps learned vectors p by the layer's own maps of queries and keys:
//   score = scale (q_i . k_j + q_i . K_r + k_j . Q_r),  K = W_k p, Q = W_q p, r the row of i - j
// With q' = q + u that of Transformer-XL is scale (q'_i . k_j + q'_i . R + (v - u) . R): the last term is a
// bias by distance.
#pragma once

#include <cstddef>

namespace ropewalk::training {

// H heads of size D, d = H D.
struct HeadTableShape {
  size_t distances = 0;
  size_t heads = 0;
  size_t dim = 0;  // D

  size_t width() const { return heads * dim; }
  // Numbers of a table.
  size_t size() const { return distances * dim; }
};

// out [H, distances, D] = vectors w^T, for vectors [distances, d] and w [d, d].
template <class T>
void headTables(T* out, const T* vectors, const T* w, const HeadTableShape& shape);

// Adds to dw, and to dvectors unless that is null; w is not read then.
template <class T>
void headTablesBackward(T* dw, T* dvectors, const T* dout, const T* vectors, const T* w,
                        const HeadTableShape& shape);

// u and v [H, D] of Transformer-XL, or their gradients.
template <class T>
struct QueryBiases {
  T* content = nullptr;   // u
  T* position = nullptr;  // v
};

// out [H, distances] = scale (v - u) . tables.
template <class T>
void tableBias(T* out, const T* tables, QueryBiases<const T> biases, T scale, const HeadTableShape& shape);

// Adds to the gradients of the biases and of the tables.
template <class T>
void tableBiasBackward(QueryBiases<T> gradients, T* dtables, const T* dbias, const T* tables,
                       QueryBiases<const T> biases, T scale, const HeadTableShape& shape);

}  // namespace ropewalk::training
