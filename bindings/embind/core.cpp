// Which core this is, and its heap.
#include <emscripten/bind.h>

#include <string>

#include "calls.h"
#include "encodings/registry.h"
#include "heap_meter.h"
#include "memory.h"
#include "simd.h"

namespace ropewalk::binding {
namespace {

Pointer allocate(size_t bytes) {
  return reinterpret_cast<Pointer>(alignedAllocate(bytes));
}
void release(Pointer p) {
  alignedFree(at<void>(p));
}

// "name:family" of every encoding, separated by spaces
std::string encodingList() {
  std::string list;
  for (const Encoding& e : kEncodings) {
    if (!list.empty()) list += ' ';
    list += std::string(e.name) + ':' + std::to_string(static_cast<int>(e.family));
  }
  return list;
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(core) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

  constant("backend", std::string(simd::kBackend));
  constant("encodings", encodingList());
  function("allocate", &allocate);
  function("release", &release);
  function("bytesInUse", &bytesInUse);
  function("peakBytes", &peakBytes);
  function("resetPeak", &resetPeak);
}
