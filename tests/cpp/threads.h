// Threads for the pool of src/thread_pool.h, in builds that have it. All tests of such a build run with
// several.
#pragma once

#include <cstddef>

namespace ropewalk::test {

// From now on, `threads` take part, the caller among them; what others were there have ended. eager: even the
// smallest loop is split.
void useThreads(size_t threads, bool eager);

}  // namespace ropewalk::test
