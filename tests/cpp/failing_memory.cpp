#include "failing_memory.h"

#include <cstdint>
#include <cstdlib>

#include "memory.h"

namespace ropewalk {
namespace {

constexpr size_t kNever = SIZE_MAX;

size_t until_failure = kNever;
bool failed = false;
size_t live = 0;

}  // namespace

void* alignedAllocate(size_t bytes) {
  if (until_failure == 0) {
    until_failure = kNever;
    failed = true;
    return nullptr;
  }
  if (until_failure != kNever) --until_failure;
  void* p = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  live += p != nullptr;
  return p;
}

void alignedFree(void* p) {
  live -= p != nullptr;
  std::free(p);
}

namespace test {

void failAllocationAfter(size_t n) {
  until_failure = n;
  failed = false;
}

bool stopFailing() {
  until_failure = kNever;
  return failed;
}

size_t liveAllocations() {
  return live;
}

}  // namespace test
}  // namespace ropewalk
