// Replaces the core's allocator by one that can be made to fail and counts live allocations.
#pragma once

#include <cstddef>

namespace ropewalk::test {

// The allocation after the next n fails, and it alone.
void failAllocationAfter(size_t n);

// No allocation fails any more. True if one did since failAllocationAfter.
bool stopFailing();

size_t liveAllocations();

// From here on allocations fail that would take what is live above so many bytes.
void limitMemory(size_t bytes);

}  // namespace ropewalk::test
