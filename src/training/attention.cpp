#include "training/attention.h"

#include <algorithm>

#include "training/lanes.h"
#include "training/products.h"
#include "training/softmax.h"

namespace ropewalk::training {

template <class T>
void mixValues(T* out, size_t out_stride, const T* weights, const HeadInput<T>& input, T* room) {
  const Distances d = input.distances;
  const size_t tokens = d.tokens;
  product<T>(out, out_stride, {weights, tokens}, {input.v, input.v_stride}, tokens, input.value_dim, tokens,
             false, d.causal ? Triangle::kLower : Triangle::kNone);
  if (input.relative.value == nullptr) return;
  byDistanceOfQuery(room, weights, d);
  product<T>(out, out_stride, {room, d.count()}, {input.relative.value, input.value_dim}, tokens,
             input.value_dim, d.count(), true);
}

template <class T>
void mixValuesBackward(T* dweights, const HeadGradients<T>& gradients, const T* dout, size_t dout_stride,
                       const T* weights, const HeadInput<T>& input, T* room) {
  const Distances d = input.distances;
  const size_t tokens = d.tokens;
  const size_t count = d.count();
  const size_t dim = input.value_dim;
  product<T>(dweights, tokens, {dout, dout_stride}, {input.v, input.v_stride, true}, tokens, tokens, dim,
             false, d.causal ? Triangle::kOut : Triangle::kNone);
  product<T>(gradients.dv, gradients.dv_stride, {weights, tokens, true}, {dout, dout_stride}, tokens, dim,
             tokens, false, d.causal ? Triangle::kUpper : Triangle::kNone);
  if (input.relative.value == nullptr) return;
  product<T>(room, count, {dout, dout_stride}, {input.relative.value, dim, true}, tokens, count, dim, false);
  for (size_t i = 0; i < tokens; ++i)
    addScaled(dweights + i * tokens, T{1}, room + i * count + d.first(i), d.keys(i));
  byDistanceOfQuery(room, weights, d);
  product<T>(gradients.relative.value, dim, {room, count, true}, {dout, dout_stride}, count, dim, tokens,
             true);
}

template <class T>
void scoresOf(T* scores, const HeadInput<T>& input) {
  const auto& x = input.x;
  const size_t tokens = input.distances.tokens;
  product<T>(scores, tokens, {x.q, x.q_stride}, {x.k, x.k_stride, true}, tokens, tokens, x.dim, false,
             input.distances.causal ? Triangle::kOut : Triangle::kNone);
}

template <class T>
void scoresBackward(const HeadGradients<T>& gradients, const T* dscores, const HeadInput<T>& input) {
  const auto& x = input.x;
  const auto& dx = gradients.dx;
  const size_t tokens = input.distances.tokens;
  const bool causal = input.distances.causal;
  product<T>(dx.q, dx.q_stride, {dscores, tokens}, {x.k, x.k_stride}, tokens, x.dim, tokens, false,
             causal ? Triangle::kLower : Triangle::kNone);
  product<T>(dx.k, dx.k_stride, {dscores, tokens, true}, {x.q, x.q_stride}, tokens, x.dim, tokens, false,
             causal ? Triangle::kUpper : Triangle::kNone);
}

template <class T>
void attentionForward(T* weights, T* out, size_t out_stride, const HeadInput<T>& input, T* room) {
  const Distances d = input.distances;
  const size_t tokens = d.tokens;
  if (input.relative.product == nullptr) scoresOf(weights, input);
  relativeScores(weights, input.x, input.relative, d, room);
  for (size_t i = 0; i < tokens; ++i) {
    T* const row = weights + i * tokens;
    const size_t keys = d.keys(i);
    for (size_t j = 0; j < keys; ++j) row[j] *= input.scale;
    if (input.bias != nullptr) addScaled(row, T{1}, input.bias + i * input.bias_stride + d.first(i), keys);
    // F_i is the same for all keys, but without it numbers would grow.
    for (size_t j = 0; input.forget_sums != nullptr && j < keys; ++j)
      row[j] += static_cast<T>(input.forget_sums[i] - input.forget_sums[j]);
    softmaxRow(row, keys);
    std::fill(row + keys, row + tokens, T{0});
  }
  mixValues(out, out_stride, weights, input, room);
}

template <class T>
void attentionBackward(const HeadGradients<T>& gradients, const T* dout, size_t dout_stride, const T* weights,
                       const HeadInput<T>& input, T* room) {
  using L = Lanes<T>;
  const Distances d = input.distances;
  const size_t tokens = d.tokens;
  T* const dscores = room;
  T* const skewed = room + tokens * tokens;
  mixValuesBackward(dscores, gradients, dout, dout_stride, weights, input, skewed);
  for (size_t i = 0; i < tokens; ++i) {
    const T* const w = weights + i * tokens;
    T* const row = dscores + i * tokens;
    const size_t keys = d.keys(i);
    // Of the softmax: ds = w (dw - w . dw). Its sum is 0, so F_i gets nothing.
    const T along = dot(w, row, keys);
    size_t j = 0;
    for (; j + L::kCount <= keys; j += L::kCount)
      L::store(row + j, L::mul(L::load(w + j), L::sub(L::load(row + j), L::splat(along))));
    for (; j < keys; ++j) row[j] = w[j] * (row[j] - along);
    if (input.bias != nullptr)
      addScaled(gradients.bias + i * input.bias_stride + d.first(i), T{1}, row, keys);
    if (input.forget_sums != nullptr) addScaled(gradients.forget_sums, T{-1}, row, keys);
    for (j = 0; j < keys; ++j) row[j] *= input.scale;
    std::fill(row + keys, row + tokens, T{0});
  }
  if (input.relative.product == nullptr) scoresBackward(gradients, dscores, input);
  relativeScoresBackward(gradients.dx, gradients.relative, dscores, input.x, input.relative, d, skewed);
}

template void mixValues(float*, size_t, const float*, const HeadInput<float>&, float*);
template void mixValuesBackward(float*, const HeadGradients<float>&, const float*, size_t, const float*,
                                const HeadInput<float>&, float*);
template void scoresOf(float*, const HeadInput<float>&);
template void scoresBackward(const HeadGradients<float>&, const float*, const HeadInput<float>&);
template void attentionForward(float*, float*, size_t, const HeadInput<float>&, float*);
template void attentionBackward(const HeadGradients<float>&, const float*, size_t, const float*,
                                const HeadInput<float>&, float*);
template void mixValues(double*, size_t, const double*, const HeadInput<double>&, double*);
template void mixValuesBackward(double*, const HeadGradients<double>&, const double*, size_t, const double*,
                                const HeadInput<double>&, double*);
template void scoresOf(double*, const HeadInput<double>&);
template void scoresBackward(const HeadGradients<double>&, const double*, const HeadInput<double>&);
template void attentionForward(double*, double*, size_t, const HeadInput<double>&, double*);
template void attentionBackward(const HeadGradients<double>&, const double*, size_t, const double*,
                                const HeadInput<double>&, double*);

}  // namespace ropewalk::training
