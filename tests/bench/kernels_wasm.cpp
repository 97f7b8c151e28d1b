// The same for wasm: a page or Node writes the line of a work to text(), calls prepare(), then run() as often
// as it likes. A module without glue: its only import tells of memory that grew.
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
