// Measures how much of the heap is in use, now and at the peak. Counts the usable bytes of every block from
// malloc, calloc and the like until it is freed: a few more than requested, without malloc's own headers.
#pragma once

#include <cstddef>

namespace ropewalk {

size_t bytesInUse();
size_t peakBytes();  // the peak since the start or resetPeak()
void resetPeak();

}  // namespace ropewalk
