#include "attention/key_panels.h"

#include <algorithm>
#include <cstring>

#include "kernels/transpose.h"
#include "kernels/weight_format.h"

namespace ropewalk {
namespace {

constexpr size_t kWidth = kTileColumns;

// How many of `count` slots from `at` on lie in one panel.
size_t inPanel(size_t at, size_t count) {
  return std::min(count, kWidth - at % kWidth);
}

// Calls f(at, in_block, bytes) for the parts of a block: where that of lane 0 is in the block of a panel,
// where it is in the block of a file, and its bytes.
template <class F>
void eachPart(size_t lead, size_t block_bytes, F f) {
  f(size_t{0}, size_t{0}, lead);
  for (size_t i = lead; i < block_bytes; ++i) f(kWidth * i, i, size_t{1});
}

}  // namespace

Status KeyPanels::allocate(size_t batch, size_t heads, size_t slots, size_t dim, WeightType type) {
  const WeightFormat& format = formatOf(type);
  size_t all = 0;
  size_t slot_bytes = 0;
  if (slots > SIZE_MAX - kWidth || !multiply(batch, heads, &all) ||
      !multiply(format.blocks(dim), format.block_bytes, &slot_bytes) ||
      pages_.allocate(all, wholePanels(slots), slot_bytes) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  type_ = type;
  batch_ = batch;
  heads_ = heads;
  dim_ = dim;
  blocks_ = format.blocks(dim);
  block_bytes_ = format.block_bytes;
  lead_ = format.hasCodes() ? sizeof(uint16_t) : block_bytes_;
  clear(0);
  return Status::kOk;
}

Status KeyPanels::prepareGrowth(size_t slots, KeyPanels* grown) const {
  if (slots > SIZE_MAX - kWidth) return Status::kOutOfMemory;
  const Status status = pages_.prepareGrowth(wholePanels(slots), &grown->pages_);
  if (status != Status::kOk) return status;
  grown->type_ = type_;
  grown->batch_ = batch_;
  grown->heads_ = heads_;
  grown->dim_ = dim_;
  grown->blocks_ = blocks_;
  grown->block_bytes_ = block_bytes_;
  grown->lead_ = lead_;
  grown->clear(pages_.slots());
  return Status::kOk;
}

// Products go through whole panels, and what memory happened to hold could be slow to multiply.
void KeyPanels::clear(size_t first) {
  for (size_t slot = first; slot < pages_.slots();) {
    const size_t run = Pages::inPage(slot, pages_.slots() - slot);
    for (size_t n = 0; n < batch_ * heads_; ++n)
      std::memset(panelAt(n, slot), 0, run * blocks_ * block_bytes_);
    slot += run;
  }
}

void KeyPanels::putBlocks(size_t n, size_t slot, size_t first, size_t count, const unsigned char* blocks) {
  unsigned char* panel = panelAt(n, slot) + first * kWidth * block_bytes_;
  for (; count > 0; --count, panel += kWidth * block_bytes_, blocks += block_bytes_) {
    eachPart(lead_, block_bytes_, [&](size_t at, size_t in_block, size_t bytes) {
      std::memcpy(panel + at + slot % kWidth * bytes, blocks + in_block, bytes);
    });
  }
}

void KeyPanels::getBlocks(size_t n, size_t slot, size_t first, size_t count, unsigned char* blocks) const {
  const unsigned char* panel = panelAt(n, slot) + first * kWidth * block_bytes_;
  for (; count > 0; --count, panel += kWidth * block_bytes_, blocks += block_bytes_) {
    eachPart(lead_, block_bytes_, [&](size_t at, size_t in_block, size_t bytes) {
      std::memcpy(blocks + in_block, panel + at + slot % kWidth * bytes, bytes);
    });
  }
}

void KeyPanels::put(size_t at, HeadView<const float> rows) {
  const bool in_floats = type_ == WeightType::kFloat32;
  const WeightFormat& format = formatOf(type_);
  for (size_t n = 0; n < batch_ * heads_; ++n) {
    for (size_t t = 0; t < rows.tokens;) {
      const float* from = rows.row(n / heads_, n % heads_, t);
      const size_t count = in_floats ? inPanel(at + t, rows.tokens - t) : 1;
      if (in_floats) transpose(floatsAt(n, at + t), kWidth, from, rows.token_stride, count, dim_);
      for (size_t l = 0; !in_floats && l < dim_; l += kPiece) {
        unsigned char blocks[kPiece * sizeof(float)];
        const size_t size = std::min(kPiece, dim_ - l);
        methodsOf(type_).narrow(from + l, size, blocks);
        putBlocks(n, at + t, l / format.block, format.blocks(size), blocks);
      }
      t += count;
    }
  }
}

void KeyPanels::get(size_t at, HeadView<float> rows) const {
  const bool in_floats = type_ == WeightType::kFloat32;
  const WeightFormat& format = formatOf(type_);
  for (size_t n = 0; n < batch_ * heads_; ++n) {
    for (size_t t = 0; t < rows.tokens;) {
      float* to = rows.row(n / heads_, n % heads_, t);
      const size_t count = in_floats ? inPanel(at + t, rows.tokens - t) : 1;
      if (in_floats) transpose(to, rows.token_stride, floatsAt(n, at + t), kWidth, dim_, count);
      for (size_t l = 0; !in_floats && l < dim_; l += kPiece) {
        unsigned char blocks[kPiece * sizeof(float)];
        const size_t size = std::min(kPiece, dim_ - l);
        getBlocks(n, at + t, l / format.block, format.blocks(size), blocks);
        widen(type_, blocks, size, to + l);
      }
      t += count;
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
      unsigned char* to = panelAt(n, at + first);
      const unsigned char* keys = from.panelAt(n, from_slot + first);
      const size_t to_lane = (at + first) % kWidth;
      const size_t lane = (from_slot + first) % kWidth;
      if (run == kWidth) {
        std::memmove(to, keys, panelBytes());
      } else {
        for (size_t b = 0; b < blocks_; ++b, to += kWidth * block_bytes_, keys += kWidth * block_bytes_) {
          eachPart(lead_, block_bytes_, [&](size_t part, size_t, size_t bytes) {
            std::memmove(to + part + to_lane * bytes, keys + part + lane * bytes, run * bytes);
          });
        }
      }
      done += run;
    }
  }
}

StoredView KeyPanels::view(size_t at, size_t count) const {
  return {{nullptr, batch_, heads_, count, dim_}, type_, &pages_, at};
}

}  // namespace ropewalk
