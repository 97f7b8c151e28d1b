// Measures how much of the heap is in use, now and at the peak: the bytes that malloc, calloc and the like
// were asked for, until they are freed.
#pragma once

#include <cstddef>

namespace ropewalk {

size_t bytesInUse();
size_t peakBytes();  // the peak since the start or resetPeak()
void resetPeak();

}  // namespace ropewalk
