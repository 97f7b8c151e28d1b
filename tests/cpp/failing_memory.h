// The core's allocator replaced by one that fails when told to, and counts what is alive.
#pragma once

#include <cstddef>

namespace ropewalk::test {

// The allocation after the next n fails, and it alone.
void failAllocationAfter(size_t n);

// No allocation fails any more. True if one did since failAllocationAfter.
bool stopFailing();

size_t liveAllocations();

}  // namespace ropewalk::test
