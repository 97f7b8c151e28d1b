// Forget gates (FoX, Lin et al., arXiv:2503.02130): the score of query i and key j gets sum ln sigmoid(g_l)
// for j < l <= i, which is F_i - F_j with F the running sum. Causal attention only.
#pragma once

#include <cstddef>

namespace ropewalk::training {

// sums[t] = ln sigmoid(g_0) + .. + ln sigmoid(g_t) of one head; the gates are `stride` apart.
// Doubles: they grow with the position, and only differences count.
template <class T>
void forgetSums(double* sums, const T* gates, size_t stride, size_t tokens);

// Writes dgates, `stride` apart as the gates, from dsums [tokens].
template <class T>
void forgetSumsBackward(T* dgates, const T* dsums, const T* gates, size_t stride, size_t tokens);

}  // namespace ropewalk::training
