// Bindings of the pool of threads, in the build that has one. Workers instantiate the module anew with the
// same memory, and call `enterPool` through the table of functions.
#include <emscripten/bind.h>

#include "calls.h"
#include "thread_pool.h"

// Of Emscripten's runtime, which declares it nowhere.
extern "C" void _emscripten_stack_restore(uintptr_t to);

namespace ropewalk::binding {
namespace {

// The stack pointer belongs to the instance, and so to the thread. Nothing may lie on the stack before.
[[gnu::noinline]] void enterPool(Pointer stack_end, size_t thread) {
  _emscripten_stack_restore(static_cast<uintptr_t>(stack_end));
  threadPool().work(thread);
}

Pointer poolEntry() {
  return reinterpret_cast<Pointer>(&enterPool);
}

Pointer poolLost() {
  return reinterpret_cast<Pointer>(&threadPool().lost());
}

Pointer poolClosed() {
  return reinterpret_cast<Pointer>(&threadPool().closed());
}

Pointer poolWake() {
  return reinterpret_cast<Pointer>(&threadPool().wake());
}

void openPool(size_t threads) {
  threadPool().open(threads, false, ThreadPool::kPatience);
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(threads) {
  using namespace emscripten;
  using namespace ropewalk::binding;

  function("openPool", &openPool);
  function("poolEntry", &poolEntry);
  function("poolLost", &poolLost);
  function("poolClosed", &poolClosed);
  function("poolWake", &poolWake);
}
