#include "memory.h"

#include <cstdlib>

namespace ropewalk {

void* alignedAllocate(size_t bytes) {
  if (bytes > SIZE_MAX - kAlignment) return nullptr;
  // aligned_alloc wants a multiple of the alignment; one line at least, so that size 0 is a valid array.
  const size_t rounded = bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return std::aligned_alloc(kAlignment, rounded);
}

void alignedFree(void* p) {
  std::free(p);
}

}  // namespace ropewalk
