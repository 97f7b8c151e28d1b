// Bindings of the build's name, the list of encodings, and the heap.
#include <emscripten/bind.h>

#include <algorithm>
#include <cstring>
#include <string_view>

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

bool isRelaxed() {
  return std::string_view(simd::kBackend) == "wasm-relaxed";
}

// Writes "name:family " for every encoding and returns the number of characters; `out` must have room for
// all. A test compares the list with ts/encodings/encodings.ts.
size_t encodingList(Pointer out) {
  char* end = at<char>(out);
  for (const Encoding& e : kEncodings) {
    end = std::copy_n(e.name, std::strlen(e.name), end);
    *end++ = ':';
    *end++ = static_cast<char>('0' + static_cast<int>(e.family));
    *end++ = ' ';
  }
  return static_cast<size_t>(end - at<char>(out));
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(core) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

  function("isRelaxed", &isRelaxed);
  function("encodingList", &encodingList);
  function("allocate", &allocate);
  function("release", &release);
  function("bytesInUse", &bytesInUse);
  function("peakBytes", &peakBytes);
  function("resetPeak", &resetPeak);
}
