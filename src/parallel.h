// Splits loops over the threads of the pool. Iterations must not depend on each other: they are never parts
// of one sum, so that results have the same bits with any number of threads. Builds without threads run the
// body at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "memory.h"
#include "share.h"
#include "status.h"
#ifdef ROPEWALK_THREADS
#include <memory>

#include "thread_pool.h"
#endif

namespace ropewalk {

#ifdef ROPEWALK_THREADS
inline constexpr bool kHasThreads = true;
#else
inline constexpr bool kHasThreads = false;
#endif

// Multiplications that are worth another thread's while: about 10 microseconds.
inline constexpr size_t kShareWork = size_t{1} << 18;

// The least iterations of a share, where each takes the time of that many multiplications: the product of the
// factors, which size_t need not hold.
template <class... Factors>
size_t grainOf(Factors... factors) {
  uint64_t work = 1;
  ((work = std::min<uint64_t>(work * factors, kShareWork)), ...);
  return kShareWork / std::max<uint64_t>(1, work);
}

// How many threads, numbered from 0, parallelFor of the same count and grain may call its body on.
inline size_t threadsFor([[maybe_unused]] size_t count, [[maybe_unused]] size_t grain) {
#ifdef ROPEWALK_THREADS
  if (threadPool().shares(count, grain) > 1) return threadPool().threads();
#endif
  return 1;
}

// body(share) for shares of 0 ... count - 1 of at least `grain` iterations, in any order and at the same
// time; all at once where that is too few to share. The body neither allocates nor changes what another
// iteration reads; within it, parallelFor calls its body at once.
template <class Body>
void parallelFor(size_t count, [[maybe_unused]] size_t grain, const Body& body) {
  if (count == 0) return;
#ifdef ROPEWALK_THREADS
  if (const size_t shares = threadPool().shares(count, grain); shares > 1) {
    const auto call = [](const void* of, const Share& share) { (*static_cast<const Body*>(of))(share); };
    return threadPool().run(count, shares, call, &body);
  }
#endif
  body(Share{0, count, 0});
}

// What each thread works with, made before a parallelFor: one for each that threadsFor() counts.
template <class T>
class PerThread {
 public:
  PerThread() = default;
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

#ifdef ROPEWALK_THREADS
  ~PerThread() { std::destroy_n(items(), count_); }

  // Makes `count` of T(arguments...), once.
  template <class... Arguments>
  Status create(size_t count, const Arguments&... arguments) {
    if (memory_.allocate(count, sizeof(T)) != Status::kOk) return Status::kOutOfMemory;
    for (; count_ < count; ++count_) std::construct_at(items() + count_, arguments...);
    return Status::kOk;
  }
  T& operator[](size_t thread) { return items()[thread]; }
  size_t size() const { return count_; }

 private:
  T* items() { return reinterpret_cast<T*>(memory_.data()); }

  Buffer<unsigned char> memory_;
  size_t count_ = 0;
#else
  template <class... Arguments>
  Status create(size_t, const Arguments&... arguments) {
    one_.emplace(arguments...);
    return Status::kOk;
  }
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): create() comes first
  T& operator[](size_t) { return *one_; }
  size_t size() const { return 1; }

 private:
  std::optional<T> one_;
#endif
};

}  // namespace ropewalk
