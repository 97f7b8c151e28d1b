#include "training/linear_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/feature_map.h"
#include "training/lanes.h"

namespace ropewalk::training {
namespace {

constexpr double kSmallestLength = 1e-12;  // that the cosine form divides by

using ropewalk::elu1;
using ropewalk::exponential;

void exponential(double* out, const double* x, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = std::exp(x[i]);
}

void elu1(double* out, const double* x, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = x[i] > 0 ? x[i] + 1 : std::exp(x[i]);
}

// out = x/|x|. Divided: a head of one number has the direction 1 or -1.
template <class T>
void direction(T* out, const T* x, size_t n) {
  const T length = std::max(std::sqrt(dot(x, x, n)), static_cast<T>(kSmallestLength));
  for (size_t i = 0; i < n; ++i) out[i] = x[i] / length;
}

template <class T>
void directionBackward(T* dx, const T* dout, const T* x, size_t n) {
  const T length = std::sqrt(dot(x, x, n));
  const T least = static_cast<T>(kSmallestLength);
  const T inverse = 1 / std::max(length, least);
  // What lengthens x does not change x / |x|.
  const T along = length > least ? dot(x, dout, n) * inverse * inverse : T{0};
  for (size_t i = 0; i < n; ++i) dx[i] = inverse * (dout[i] - x[i] * along);
}

// out = phi(x) for a row; x/|x| for the cosine form, whose 1 is added to the products instead.
template <class T>
void mapRow(LinearKernel kernel, T* out, const T* x, size_t n) {
  switch (kernel) {
    case LinearKernel::kRelu:
      for (size_t i = 0; i < n; ++i) out[i] = std::max(x[i], T{0});
      return;
    case LinearKernel::kExp:
      return exponential(out, x, n);
    case LinearKernel::kCosine:
      return direction(out, x, n);
    default:
      return elu1(out, x, n);
  }
}

// dx from the gradient of phi(x); apart from both.
template <class T>
void mapRowBackward(LinearKernel kernel, T* dx, const T* dphi, const T* x, size_t n) {
  switch (kernel) {
    case LinearKernel::kRelu:
      for (size_t i = 0; i < n; ++i) dx[i] = x[i] > 0 ? dphi[i] : T{0};
      return;
    case LinearKernel::kCosine:
      return directionBackward(dx, dphi, x, n);
    default: {  // e^x where phi is
      const bool is_elu = kernel != LinearKernel::kExp;
      mapRow(kernel, dx, x, n);
      for (size_t i = 0; i < n; ++i) dx[i] = dphi[i] * (is_elu && x[i] > 0 ? T{1} : dx[i]);
    }
  }
}

// The queries' features at ab, and the keys' after them.
template <class T>
void turnFeatures(T* ab, const LinearHead<T>& input, Turn turn) {
  if (input.rotation == LinearRotation::kNone) return;
  const size_t tokens = input.head.queries.all.tokens;
  const size_t dim = input.head.x.dim;
  turnRows(ab, dim, tokens, input.angles, input.pairing, turn);
  turnRows(ab + tokens * dim, dim, tokens, input.angles, input.pairing, turn);
}

// The room of a pass: features [tokens, D] of queries and keys, before and after RoPE.
template <class T>
struct Features {
  T* a;  // turned, of the numerators
  T* b;
  T* plain_a;  // of the denominators; a and b themselves where those are the same
  T* plain_b;
  bool separate;
};

template <class T>
Features<T> makeFeatures(const LinearHead<T>& input, T* room) {
  const auto& x = input.head.x;
  const size_t tokens = input.head.queries.all.tokens;
  const size_t n = tokens * x.dim;
  Features<T> f = {room, room + n, room, room + n, input.rotation == LinearRotation::kNumerator};
  for (size_t t = 0; t < tokens; ++t) {
    mapRow(input.kernel, f.a + t * x.dim, x.q + t * x.q_stride, x.dim);
    mapRow(input.kernel, f.b + t * x.dim, x.k + t * x.k_stride, x.dim);
  }
  if (f.separate) {
    f.plain_a = room + 2 * n;
    f.plain_b = f.plain_a + n;
    std::copy_n(room, 2 * n, f.plain_a);
  }
  turnFeatures(room, input, Turn::kForward);
  return f;
}

// What a block has of the head whose queries and keys are features.
template <class T>
HeadInput<T> blockOf(HeadInput<T> head, const QueryBlock& b) {
  head.queries = b;
  head.x.q += b.begin * head.x.q_stride;
  return head;
}

// products [rows, T] of a block: a_i . b_j, of the cosine form 1 more.
template <class T>
void featureProducts(T* products, LinearKernel kernel, const HeadInput<T>& block) {
  const QueryBlock& b = block.queries;
  scoresOf(products, block);
  for (size_t i = 0; kernel == LinearKernel::kCosine && i < b.rows(); ++i) {
    T* const row = products + i * b.all.tokens;
    for (size_t j = 0; j < b.keys(i); ++j) row[j] += 1;
  }
}

// From products to weights.
template <class T>
void divideRows(T* weights, const T* denominators, const QueryBlock& b) {
  for (size_t i = 0; i < b.rows(); ++i) {
    T* const row = weights + i * b.all.tokens;
    // Divided: the only key has the weight 1.
    const T given = denominators[b.begin + i];
    const T denominator = given == 0 ? std::numeric_limits<T>::infinity() : given;
    for (size_t j = 0; j < b.keys(i); ++j) row[j] /= denominator;
    std::fill(row + b.keys(i), row + b.all.tokens, T{0});
  }
}

}  // namespace

template <class T>
void linearAttentionForward(HeadWeights<T> weights, T* denominators, T* out, size_t out_stride,
                            const LinearHead<T>& input, T* room) {
  HeadInput<T> head = input.head;
  const Distances d = head.queries.all;
  const size_t tokens = d.tokens;
  const size_t dim = head.x.dim;
  const Features<T> f = makeFeatures(input, room);
  head.x = {f.a, dim, f.b, dim, dim};

  // The keys seen so far, as one sum of features.
  T* const seen = room + 6 * tokens * dim;
  std::fill_n(seen, dim, T{0});
  size_t added = 0;
  eachBlock(d, [&](const QueryBlock& b) {
    const HeadInput<T> block = blockOf(head, b);
    T* const rows = weights.of(b);
    featureProducts(rows, input.kernel, block);
    for (size_t i = b.begin; i < b.end; ++i) {
      const size_t keys = d.keys(i);
      if (!f.separate) {
        denominators[i] = sum(rows + (i - b.begin) * tokens, keys);
        continue;
      }
      for (; added < keys; ++added) addScaled(seen, T{1}, f.plain_b + added * dim, dim);
      denominators[i] = dot(seen, f.plain_a + i * dim, dim);
      if (input.kernel == LinearKernel::kCosine) denominators[i] += static_cast<T>(keys);
    }
    divideRows(rows, denominators, b);
    mixValues(out + b.begin * out_stride, out_stride, rows, block, room);
  });
}

template <class T>
void linearAttentionBackward(const HeadGradients<T>& gradients, const T* dout, size_t dout_stride,
                             HeadWeights<T> weights, const T* denominators, const LinearHead<T>& input,
                             T* room) {
  HeadInput<T> head = input.head;
  const Distances d = head.queries.all;
  const size_t tokens = d.tokens;
  const size_t dim = head.x.dim;
  const size_t n = tokens * dim;
  const auto& x = input.head.x;
  const Features<T> f = makeFeatures(input, room);
  T* const da = room + 4 * n;
  T* const db = da + n;
  T* const seen = db + n;
  T* const slopes = seen + dim;  // dden_i = -w . dnum
  T* const dscores = slopes + tokens;

  // 1. dnum = dw / den, and dden = -(w . dw) / den, which goes to the products or to the features before RoPE
  // 2. the features of the numerators, turned back
  head.x = {f.a, dim, f.b, dim, dim};
  std::fill_n(da, 2 * n, T{0});
  eachBlock(d, [&](const QueryBlock& b) {
    const HeadInput<T> block = blockOf(head, b);
    T* const rows = weights.of(b);
    if (!weights.kept) {
      featureProducts(rows, input.kernel, block);
      divideRows(rows, denominators, b);
    }
    mixValuesBackward(dscores, gradients, dout + b.begin * dout_stride, dout_stride, rows, block,
                      static_cast<T*>(nullptr));
    for (size_t i = b.begin; i < b.end; ++i) {
      const T* const w = rows + (i - b.begin) * tokens;
      T* const row = dscores + (i - b.begin) * tokens;
      const size_t keys = d.keys(i);
      const T inverse = denominators[i] == 0 ? T{0} : 1 / denominators[i];
      const T along = f.separate ? T{0} : dot(w, row, keys);
      for (size_t j = 0; j < keys; ++j) row[j] = (row[j] - along) * inverse;
      std::fill(row + keys, row + tokens, T{0});
      slopes[i] = -dot(w, row, keys);
    }
    HeadGradients<T> of_features = gradients;
    of_features.dx = {da + b.begin * dim, dim, db, dim, dim};
    scoresBackward(of_features, dscores, block);
  });
  turnFeatures(da, input, Turn::kBack);

  // 3. those of the denominators: den_i = plain_a_i . (sum of plain_b_j that query i sees)
  if (f.separate) {
    std::fill_n(seen, dim, T{0});
    size_t added = 0;
    for (size_t i = 0; i < tokens; ++i) {
      for (; added < d.keys(i); ++added) addScaled(seen, T{1}, f.plain_b + added * dim, dim);
      addScaled(da + i * dim, slopes[i], seen, dim);
    }
    std::fill_n(seen, dim, T{0});
    size_t left = tokens;  // queries from here on are in the sum
    for (size_t j = tokens; j-- > 0;) {
      for (const size_t first = d.causal ? j : 0; left > first;) {
        --left;
        addScaled(seen, slopes[left], f.plain_a + left * dim, dim);
      }
      addScaled(db + j * dim, T{1}, seen, dim);
    }
  }

  // 4. through phi
  for (size_t t = 0; t < tokens; ++t) {
    mapRowBackward(input.kernel, gradients.dx.q + t * gradients.dx.q_stride, da + t * dim,
                   x.q + t * x.q_stride, dim);
    mapRowBackward(input.kernel, gradients.dx.k + t * gradients.dx.k_stride, db + t * dim,
                   x.k + t * x.k_stride, dim);
  }
}

template void linearAttentionForward(HeadWeights<float>, float*, float*, size_t, const LinearHead<float>&,
                                     float*);
template void linearAttentionForward(HeadWeights<double>, double*, double*, size_t, const LinearHead<double>&,
                                     double*);
template void linearAttentionBackward(const HeadGradients<float>&, const float*, size_t, HeadWeights<float>,
                                      const float*, const LinearHead<float>&, float*);
template void linearAttentionBackward(const HeadGradients<double>&, const double*, size_t,
                                      HeadWeights<double>, const double*, const LinearHead<double>&, double*);

}  // namespace ropewalk::training
