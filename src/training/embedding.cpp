#include "training/embedding.h"

#include <algorithm>

#include "training/lanes.h"

namespace ropewalk::training {
namespace {

// f(row of h, row of the table, row of the positions), as offsets.
template <class T, class F>
void eachToken(const EmbeddingInput<T>& input, F f) {
  const bool concatenated = input.mode == LearnedMode::kConcatenate && input.positions != nullptr;
  const size_t dim = input.token_dim + (concatenated ? input.position_dim : 0);
  for (size_t r = 0; r < input.batch * input.tokens; ++r) {
    f(r * dim, static_cast<size_t>(input.ids[r]) * input.token_dim, r % input.tokens * input.position_dim);
  }
}

}  // namespace

template <class T>
void embeddingForward(T* h, const EmbeddingInput<T>& input) {
  eachToken(input, [&](size_t out, size_t id, size_t position) {
    T* const row = h + out;
    std::copy_n(input.table + id, input.token_dim, row);
    if (input.positions == nullptr) return;
    const T* const p = input.positions + position;
    switch (input.mode) {
      case LearnedMode::kAdd:
        return addScaled(row, T{1}, p, input.token_dim);
      case LearnedMode::kMultiply:
        for (size_t i = 0; i < input.token_dim; ++i) row[i] *= p[i];
        return;
      case LearnedMode::kConcatenate:
        std::copy_n(p, input.position_dim, row + input.token_dim);
        return;
    }
  });
}

template <class T>
void embeddingBackward(T* dtable, T* dpositions, const T* dh, const EmbeddingInput<T>& input) {
  const bool multiplied = input.mode == LearnedMode::kMultiply && input.positions != nullptr;
  const bool concatenated = input.mode == LearnedMode::kConcatenate;
  eachToken(input, [&](size_t out, size_t id, size_t position) {
    const T* const row = dh + out;
    if (!multiplied) {
      addScaled(dtable + id, T{1}, row, input.token_dim);
      if (dpositions != nullptr)
        addScaled(dpositions + position, T{1}, row + (concatenated ? input.token_dim : 0),
                  input.position_dim);
      return;
    }
    for (size_t i = 0; i < input.token_dim; ++i) {
      dtable[id + i] += row[i] * input.positions[position + i];
      if (dpositions != nullptr) dpositions[position + i] += row[i] * input.table[id + i];
    }
  });
}

template void embeddingForward(float*, const EmbeddingInput<float>&);
template void embeddingForward(double*, const EmbeddingInput<double>&);
template void embeddingBackward(float*, float*, const float*, const EmbeddingInput<float>&);
template void embeddingBackward(double*, double*, const double*, const EmbeddingInput<double>&);

}  // namespace ropewalk::training
