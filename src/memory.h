// Memory for data whose size a caller chooses: aligned for vectors, and an allocation that can fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "status.h"

namespace ropewalk {

inline constexpr size_t kAlignment = 64;  // a cache line, and every vector width in use

// Null when memory is short or bytes is too large to round up to the alignment. Size 0 gives a pointer too.
[[nodiscard]] void* alignedAllocate(size_t bytes);
void alignedFree(void* p);

// a * b, or false where it does not fit.
[[nodiscard]] inline bool multiply(size_t a, size_t b, size_t* product) {
  if (b != 0 && a > SIZE_MAX / b) return false;
  *product = a * b;
  return true;
}

// An array of n numbers, owned. Moves, never copies; holds nothing after a failed allocate.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
    other.size_ = 0;
  }
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      alignedFree(data_);
      data_ = other.data_;
      size_ = other.size_;
      other.data_ = nullptr;
      other.size_ = 0;
    }
    return *this;
  }
  ~Buffer() { alignedFree(data_); }

  // n elements with undefined contents; what was held before is gone only if this succeeds.
  Status allocate(size_t n) {
    if (n > SIZE_MAX / sizeof(T)) return Status::kOutOfMemory;
    void* p = alignedAllocate(n * sizeof(T));
    if (p == nullptr) return Status::kOutOfMemory;
    alignedFree(data_);
    data_ = static_cast<T*>(p);
    size_ = n;
    return Status::kOk;
  }

  // The same for a * b elements, a product that may not fit.
  Status allocate(size_t a, size_t b) {
    size_t n = 0;
    return multiply(a, b, &n) ? allocate(n) : Status::kOutOfMemory;
  }

  // At least n elements; the contents are kept only if nothing had to be allocated.
  Status reserve(size_t n) { return n <= size_ ? Status::kOk : allocate(n); }
  Status reserve(size_t a, size_t b) {
    size_t n = 0;
    return multiply(a, b, &n) ? reserve(n) : Status::kOutOfMemory;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace ropewalk
