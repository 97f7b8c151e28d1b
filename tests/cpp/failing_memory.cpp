#include "failing_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>

#include "memory.h"

namespace ropewalk {
namespace {

constexpr size_t kNever = SIZE_MAX;

size_t until_failure = kNever;
bool failed = false;
size_t limit = SIZE_MAX;
size_t live_bytes = 0;
std::unordered_map<void*, size_t> live;  // bytes of each

}  // namespace

void* alignedAllocate(size_t bytes) {
  if (until_failure == 0) {
    until_failure = kNever;
    failed = true;
    return nullptr;
  }
  if (until_failure != kNever) --until_failure;
  if (bytes > limit - std::min(limit, live_bytes)) return nullptr;
  void* p = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  if (p == nullptr) return nullptr;
  live[p] = bytes;
  live_bytes += bytes;
  return p;
}

void alignedFree(void* p) {
  const auto block = live.find(p);
  if (block == live.end()) return;
  live_bytes -= block->second;
  live.erase(block);
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
  return live.size();
}

void limitMemory(size_t bytes) {
  limit = bytes;
}

}  // namespace test
}  // namespace ropewalk
