#include "heap_meter.h"

#include <emscripten/emmalloc.h>
#include <emscripten/heap.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace {

size_t in_use = 0;
size_t peak = 0;

// Stands before what a caller is given.
struct Header {
  void* block;  // of the allocator
  size_t size;
};

constexpr size_t kLeastAlignment = 16;
constexpr size_t kMost = SIZE_MAX - (size_t{1} << 16);  // what emmalloc and sbrk add must not wrap

Header& headerOf(void* p) {
  return static_cast<Header*>(p)[-1];
}

// emmalloc takes a free block for long enough where the sum of its address and the size wraps at 4 GiB. What
// is too short is held until a block is found or none is left.
void* blockOf(size_t size) {
  void* held = nullptr;
  void* block = emscripten_builtin_malloc(size);
  while (block != nullptr && emmalloc_usable_size(block) < size) {
    *static_cast<void**>(block) = held;
    held = block;
    block = emscripten_builtin_malloc(size);
  }
  while (held != nullptr) {
    void* const next = *static_cast<void**>(held);
    emscripten_builtin_free(held);
    held = next;
  }
  return block;
}

// The allocator is asked for no alignment: what it leaves free for one would count for the block before.
void* place(size_t size, size_t alignment) {
  alignment = std::max(alignment, kLeastAlignment);
  const size_t more = sizeof(Header) + alignment;
  if (size > kMost - more) return nullptr;
  void* const block = blockOf(size + more);
  if (block == nullptr) return nullptr;
  const uintptr_t end = reinterpret_cast<uintptr_t>(block) + more;
  void* const p = reinterpret_cast<void*>(end / alignment * alignment);
  headerOf(p) = {block, size};
  in_use += size;
  peak = std::max(peak, in_use);
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
  return place(size, 0);
}

void* calloc(size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size) return nullptr;
  void* const p = place(count * size, 0);
  return p == nullptr ? nullptr : std::memset(p, 0, count * size);
}

void* memalign(size_t alignment, size_t size) {
  return place(size, alignment);
}

void* aligned_alloc(size_t alignment, size_t size) {
  return place(size, alignment);
}

int posix_memalign(void** out, size_t alignment, size_t size) {
  *out = place(size, alignment);
  return *out == nullptr ? ENOMEM : 0;
}

void free(void* p) {
  if (p == nullptr) return;
  const Header header = headerOf(p);
  in_use -= header.size;
  emscripten_builtin_free(header.block);
}

void* realloc(void* p, size_t size) {
  void* const moved = malloc(size);
  if (moved != nullptr && p != nullptr) {
    std::memcpy(moved, p, std::min(size, headerOf(p).size));
    free(p);
  }
  return moved;
}
}
