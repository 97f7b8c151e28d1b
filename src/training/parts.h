// Loops over arrays that threads share.
#pragma once

#include <algorithm>
#include <cstddef>

#include "memory.h"
#include "parallel.h"

namespace ropewalk::training {

// f(begin, end) for parts of 0 .. n - 1 in any order and at the same time, each of which takes the time of
// `work` multiplications for a number. All but the last consist of whole vectors, and of whole cache lines.
template <class F>
void eachPart(size_t n, size_t work, const F& f) {
  constexpr size_t kStep = kAlignment / sizeof(float);
  parallelFor((n + kStep - 1) / kStep, grainOf(kStep, work),
              [&](const Share& share) { f(share.first * kStep, std::min(n, share.end * kStep)); });
}

inline constexpr size_t kCopyWork = 8;  // of a number that is read, changed by little, and written

template <class T>
void copy(T* out, const T* x, size_t n) {
  eachPart(n, kCopyWork, [&](size_t begin, size_t end) { std::copy(x + begin, x + end, out + begin); });
}

}  // namespace ropewalk::training
