// Softmax attention of one head of one sequence, a block of queries at a time. The weights are kept for the
// backward pass, or computed in it again: then memory grows with T and not with its square.
//   out_i = sum_j w_ij (v_j + a_V[j - i]),  w_i = softmax of (scale s_ij + bias_i[j - i] + F_i - F_j)
// with s_ij the product of query and key and the terms of relative tables.
#pragma once

#include <cstddef>

#include "training/cope.h"
#include "training/distances.h"
#include "training/fire_bias.h"
#include "training/relative.h"

namespace ropewalk::training {

template <class T>
struct HeadInput {
  QueryBlock queries;         // all; functions on a block have pointers that begin with it
  QueriesAndKeys<const T> x;  // as they are compared: turned already
  const T* v = nullptr;       // [tokens, value_dim], rows v_stride apart
  size_t v_stride = 0;
  size_t value_dim = 0;
  T scale = 1;
  const T* bias = nullptr;  // [distances], for each query bias_stride further; null: none, or by `fire`
  size_t bias_stride = 0;
  FireTables fire;                      // whose biases are made for each block; empty: none
  size_t head = 0;                      // of fire
  const double* forget_sums = nullptr;  // F [tokens], null: none
  RelativeTables<const T> relative;
  CopeTerms<T> cope;  // with no `relative`
};

// All are added to; they are there where the input has what they belong to.
template <class T>
struct HeadGradients {
  QueriesAndKeys<T> dx;
  T* dv = nullptr;
  size_t dv_stride = 0;
  T* bias = nullptr;
  T* forget_sums = nullptr;
  RelativeTables<T> relative;
  T* cope = nullptr;
};

// Attention weights of a head: of all its queries, [T, T], or of one block at a time.
template <class T>
struct HeadWeights {
  T* data = nullptr;
  bool kept = true;

  T* of(const QueryBlock& b) const { return data + (kept ? b.begin * b.all.tokens : 0); }
};

// Numbers of room that a pass of either kind needs for one head.
inline size_t attentionRoom(Distances d, bool fire) {
  return blockRows(d.tokens) * (d.tokens + (fire ? 3 : 1) * d.count());
}

// weights: zeros where no key is seen; out [tokens, value_dim].
template <class T>
void attentionForward(HeadWeights<T> weights, T* out, size_t out_stride, const HeadInput<T>& input, T* room);

// Weights that are not kept are computed again.
template <class T>
void attentionBackward(const HeadGradients<T>& gradients, const T* dout, size_t dout_stride,
                       HeadWeights<T> weights, const HeadInput<T>& input, T* room);

// What all kinds of attention share, for one block: out_i = sum_j w_ij (v_j + a_V[j - i]) from weights
// [rows, T].
template <class T>
void mixValues(T* out, size_t out_stride, const T* weights, const HeadInput<T>& input, T* room);

// Its gradients: writes dweights [rows, T], where keys are seen; adds to dv and to that of a_V.
template <class T>
void mixValuesBackward(T* dweights, const HeadGradients<T>& gradients, const T* dout, size_t dout_stride,
                       const T* weights, const HeadInput<T>& input, T* room);

// And s = q k^T, whose gradient is added to dx from dscores [rows, T], zeros where no key is seen.
template <class T>
void scoresOf(T* scores, const HeadInput<T>& input);
template <class T>
void scoresBackward(const HeadGradients<T>& gradients, const T* dscores, const HeadInput<T>& input);

}  // namespace ropewalk::training
