#include "memory.h"

#include <cstdint>
#include <utility>

#include "catch.h"

#if defined(__SANITIZE_ADDRESS__)
#define ROPEWALK_TEST_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROPEWALK_TEST_ASAN
#endif
#endif

#if defined(ROPEWALK_TEST_ASAN)
// An allocation that is too large answers null, as it does without the sanitizer.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
#endif

namespace ropewalk::test {

TEST_CASE("Allocations are aligned and writable to the end", "[memory]") {
  for (size_t bytes = 0; bytes < 300; ++bytes) {
    auto* p = static_cast<unsigned char*>(alignedAllocate(bytes));
    REQUIRE(p != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(p) % kAlignment == 0);
    for (size_t i = 0; i < bytes; ++i) p[i] = 1;
    alignedFree(p);
  }
  alignedFree(nullptr);
}

TEST_CASE("An allocation that cannot be made answers null", "[memory]") {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - kAlignment, SIZE_MAX / 2 + 1}) {
    CHECK(alignedAllocate(bytes) == nullptr);
  }
}

TEST_CASE("A buffer keeps what it holds when it cannot grow", "[memory]") {
  Buffer<double> buffer;
  REQUIRE(buffer.allocate(3) == Status::kOk);
  buffer[2] = 7;
  const double* data = buffer.data();
  CHECK(buffer.allocate(SIZE_MAX) == Status::kOutOfMemory);  // the product with the size overflows
  CHECK(buffer.allocate(SIZE_MAX / sizeof(double)) == Status::kOutOfMemory);
  CHECK(buffer.reserve(SIZE_MAX / sizeof(double)) == Status::kOutOfMemory);
  CHECK(buffer.allocate(SIZE_MAX / 2 + 1, 2) == Status::kOutOfMemory);  // the product of both is 0
  CHECK(buffer.reserve(SIZE_MAX / 2 + 1, 2) == Status::kOutOfMemory);
  CHECK(buffer.data() == data);
  CHECK(buffer.size() == 3);
  CHECK(buffer[2] == 7);
}

TEST_CASE("A buffer reserves by allocating only where it has to", "[memory]") {
  Buffer<int> buffer;
  REQUIRE(buffer.reserve(0) == Status::kOk);
  REQUIRE(buffer.reserve(5) == Status::kOk);
  buffer[4] = 1;
  const int* data = buffer.data();
  CHECK(buffer.reserve(2) == Status::kOk);
  CHECK(buffer.data() == data);
  CHECK(buffer.size() == 5);
  CHECK(buffer.reserve(6) == Status::kOk);
  CHECK(buffer.size() == 6);
  CHECK(buffer.reserve(3, 2) == Status::kOk);
  CHECK(buffer.size() == 6);
  CHECK(buffer.reserve(3, 3) == Status::kOk);
  CHECK(buffer.size() == 9);
  CHECK(buffer.allocate(2, 4) == Status::kOk);
  CHECK(buffer.size() == 8);
}

TEST_CASE("A buffer's contents move", "[memory]") {
  Buffer<int> a;
  REQUIRE(a.allocate(2) == Status::kOk);
  a[0] = 1;
  const int* data = a.data();
  Buffer<int> b(std::move(a));
  CHECK(b.data() == data);
  CHECK(a.data() == nullptr);  // NOLINT(bugprone-use-after-move): empty is what a moved-from buffer promises
  CHECK(a.size() == 0);
  REQUIRE(a.allocate(9) == Status::kOk);
  a = std::move(b);
  CHECK(a.data() == data);
  CHECK(a.size() == 2);
  Buffer<int>& same = a;
  a = std::move(same);
  CHECK(a.data() == data);
}

TEST_CASE("multiply refuses a product that does not fit", "[memory]") {
  size_t product = 0;
  CHECK(multiply(6, 7, &product));
  CHECK(product == 42);
  CHECK(multiply(SIZE_MAX, 1, &product));
  CHECK(product == SIZE_MAX);
  CHECK(multiply(SIZE_MAX, 0, &product));
  CHECK(product == 0);
  CHECK(!multiply(SIZE_MAX, 2, &product));
  CHECK(!multiply(SIZE_MAX / 2 + 1, 2, &product));
  CHECK(multiply(SIZE_MAX / 2, 2, &product));
}

}  // namespace ropewalk::test
