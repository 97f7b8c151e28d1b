// What formats of weights and their readers have in common; see kernels/weight_format.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/formats/block.h"
#include "kernels/panel.h"
#include "kernels/transpose.h"
#include "kernels/weight_type.h"
#include "simd.h"

namespace ropewalk {

// Reads one input at a time, as it is, columns in their order, without scales.
struct PlainReader {
  static constexpr size_t kRun = kGemmDepth;
  static constexpr size_t kStep = 1;
  static constexpr size_t kPanels = 2;
  static constexpr size_t kTogether = 2;
  struct Scales {};
  Scales scales(const unsigned char*, size_t) const { return {}; }
  simd::f32x4 input(simd::f32x4 x) const { return x; }
  void inOrder(simd::f32x4*) const {}
};

// A format without scales of rows, whose panels Reader reads.
template <class Reader>
struct PlainFormat {
  static constexpr size_t kHeadBytes = 0;
  static constexpr size_t kFewRows = 2;
  static constexpr bool kRowScales = false;
  static constexpr bool kHoldsInfinity = true;
  static constexpr BlockCodes kCodes = {};
  static bool finite(const unsigned char*, size_t, size_t) { return true; }
  template <class F>
  static void withReader(bool, F f) {
    f(Reader());
  }
  template <class Below, class F>
  static void withQuickReader(bool, Below, F f) {
    f(Reader());
  }
};

// Rows of n numbers at `from`, a stride in bytes apart, at any address, as rows of a panel [n][kPanel].
template <class T>
void placeNumbers(unsigned char* to, size_t rows, size_t n, const unsigned char* from, size_t stride) {
  constexpr size_t kBytes = kPanel * sizeof(T);
  size_t i = 0;
  if constexpr (sizeof(T) == 4) {
    return transposeWords(to, kBytes, from, stride, rows, n);
  } else if (sizeof(T) == 2 && rows == kPanel) {
    // Two inputs are a word at first.
    transposeWords(to, 2 * kBytes, from, stride, rows, n / 2);
    for (; i + 2 <= n; i += 2) {
      uint32_t words[kPanel];
      uint16_t numbers[2 * kPanel];
      std::memcpy(words, to + i * kBytes, sizeof words);
      for (size_t r = 0; r < kPanel; ++r) {
        numbers[r] = static_cast<uint16_t>(words[r]);
        numbers[kPanel + r] = static_cast<uint16_t>(words[r] >> 16);
      }
      std::memcpy(to + i * kBytes, numbers, sizeof numbers);
    }
  }
  for (; i < n; ++i) {
    for (size_t r = 0; r < rows; ++r)
      std::memcpy(to + i * kBytes + r * sizeof(T), from + r * stride + i * sizeof(T), sizeof(T));
  }
}

// Blocks of one number of type T: a panel is [k][kPanel] of them.
template <class T, class Reader>
struct NumberFormat : PlainFormat<Reader> {
  using Stored = T;
  static constexpr size_t kBlock = 1;
  static constexpr size_t kBlockBytes = sizeof(T);
  static constexpr size_t kPanelBytes = kPanel * sizeof(T);

  static void pack(unsigned char* panel, size_t r, size_t rows, size_t l, size_t n, const unsigned char* from,
                   size_t stride) {
    placeNumbers<T>(panel + l * kPanelBytes + r * sizeof(T), rows, n, from, stride);
  }
  static const T* at(const unsigned char* panel, size_t l) {
    return reinterpret_cast<const T*>(panel + l * kPanelBytes);
  }
};

// out = n numbers at any address, widened by load; four at a time they pass through an aligned buffer.
template <class T, class Load>
void widenNumbers(const unsigned char* from, size_t n, float* out, Load load) {
  T chunk[simd::kLanes] = {};
  size_t i = 0;
  for (; i + simd::kLanes <= n; i += simd::kLanes) {
    std::memcpy(chunk, from + i * sizeof(T), sizeof chunk);
    simd::store(out + i, load(chunk));
  }
  if (i == n) return;
  std::memcpy(chunk, from + i * sizeof(T), (n - i) * sizeof(T));
  simd::storeN(out + i, load(chunk), n - i);
}

// The n numbers to which narrow rounds x, at any address.
template <class Narrow>
void narrowNumbers(const float* x, size_t n, unsigned char* out, Narrow narrow) {
  for (size_t i = 0; i < n; ++i) {
    const auto number = narrow(x[i]);
    std::memcpy(out + i * sizeof number, &number, sizeof number);
  }
}

}  // namespace ropewalk
