#include "attention/pages.h"

#include <cstring>
#include <utility>

namespace ropewalk {

Pages::Pages(Pages&& other) noexcept {
  swap(other);
}

Pages& Pages::operator=(Pages&& other) noexcept {
  Pages taken(std::move(other));
  swap(taken);
  return *this;
}

Pages::~Pages() {
  for (size_t page = 0; page < count_; ++page) alignedFree(pages_[page].data);
}

void Pages::swap(Pages& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(count_, other.count_);
  std::swap(heads_, other.heads_);
  std::swap(slots_, other.slots_);
  std::swap(slot_bytes_, other.slot_bytes_);
}

const unsigned char* Pages::at(size_t head, size_t slot) const {
  const size_t page = slot / kPageSlots;
  return pages_[page].data + (head * slotsOf(page) + slot % kPageSlots) * slot_bytes_;
}

unsigned char* Pages::at(size_t head, size_t slot) {
  return const_cast<unsigned char*>(static_cast<const Pages*>(this)->at(head, slot));
}

Status Pages::allocate(size_t heads, size_t slots, size_t slot_bytes) {
  Pages none;
  none.heads_ = heads;
  none.slot_bytes_ = slot_bytes;
  Pages made;
  const Status status = none.prepareGrowth(slots, &made);
  if (status == Status::kOk) swap(made);
  return status;
}

Status Pages::prepareGrowth(size_t slots, Pages* grown) const {
  const size_t whole = slots_ / kPageSlots;  // pages that stay
  const size_t count = slots / kPageSlots + (slots % kPageSlots == 0 ? 0 : 1);
  size_t bytes = 0;
  if (!multiply(slots, heads_, &bytes) || !multiply(bytes, slot_bytes_, &bytes)) return Status::kOutOfMemory;
  const size_t first = whole * kPageSlots;
  const size_t added = bytes - first * heads_ * slot_bytes_;
  // Many pages at once are tried as one piece first: what no memory holds is refused before it is full of
  // pages.
  void* const probe = alignedAllocate(count - whole > 1 ? added : 0);
  if (probe == nullptr) return Status::kOutOfMemory;
  alignedFree(probe);
  Pages made;
  if (made.pages_.allocate(count) != Status::kOk) return Status::kOutOfMemory;
  std::fill_n(made.pages_.data(), count, Page{});
  made.count_ = count;
  made.heads_ = heads_;
  made.slots_ = slots;
  made.slot_bytes_ = slot_bytes_;
  for (size_t page = whole; page < count; ++page) {
    auto* const data =
        static_cast<unsigned char*>(alignedAllocate(heads_ * made.slotsOf(page) * slot_bytes_));
    if (data == nullptr) return Status::kOutOfMemory;
    made.pages_[page].data = data;
  }
  made.copy(first, *this, first, slots_ - first);
  *grown = std::move(made);
  return Status::kOk;
}

void Pages::moveTo(Pages* grown) {
  for (size_t page = 0; page < slots_ / kPageSlots; ++page) std::swap(grown->pages_[page], pages_[page]);
}

void Pages::copy(size_t to, const Pages& from, size_t first, size_t count) {
  const bool backwards = this == &from && to > first;  // or slots would be written over before they are read
  for (size_t done = 0; done < count;) {
    // What lies in one page here and there: the next, or the last of those left.
    const size_t left = count - done;
    const size_t run =
        backwards ? std::min({left, (first + left - 1) % kPageSlots + 1, (to + left - 1) % kPageSlots + 1})
                  : std::min(inPage(first + done, left), inPage(to + done, left));
    const size_t begin = backwards ? left - run : done;
    for (size_t head = 0; head < heads_; ++head)
      std::memmove(at(head, to + begin), from.at(head, first + begin), run * slot_bytes_);
    done += run;
  }
}

}  // namespace ropewalk
