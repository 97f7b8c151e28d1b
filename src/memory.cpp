#include "memory.h"

#include <cassert>
#include <cstdlib>

#ifdef ROPEWALK_THREADS
#include "thread_pool.h"
#endif

namespace ropewalk {

void* alignedAllocate(size_t bytes) {
#ifdef ROPEWALK_THREADS
  assert(!threadPool().busy() && "what a loop needs is made before it (parallel.h)");
#endif
  if (bytes > SIZE_MAX - kAlignment) return nullptr;
  // aligned_alloc wants a multiple of the alignment; one line at least, so that size 0 is a valid array.
  const size_t rounded = bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return std::aligned_alloc(kAlignment, rounded);
}

void alignedFree(void* p) {
  std::free(p);
}

}  // namespace ropewalk
