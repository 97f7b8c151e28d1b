// Converts JavaScript's numbers to the core's types, for all bindings. Pointers are numbers (bytes into the
// heap), results are Status numbers, arrays lie in the heap. The bindings convert; they never compute and
// never check. The TypeScript package (ts/) checks every argument before the call, because Embind itself
// converts NaN and 'abc' to 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "calls/table.h"
#include "encodings/rope.h"
#include "fields.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk::binding {

inline int number(Status s) {
  return static_cast<int>(s);
}

// --- positions: JavaScript writes doubles, which hold every position exactly; the core takes int64, in place

inline int64_t* integers(Pointer doubles, size_t n) {
  const double* from = at<double>(doubles);
  auto* to = at<int64_t>(doubles);
  for (size_t i = 0; i < n; ++i) to[i] = static_cast<int64_t>(from[i]);
  return to;
}

inline Positions positions(const PositionsCall& p) {
  if (p.values == 0) return {nullptr, false, p.offset};
  return {integers(p.values, p.count), p.per_batch, 0};
}

template <class T>
HeadView<T> heads(Pointer p, bool tokens_first, size_t b, size_t h, size_t t, size_t d) {
  return tokens_first ? tokensFirst(at<T>(p), b, h, t, d) : headsFirst(at<T>(p), b, h, t, d);
}

}  // namespace ropewalk::binding
