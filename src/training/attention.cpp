#include "training/attention.h"

#include <algorithm>
#include <optional>

#include "training/lanes.h"
#include "training/products.h"
#include "training/softmax.h"

namespace ropewalk::training {
namespace {

// Moves to a block what begins with its queries or their first distance.
template <class T>
void moveTo(const QueryBlock& b, QueriesAndKeys<T>* x, RelativeTables<T>* tables, size_t value_dim) {
  x->q += b.begin * x->q_stride;
  for (T** table : {&tables->query, &tables->key, &tables->product}) {
    if (*table != nullptr) *table += b.offset() * x->dim;
  }
  if (tables->value != nullptr) tables->value += b.offset() * value_dim;
}

// The input of a block. Biases [rows, distances] are for those of FIRE.
template <class T>
HeadInput<T> blockOf(HeadInput<T> input, const QueryBlock& b, T* biases) {
  input.queries = b;
  moveTo(b, &input.x, &input.relative, input.value_dim);
  if (input.bias != nullptr) input.bias += b.begin * input.bias_stride + b.offset();
  if (input.fire) {
    fireBias(biases, input.fire, {b, input.head, input.head + 1});
    input.bias = biases;
    input.bias_stride = b.count();
  }
  return input;
}

template <class T>
HeadGradients<T> blockOf(HeadGradients<T> gradients, const HeadInput<T>& whole, const QueryBlock& b,
                         T* dbiases) {
  moveTo(b, &gradients.dx, &gradients.relative, whole.value_dim);
  if (whole.fire) {
    gradients.bias = dbiases;
    std::fill_n(dbiases, b.rows() * b.count(), T{0});
  } else if (whole.bias != nullptr) {
    gradients.bias += b.begin * whole.bias_stride + b.offset();
  }
  return gradients;
}

// CoPE of a block, if there is any.
template <class T>
std::optional<CopeBlock<T>> copeOf(const HeadInput<T>& input) {
  if (input.cope.table == nullptr) return std::nullopt;
  return CopeBlock<T>(input.cope, input.x, input.queries);
}

// The same with scores, for its gradients.
template <class T>
std::optional<CopeBlock<T>> copeAgain(const HeadInput<T>& input) {
  const std::optional<CopeBlock<T>> cope = copeOf(input);
  if (!cope) return cope;
  scoresOf(cope->scores(), input);
  cope->beginBackward(input.scale);
  return cope;
}

// weights [rows, T] of a block.
template <class T>
[[gnu::noinline]] void attentionWeights(T* weights, const HeadInput<T>& input, T* room) {
  const QueryBlock& b = input.queries;
  const size_t tokens = b.all.tokens;
  if (input.relative.product == nullptr) scoresOf(weights, input);
  relativeScores(weights, input.x, input.relative, b, room);
  const std::optional<CopeBlock<T>> cope = copeOf(input);
  for (size_t i = 0; i < b.rows(); ++i) {
    T* const row = weights + i * tokens;
    const size_t keys = b.keys(i);
    for (size_t j = 0; j < keys; ++j) row[j] *= input.scale;
    if (cope) cope->add(row, i);
    if (input.bias != nullptr) addScaled(row, T{1}, input.bias + i * input.bias_stride + b.first(i), keys);
    // F_i is the same for all keys, but without it numbers would grow.
    for (size_t j = 0; input.forget_sums != nullptr && j < keys; ++j)
      row[j] += static_cast<T>(input.forget_sums[b.begin + i] - input.forget_sums[j]);
    softmaxRow(row, keys);
    std::fill(row + keys, row + tokens, T{0});
  }
}

}  // namespace

template <class T>
void mixValues(T* out, size_t out_stride, const T* weights, const HeadInput<T>& input, T* room) {
  const QueryBlock& b = input.queries;
  product<T>(out, out_stride, {weights, b.all.tokens}, {input.v, input.v_stride}, b.rows(), input.value_dim,
             b.keys(), false, b.all.causal ? Triangle::kLower : Triangle::kNone, b.begin);
  if (input.relative.value == nullptr) return;
  byDistance(room, weights, b);
  product<T>(out, out_stride, {room, b.count()}, {input.relative.value, input.value_dim}, b.rows(),
             input.value_dim, b.count(), true);
}

template <class T>
void mixValuesBackward(T* dweights, const HeadGradients<T>& gradients, const T* dout, size_t dout_stride,
                       const T* weights, const HeadInput<T>& input, T* room) {
  const QueryBlock& b = input.queries;
  const size_t tokens = b.all.tokens;
  const size_t rows = b.rows();
  const size_t count = b.count();
  const size_t dim = input.value_dim;
  product<T>(dweights, tokens, {dout, dout_stride}, {input.v, input.v_stride, true}, rows, b.keys(), dim,
             false, b.all.causal ? Triangle::kOut : Triangle::kNone, b.begin);
  product<T>(gradients.dv, gradients.dv_stride, {weights, tokens, true}, {dout, dout_stride}, b.keys(), dim,
             rows, true, b.all.causal ? Triangle::kUpper : Triangle::kNone, b.begin);
  if (input.relative.value == nullptr) return;
  product<T>(room, count, {dout, dout_stride}, {input.relative.value, dim, true}, rows, count, dim, false);
  for (size_t i = 0; i < rows; ++i)
    addScaled(dweights + i * tokens, T{1}, room + i * count + b.first(i), b.keys(i));
  byDistance(room, weights, b);
  product<T>(gradients.relative.value, dim, {room, count, true}, {dout, dout_stride}, count, dim, rows, true);
}

template <class T>
void scoresOf(T* scores, const HeadInput<T>& input) {
  const auto& x = input.x;
  const QueryBlock& b = input.queries;
  product<T>(scores, b.all.tokens, {x.q, x.q_stride}, {x.k, x.k_stride, true}, b.rows(), b.keys(), x.dim,
             false, b.all.causal ? Triangle::kOut : Triangle::kNone, b.begin);
}

template <class T>
void scoresBackward(const HeadGradients<T>& gradients, const T* dscores, const HeadInput<T>& input) {
  const auto& x = input.x;
  const auto& dx = gradients.dx;
  const QueryBlock& b = input.queries;
  const size_t tokens = b.all.tokens;
  product<T>(dx.q, dx.q_stride, {dscores, tokens}, {x.k, x.k_stride}, b.rows(), x.dim, b.keys(), true,
             b.all.causal ? Triangle::kLower : Triangle::kNone, b.begin);
  product<T>(dx.k, dx.k_stride, {dscores, tokens, true}, {x.q, x.q_stride}, b.keys(), x.dim, b.rows(), true,
             b.all.causal ? Triangle::kUpper : Triangle::kNone, b.begin);
}

template <class T>
void attentionForward(HeadWeights<T> weights, T* out, size_t out_stride, const HeadInput<T>& input, T* room) {
  const Distances d = input.queries.all;
  T* const biases = room + blockRows(d.tokens) * d.count();
  eachBlock(d, [&](const QueryBlock& b) {
    const HeadInput<T> block = blockOf(input, b, biases);
    attentionWeights(weights.of(b), block, room);
    mixValues(out + b.begin * out_stride, out_stride, weights.of(b), block, room);
  });
}

template <class T>
void attentionBackward(const HeadGradients<T>& gradients, const T* dout, size_t dout_stride,
                       HeadWeights<T> weights, const HeadInput<T>& input, T* room) {
  using L = Lanes<T>;
  const Distances d = input.queries.all;
  const size_t tokens = d.tokens;
  const size_t by_distance = blockRows(tokens) * d.count();
  T* const dscores = room + by_distance;
  T* const biases = dscores + blockRows(tokens) * tokens;
  T* const dbiases = biases + by_distance;
  eachBlock(d, [&](const QueryBlock& b) {
    const HeadInput<T> block = blockOf(input, b, biases);
    const HeadGradients<T> of_block = blockOf(gradients, input, b, dbiases);
    if (!weights.kept) attentionWeights(weights.of(b), block, room);
    mixValuesBackward(dscores, of_block, dout + b.begin * dout_stride, dout_stride, weights.of(b), block,
                      room);
    const std::optional<CopeBlock<T>> cope = copeAgain(block);
    for (size_t i = 0; i < b.rows(); ++i) {
      const T* const w = weights.of(b) + i * tokens;
      T* const row = dscores + i * tokens;
      const size_t keys = b.keys(i);
      // Of the softmax: ds = w (dw - w . dw). Its sum is 0, so F_i gets nothing.
      const T along = dot(w, row, keys);
      size_t j = 0;
      for (; j + L::kCount <= keys; j += L::kCount)
        L::store(row + j, L::mul(L::load(w + j), L::sub(L::load(row + j), L::splat(along))));
      for (; j < keys; ++j) row[j] = w[j] * (row[j] - along);
      if (block.bias != nullptr)
        addScaled(of_block.bias + i * block.bias_stride + b.first(i), T{1}, row, keys);
      if (input.forget_sums != nullptr) addScaled(gradients.forget_sums, T{-1}, row, keys);
      if (cope) cope->addBackward(row, i);
      for (j = 0; j < keys; ++j) row[j] *= input.scale;
      std::fill(row + keys, row + tokens, T{0});
    }
    if (cope) cope->endBackward(of_block.dx.q, of_block.dx.q_stride, gradients.cope);
    if (input.relative.product == nullptr) scoresBackward(of_block, dscores, block);
    relativeScoresBackward(of_block.dx, of_block.relative, dscores, block.x, block.relative, b, room);
    if (input.fire) fireBiasBackward(input.fire, dbiases, {b, input.head, input.head + 1});
  });
}

template void mixValues(float*, size_t, const float*, const HeadInput<float>&, float*);
template void mixValuesBackward(float*, const HeadGradients<float>&, const float*, size_t, const float*,
                                const HeadInput<float>&, float*);
template void scoresOf(float*, const HeadInput<float>&);
template void scoresBackward(const HeadGradients<float>&, const float*, const HeadInput<float>&);
template void attentionForward(HeadWeights<float>, float*, size_t, const HeadInput<float>&, float*);
template void attentionBackward(const HeadGradients<float>&, const float*, size_t, HeadWeights<float>,
                                const HeadInput<float>&, float*);
template void mixValues(double*, size_t, const double*, const HeadInput<double>&, double*);
template void mixValuesBackward(double*, const HeadGradients<double>&, const double*, size_t, const double*,
                                const HeadInput<double>&, double*);
template void scoresOf(double*, const HeadInput<double>&);
template void scoresBackward(const HeadGradients<double>&, const double*, const HeadInput<double>&);
template void attentionForward(HeadWeights<double>, double*, size_t, const HeadInput<double>&, double*);
template void attentionBackward(const HeadGradients<double>&, const double*, size_t, HeadWeights<double>,
                                const HeadInput<double>&, double*);

}  // namespace ropewalk::training
