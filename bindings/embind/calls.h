// What the bindings share: how JavaScript's numbers become the core's types. Pointers are numbers (bytes into
// the heap), results are Status numbers, arrays lie in the heap. The bindings convert, they never compute and
// never check: the TypeScript package (ts/) has checked every argument before it comes here, because Embind
// itself turns NaN and 'abc' to 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "calls/table.h"
#include "encodings/rope.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk::binding {

using Pointer = uintptr_t;

template <class T>
T* at(Pointer p) {
  return reinterpret_cast<T*>(p);
}

inline int number(Status s) {
  return static_cast<int>(s);
}

// --- options and calls: their fields as doubles one after the other, as ts/runtime/call-fields.ts puts them,
// in the order of a list in ts/. For objects Embind would register two functions for each field, and call one
// of them for each field of every call.

class Fields {
 public:
  explicit Fields(Pointer fields) : next_(at<double>(fields)) {}

  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>
  operator T() {
    const double field = *next_++;
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<T>(static_cast<Pointer>(field));
    } else if constexpr (std::is_same_v<T, bool>) {
      return field != 0;
    } else {
      return static_cast<T>(field);
    }
  }

 private:
  const double* next_;
};

// --- positions: JavaScript writes doubles, which hold every position exactly; the core takes int64, in place

inline int64_t* integers(Pointer doubles, size_t n) {
  const double* from = at<double>(doubles);
  auto* to = at<int64_t>(doubles);
  for (size_t i = 0; i < n; ++i) to[i] = static_cast<int64_t>(from[i]);
  return to;
}

struct PositionsCall {
  Pointer values;  // 0: offset, offset + 1, ...
  size_t count;    // entries at values
  bool per_batch;
  double offset;
};

// Braces read their fields from left to right, here and in every reader.
inline PositionsCall positionsCall(Fields& f) {
  return {f, f, f, f};
}
inline Positions positions(const PositionsCall& p) {
  if (p.values == 0) return {nullptr, false, static_cast<int64_t>(p.offset)};
  return {integers(p.values, p.count), p.per_batch, 0};
}

template <class T>
HeadView<T> heads(Pointer p, bool tokens_first, size_t b, size_t h, size_t t, size_t d) {
  return tokens_first ? tokensFirst(at<T>(p), b, h, t, d) : headsFirst(at<T>(p), b, h, t, d);
}

}  // namespace ropewalk::binding
