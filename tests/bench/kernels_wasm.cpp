// The wasm counterpart of kernels_native.cpp: a page or Node writes the line of a work to text(), calls
// prepare(), then run() any number of times. The module has no glue; its only import reports memory growth.
#include <emscripten/emscripten.h>

#include "kernels.h"

namespace {
char line[256];
std::unique_ptr<ropewalk::bench::Work> work;
}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE char* text() {
  return line;
}

EMSCRIPTEN_KEEPALIVE int prepare() {
  work.reset();
  work = ropewalk::bench::makeWork(line);
  return work != nullptr ? 1 : 0;
}

EMSCRIPTEN_KEEPALIVE void run() {
  work->run();
}
}
