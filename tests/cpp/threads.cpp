#include "threads.h"

#include <thread>
#include <vector>

#include "catch.h"
#include "thread_pool.h"

#if !__has_include(<catch_amalgamated.hpp>)
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#endif

// An allocation that is too large answers null, as it does without the sanitizer.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}

namespace ropewalk::test {
namespace {

std::vector<std::thread> workers;

class SeveralThreads : public Catch::EventListenerBase {
 public:
  using Catch::EventListenerBase::EventListenerBase;
  void testRunStarting(const Catch::TestRunInfo&) override { useThreads(4, true); }
  void testRunEnded(const Catch::TestRunStats&) override { useThreads(1, true); }
};
CATCH_REGISTER_LISTENER(SeveralThreads)

}  // namespace

void useThreads(size_t threads, bool eager) {
  threadPool().close();
  for (std::thread& worker : workers) worker.join();
  workers.clear();
  threadPool().open(threads, eager, UINT64_MAX);  // a native thread does not end alone
  for (size_t i = 1; i < threads; ++i) workers.emplace_back([i] { threadPool().work(i); });
}

}  // namespace ropewalk::test
