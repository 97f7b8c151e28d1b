// That results have the same bits with any number of threads, also with more than there are cores.
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "catch.h"
#include "reference.h"
#include "threads.h"

namespace ropewalk::test {

// compute() gives a vector.
template <class F>
void checkThreadCounts(std::initializer_list<size_t> counts, const F& compute) {
  useThreads(1, false);
  const auto expected = compute();
  for (const size_t threads : counts) {
    for (const bool eager : {false, true}) {
      useThreads(threads, eager);
      CAPTURE(threads, eager);
      CHECK(sameBits(compute(), expected));
    }
  }
  useThreads(4, true);
}

// compute() fills what it is given, which is NaN before.
inline void checkThreads(size_t size, const std::function<void(float*)>& compute) {
  checkThreadCounts({2, 3, 4, 8}, [&] {
    std::vector<float> out(size, kNaN);
    compute(out.data());
    return out;
  });
}

}  // namespace ropewalk::test
