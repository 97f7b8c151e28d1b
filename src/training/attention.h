// Softmax attention of one head of one sequence, with its weights kept for the backward pass: sequences are
// short where models are trained in a tab, and T^2 numbers less than what else is kept.
//   out_i = sum_j w_ij (v_j + a_V[j - i]),  w_i = softmax of (scale s_ij + bias_i[j - i] + F_i - F_j)
// with s_ij the product of query and key and the terms of relative tables.
#pragma once

#include <cstddef>

#include "training/distances.h"
#include "training/relative.h"

namespace ropewalk::training {

template <class T>
struct HeadInput {
  Distances distances;
  QueriesAndKeys<const T> x;  // as they are compared: turned already
  const T* v = nullptr;       // [tokens, value_dim], rows v_stride apart
  size_t v_stride = 0;
  size_t value_dim = 0;
  T scale = 1;
  const T* bias = nullptr;  // [distances], for each query bias_stride further; null: none
  size_t bias_stride = 0;
  const double* forget_sums = nullptr;  // F [tokens], null: none
  RelativeTables<const T> relative;
};

// dx and dv are written, the others added to; they are there where the input has what they belong to.
template <class T>
struct HeadGradients {
  QueriesAndKeys<T> dx;
  T* dv = nullptr;
  size_t dv_stride = 0;
  T* bias = nullptr;
  T* forget_sums = nullptr;
  RelativeTables<T> relative;
};

// Numbers of room that a pass of either kind needs for one head.
inline size_t attentionRoom(Distances d) {
  return d.tokens * (d.tokens + d.count());
}

// weights [T, T], zeros where no key is seen; out [tokens, value_dim].
template <class T>
void attentionForward(T* weights, T* out, size_t out_stride, const HeadInput<T>& input, T* room);

template <class T>
void attentionBackward(const HeadGradients<T>& gradients, const T* dout, size_t dout_stride, const T* weights,
                       const HeadInput<T>& input, T* room);

// What all kinds of attention share: out_i = sum_j w_ij (v_j + a_V[j - i]).
template <class T>
void mixValues(T* out, size_t out_stride, const T* weights, const HeadInput<T>& input, T* room);

// Its gradients: writes dweights [T, T], where keys are seen, and dv; adds to that of a_V.
template <class T>
void mixValuesBackward(T* dweights, const HeadGradients<T>& gradients, const T* dout, size_t dout_stride,
                       const T* weights, const HeadInput<T>& input, T* room);

// And s = q k^T, whose gradient is written to dx from dscores [T, T], zeros where no key is seen.
template <class T>
void scoresOf(T* scores, const HeadInput<T>& input);
template <class T>
void scoresBackward(const HeadGradients<T>& gradients, const T* dscores, const HeadInput<T>& input);

}  // namespace ropewalk::training
