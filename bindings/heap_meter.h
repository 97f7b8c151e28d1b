// How much of the heap is in use, and the most that was: counts what malloc and its kin give and free takes
// back, in bytes that can be used (a few more than asked for, without malloc's own notes).
#pragma once

#include <cstddef>

namespace ropewalk {

size_t bytesInUse();
size_t peakBytes();  // the most in use at once since the start or resetPeak()
void resetPeak();

}  // namespace ropewalk
