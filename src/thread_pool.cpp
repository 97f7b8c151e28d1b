#include "thread_pool.h"

#include <algorithm>
#ifndef __EMSCRIPTEN__
#include <thread>
#endif

namespace ropewalk {
namespace {

// More than one for each thread, so that the others take over from one that is late.
constexpr size_t kSharesPerThread = 4;

// The most grains of a share, so that none takes longer than a fraction of a second: a thread that gives no
// sign for its owner's patience counts as ended.
constexpr size_t kMostGrains = size_t{1} << 14;

constexpr uint32_t leftOf(uint64_t ticket) {
  return static_cast<uint32_t>(ticket);
}

// kSpins: before a thread sleeps.
#ifdef __EMSCRIPTEN__
constexpr uint64_t kSpins = uint64_t{1} << 16;  // about 100 microseconds

void pause(uint64_t) {}
void wait(std::atomic<uint32_t>& word, uint32_t value) {
  __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&word), static_cast<int>(value), -1);
}
void notify(std::atomic<uint32_t>& word, uint32_t count) {
  __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&word), count);
}
#else
constexpr uint64_t kSpins = uint64_t{1} << 12;

// There may be fewer cores than threads.
void pause(uint64_t spins) {
  if (spins % 64 == 63) std::this_thread::yield();
}
void wait(std::atomic<uint32_t>& word, uint32_t value) {
  word.wait(value);
}
void notify(std::atomic<uint32_t>& word, uint32_t) {
  word.notify_all();
}
#endif

}  // namespace

ThreadPool& threadPool() {
  static constinit ThreadPool pool;
  return pool;
}

void ThreadPool::open(size_t threads, bool eager, uint64_t patience) {
  closed_.store(0);
  patience_.store(patience);
  eager_.store(eager);
  threads_.store(std::max<size_t>(1, threads));
}

void ThreadPool::close() {
  threads_.store(1);
  closed_.store(1);
  wake_.fetch_add(1);
  notify(wake_, UINT32_MAX);
}

size_t ThreadPool::shares(size_t count, size_t grain) const {
  const size_t fair = threads() * kSharesPerThread;
  if (fair == kSharesPerThread) return 1;
  if (eager_.load(std::memory_order_relaxed)) return std::min(fair, count);
  const size_t grains = count / grain;
  const size_t most = std::min(grains, std::max(fair, grains / kMostGrains));
  // As many for each thread: the last of three would keep one of two threads waiting.
  return most < threads() ? most : most - most % threads();
}

void ThreadPool::run(size_t count, size_t shares, Call call, const void* body) {
  if (busy_.exchange(true, std::memory_order_acquire)) return call(body, {0, count, 0});
  count_.store(count, std::memory_order_relaxed);
  shares_.store(static_cast<uint32_t>(shares), std::memory_order_relaxed);
  call_.store(call, std::memory_order_relaxed);
  body_.store(body, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  const uint64_t number = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  ticket_.store(number << 32 | shares);
  // A thread that counts itself among the sleepers later than this sees the ticket.
  if (sleepers_.load() != 0) {
    wake_.fetch_add(1);
    notify(wake_, static_cast<uint32_t>(shares - 1));
  }
  takeShares(0);
  awaitShares(static_cast<uint32_t>(shares));
  busy_.store(false, std::memory_order_release);
}

void ThreadPool::takeShares(size_t thread) {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (leftOf(ticket) != 0) {
    const size_t count = count_.load(std::memory_order_relaxed);
    const size_t shares = shares_.load(std::memory_order_relaxed);
    const Call call = call_.load(std::memory_order_relaxed);
    const void* body = body_.load(std::memory_order_relaxed);
    if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      continue;
    }
    const auto share = static_cast<size_t>(shares - leftOf(ticket));
    const size_t each = count / shares;
    const size_t longer = count % shares;
    const size_t first = share * each + std::min(share, longer);
    call(body, {first, first + each + (share < longer ? 1 : 0), thread});
    done_.fetch_add(1, std::memory_order_release);
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

void ThreadPool::awaitShares(uint32_t count) {
  const uint64_t patience = patience_.load(std::memory_order_relaxed);
  uint32_t done = 0;
  for (uint64_t spins = 0; done != count; ++spins) {
    pause(spins);
    if (const uint32_t now = done_.load(std::memory_order_acquire); now != done) {
      done = now;
      spins = 0;
    }
    if (spins == patience) lost_.store(UINT32_MAX);
    if (lost_.load(std::memory_order_relaxed) != 0) __builtin_trap();
  }
}

bool ThreadPool::idle() const {
  return leftOf(ticket_.load()) == 0 && closed_.load() == 0;
}

void ThreadPool::work(size_t thread) {
  while (closed_.load() == 0) {
    takeShares(thread);
    for (uint64_t spins = 0; spins < kSpins && idle(); ++spins) pause(spins);
    if (idle()) sleep();
  }
}

void ThreadPool::sleep() {
  const uint32_t seen = wake_.load();
  sleepers_.fetch_add(1);
  if (idle()) wait(wake_, seen);
  sleepers_.fetch_sub(1);
}

}  // namespace ropewalk
