// Non-owning view of per-head data [B, H, T, D]: innermost coordinates contiguous, the rest by stride, so
// that both common layouts, [B, H, T, D] and [B, T, H, D], are the same to the code that reads them.
#pragma once

#include <cstddef>

namespace ropewalk {

template <class T>
struct HeadView {
  T* data = nullptr;
  size_t batch = 0;         // B
  size_t heads = 0;         // H
  size_t tokens = 0;        // T
  size_t dim = 0;           // D, coordinates of one head
  size_t batch_stride = 0;  // strides in elements
  size_t head_stride = 0;
  size_t token_stride = 0;

  T* row(size_t b, size_t h, size_t t) const {
    return data + b * batch_stride + h * head_stride + t * token_stride;
  }

  HeadView<const T> readOnly() const {
    return {data, batch, heads, tokens, dim, batch_stride, head_stride, token_stride};
  }
};

// [B, H, T, D], contiguous: heads outside tokens.
template <class T>
HeadView<T> headsFirst(T* data, size_t batch, size_t heads, size_t tokens, size_t dim) {
  return {data, batch, heads, tokens, dim, heads * tokens * dim, tokens * dim, dim};
}

// [B, T, H, D], contiguous: the layout a projection of [B, T, H * D] leaves behind.
template <class T>
HeadView<T> tokensFirst(T* data, size_t batch, size_t heads, size_t tokens, size_t dim) {
  return {data, batch, heads, tokens, dim, tokens * heads * dim, dim, heads * dim};
}

}  // namespace ropewalk
