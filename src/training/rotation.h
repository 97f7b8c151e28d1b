// RoPE and PoPE of the heads of a sequence, and their gradients, from tables of cosines and sines.
#pragma once

#include <cstddef>

#include "angles/phase.h"
#include "encodings/rope.h"

namespace ropewalk::training {

// cos and sin [tokens, angles] at positions 0 .. tokens - 1, times the attention factor.
template <class T>
struct AngleTables {
  const T* cos = nullptr;
  const T* sin = nullptr;
  size_t angles = 0;
};

// sinCos, as one function for all that fills tables.
SinCos sinCosOf(Turns phase);

// Turns the first 2 angles numbers of x [tokens], rows `stride` apart, in place; kBack multiplies by the
// transpose, which is the gradient: the inverse rotation, times the factor once more and not divided by it.
template <class T>
void turnRows(T* x, size_t stride, size_t tokens, const AngleTables<T>& tables, Pairing pairing, Turn turn);

// PoPE (arXiv:2509.10534): a coordinate c of a head is a magnitude softplus(x_c) at the angle position
// theta_c
// + phase_c, as out [tokens, 2 D]: D cosine parts, then D sine parts. phases [D], null: 0, as for queries.
// The dot product of two of them is sum_c softplus(q_c) softplus(k_c) cos((j - i) theta_c + phase_c).
template <class T>
void popeForward(T* out, const T* x, size_t stride, size_t tokens, const AngleTables<T>& tables,
                 const T* phases);

// Writes dx, rows `stride` apart as those of x, and adds to dphases [D] unless that is null.
template <class T>
void popeBackward(T* dx, T* dphases, const T* dout, const T* x, size_t stride, size_t tokens,
                  const AngleTables<T>& tables, const T* phases);

}  // namespace ropewalk::training
