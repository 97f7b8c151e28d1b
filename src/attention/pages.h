// Memory of a KV cache in pages, so that a cache that grows leaves what it holds where it lies: a copy beside
// the original would end at a third of the heap. All pages but the last have kPageSlots slots for each head.
#pragma once

#include <algorithm>
#include <cstddef>

#include "memory.h"
#include "status.h"

namespace ropewalk {

inline constexpr size_t kPageSlots = 4096;  // a multiple of kBlockKeys

// [pages][heads][slots] of slot_bytes. Owned; moves, never copies.
class Pages {
 public:
  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();

  // Undefined contents; what was held before is gone only if this succeeds.
  Status allocate(size_t heads, size_t slots, size_t slot_bytes);
  // Makes in *grown what these pages lack to have so many slots, more than they have: moveTo() does the rest.
  // Nothing is changed here.
  Status prepareGrowth(size_t slots, Pages* grown) const;
  // These pages go to *grown.
  void moveTo(Pages* grown);

  bool empty() const { return count_ == 0; }
  size_t slots() const { return slots_; }
  size_t bytes() const { return heads_ * slots_ * slot_bytes_; }

  // Slots of one head follow each other up to the end of their page.
  unsigned char* at(size_t head, size_t slot);
  const unsigned char* at(size_t head, size_t slot) const;
  // How many of `count` slots from `slot` on lie in one page.
  static size_t inPage(size_t slot, size_t count) { return std::min(count, kPageSlots - slot % kPageSlots); }

  // Copies slots of these or other pages of the same heads, which may overlap.
  void copy(size_t to, const Pages& from, size_t first, size_t count);

 private:
  // Not a bare pointer, because clang-tidy reports the size of one in a Buffer as a mistake.
  struct Page {
    unsigned char* data = nullptr;
  };

  size_t slotsOf(size_t page) const { return std::min(kPageSlots, slots_ - page * kPageSlots); }
  void swap(Pages& other) noexcept;

  Buffer<Page> pages_;
  size_t count_ = 0;
  size_t heads_ = 0;
  size_t slots_ = 0;  // of a head, on all pages
  size_t slot_bytes_ = 0;
};

}  // namespace ropewalk
