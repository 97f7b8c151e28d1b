// The works of the bench on the core alone, without bindings: native builds for comparison with the package,
// and kernels that have no public call. Also the machine's limits: multiply-adds in registers and copies of
// memory.
#pragma once

#include <cstddef>
#include <memory>

namespace ropewalk::bench {

class Work {
 public:
  virtual ~Work() = default;
  virtual void run() = 0;
};

// From a line such as "rope half 32 2048 128 0": an operation and its sizes. Null where there is no such
// operation or no memory for it.
std::unique_ptr<Work> makeWork(const char* line);

}  // namespace ropewalk::bench
