#include "attention/key_panels.h"

#include <algorithm>
#include <cstring>

#include "kernels/transpose.h"

namespace ropewalk {
namespace {

constexpr size_t kWidth = kTileColumns;

// How many of `count` slots from `at` on lie in one panel.
size_t inPanel(size_t at, size_t count) {
  return std::min(count, kWidth - at % kWidth);
}

}  // namespace

Status KeyPanels::allocate(size_t batch, size_t heads, size_t slots, size_t dim) {
  const size_t panels = slots / kWidth + (slots % kWidth == 0 ? 0 : 1);
  size_t size = 0;
  if (!multiply(batch, heads, &size) || !multiply(size, panels, &size) || !multiply(size, kWidth, &size) ||
      !multiply(size, dim, &size) || data_.allocate(size) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  // Products go through whole panels, and what memory happened to hold could be slow to multiply.
  std::fill_n(data_.data(), size, 0.0f);
  batch_ = batch;
  heads_ = heads;
  panels_ = panels;
  dim_ = dim;
  return Status::kOk;
}

void KeyPanels::put(size_t at, HeadView<const float> rows) {
  for (size_t b = 0; b < batch_; ++b) {
    for (size_t h = 0; h < heads_; ++h) {
      for (size_t t = 0; t < rows.tokens;) {
        const size_t count = inPanel(at + t, rows.tokens - t);
        transpose(key(b * heads_ + h, at + t), kWidth, rows.row(b, h, t), rows.token_stride, count, dim_);
        t += count;
      }
    }
  }
}

void KeyPanels::get(size_t at, HeadView<float> rows) const {
  for (size_t b = 0; b < batch_; ++b) {
    for (size_t h = 0; h < heads_; ++h) {
      for (size_t t = 0; t < rows.tokens;) {
        const size_t count = inPanel(at + t, rows.tokens - t);
        transpose(rows.row(b, h, t), rows.token_stride, key(b * heads_ + h, at + t), kWidth, dim_, count);
        t += count;
      }
    }
  }
}

void KeyPanels::copy(size_t at, const KeyPanels& from, size_t from_slot, size_t count) {
  const bool backwards =
      this == &from && at > from_slot;  // or keys would be written over before they are read
  for (size_t n = 0; n < batch_ * heads_; ++n) {
    for (size_t done = 0; done < count;) {
      // Keys that lie in one panel here and there: the next, or the last of those left.
      const size_t left = count - done;
      const size_t run =
          backwards ? std::min({left, (from_slot + left - 1) % kWidth + 1, (at + left - 1) % kWidth + 1})
                    : std::min(inPanel(from_slot + done, left), inPanel(at + done, left));
      const size_t first = backwards ? left - run : done;
      float* const to = key(n, at + first);
      const float* const keys = from.key(n, from_slot + first);
      if (run == kWidth) {
        std::memmove(to, keys, kWidth * dim_ * sizeof(float));
      } else {
        for (size_t d = 0; d < dim_; ++d)
          std::memmove(to + d * kWidth, keys + d * kWidth, run * sizeof(float));
      }
      done += run;
    }
  }
}

KeyView KeyPanels::view(size_t at, size_t count) const {
  const size_t lane = at % kWidth;
  return {{data_.data() + (at - lane) * dim_, batch_, heads_, count, dim_, heads_ * headStride(),
           headStride(), dim_},
          lane};
}

}  // namespace ropewalk
