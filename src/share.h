// What a thread gets of a loop that several share.
#pragma once

#include <cstddef>

namespace ropewalk {

struct Share {
  size_t first;   // of the iterations
  size_t end;     // behind the last one
  size_t thread;  // that has it
};

}  // namespace ropewalk
