#include "heap_meter.h"

#include <emscripten/heap.h>
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace {

size_t in_use = 0;
size_t peak = 0;

void* counted(void* p) {
  if (p != nullptr) {
    in_use += malloc_usable_size(p);
    peak = std::max(peak, in_use);
  }
  return p;
}

}  // namespace

namespace ropewalk {

size_t bytesInUse() {
  return in_use;
}
size_t peakBytes() {
  return peak;
}
void resetPeak() {
  peak = in_use;
}

}  // namespace ropewalk

// Replaces functions of the C library under their own names, which it permits.
extern "C" {

void* malloc(size_t size) {
  return counted(emscripten_builtin_malloc(size));
}

void* calloc(size_t count, size_t size) {
  return counted(emscripten_builtin_calloc(count, size));
}

void* memalign(size_t alignment, size_t size) {
  return counted(emscripten_builtin_memalign(alignment, size));
}

void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

int posix_memalign(void** out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}

void free(void* p) {
  if (p != nullptr) in_use -= malloc_usable_size(p);
  emscripten_builtin_free(p);
}

void* realloc(void* p, size_t size) {
  void* const moved = malloc(size);
  if (moved != nullptr && p != nullptr) {
    std::memcpy(moved, p, std::min(size, malloc_usable_size(p)));
    free(p);
  }
  return moved;
}
}
