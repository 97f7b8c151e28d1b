// The pool of threads behind parallelFor (parallel.h). Whoever has threads gives them to it: each calls
// work(). The thread that calls run() takes part and only spins, as the main thread of a page must; the
// others spin for a moment after each loop and sleep then. There is one pool, the core's only global: a loop
// deep within a kernel has no other way to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "share.h"

namespace ropewalk {

// What threads change often lies in lines of its own.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
class ThreadPool {
 public:
  using Call = void (*)(const void* body, const Share& share);

  // Of `patience`: what a worker that was ended in the middle of a share is given up after, 20 to 50 seconds.
  static constexpr uint64_t kPatience = uint64_t{1} << 34;

  // With the thread that calls run(), `threads` take part. eager: loops are split as finely as can be, for
  // tests. patience: how often run() looks in vain for a share that is done before the loop counts as lost.
  // No loop runs meanwhile, and every work() of before has returned.
  void open(size_t threads, bool eager, uint64_t patience);
  // Makes every work() return; one thread takes part.
  void close();

  size_t threads() const { return threads_.load(std::memory_order_relaxed); }

  // Whether a loop runs that is split.
  bool busy() const { return busy_.load(std::memory_order_relaxed); }

  // Into how many shares a loop is split, 1 where it is not.
  size_t shares(size_t count, size_t grain) const;

  // call(body, share) for each share of `count` iterations; all at once while another loop runs.
  void run(size_t count, size_t shares, Call call, const void* body);

  // What thread 1 ... threads() - 1 does until the pool is closed.
  void work(size_t thread);

  // Not 0 when a loop will never be complete, and run() traps: set to the number of a thread that failed, by
  // its owner, or to UINT32_MAX where run() lost its patience.
  std::atomic<uint32_t>& lost() { return lost_; }

  // What close() writes and wakes sleepers by, for owners that cannot call it: 1 where the pool is closed,
  // and a number that grows.
  std::atomic<uint32_t>& closed() { return closed_; }
  std::atomic<uint32_t>& wake() { return wake_; }

 private:
  bool idle() const;
  void takeShares(size_t thread);
  void sleep();
  void awaitShares(uint32_t count);

  std::atomic<size_t> threads_{1};
  std::atomic<bool> eager_{false};
  std::atomic<uint64_t> patience_{kPatience};
  std::atomic<uint32_t> closed_{0};
  std::atomic<uint32_t> lost_{0};

  std::atomic<bool> busy_{false};
  // The loop at hand. It may change only while no share of it is left.
  std::atomic<size_t> count_{0};
  std::atomic<uint32_t> shares_{0};
  std::atomic<Call> call_{nullptr};
  std::atomic<const void*> body_{nullptr};

  // Above, the number of the loop; below, how many of its shares no thread has taken. Whoever lowers it has
  // read what belongs to that loop.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<uint32_t> done_{0};  // shares
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<uint32_t> wake_{0};
};

ThreadPool& threadPool();

}  // namespace ropewalk
