#include "attention/key_blocks.h"

#include <algorithm>

#include "kernels/transpose.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

constexpr size_t kWidth = kTileColumns;

// out [panelWidth(dim) / kWidth][kBlockKeys][kWidth] = the rows, zeros fill up.
void packValues(float* out, const float* rows, size_t stride, size_t count, size_t dim) {
  for (size_t d = 0; d < dim; d += kWidth) {
    for (size_t j = 0; j < count; ++j) {
      const float* from = rows + j * stride + d;
      for (size_t lane = 0; lane < kWidth; lane += kLanes) {
        const size_t left = dim - std::min(dim, d + lane);
        const f32x4 x =
            left >= kLanes ? simd::load(from + lane) : simd::loadN(left == 0 ? rows : from + lane, left);
        simd::store(out + j * kWidth + lane, x);
      }
    }
    out += kBlockKeys * kWidth;
  }
}

}  // namespace

void packPanels(float* out, const float* rows, size_t stride, size_t count, size_t dim) {
  for (size_t j = 0; j < count; j += kWidth) {
    const size_t columns = std::min(kWidth, count - j);
    transpose(out, kWidth, rows + j * stride, stride, columns, dim);
    for (size_t l = 0; l < dim; ++l) std::fill(out + l * kWidth + columns, out + (l + 1) * kWidth, 0.0f);
    out += dim * kWidth;
  }
}

Status KeyBlocks::allocate(const KeyView& k, HeadView<const float> v, bool read_again) {
  k_ = k;
  v_ = v;
  read_again_ = read_again;
  const size_t packed = read_again ? count() : 1;
  size_t keys = 0;
  size_t values = 0;
  if (!multiply(k.dim, kBlockKeys, &key_size_) || !multiply(panelWidth(v.dim), kBlockKeys, &value_size_) ||
      !multiply(packed, key_size_, &keys) || !multiply(packed, value_size_, &values)) {
    return Status::kOutOfMemory;
  }
  Status status = k.in_panels ? Status::kOk : keys_.allocate(keys);
  if (status == Status::kOk && copiesValues()) status = values_.allocate(values);
  if (status == Status::kOk && read_again) status = blocks_.allocate(packed);
  return status;
}

void KeyBlocks::startHead(size_t b, size_t g) {
  b_ = b;
  g_ = g;
  if (!read_again_) return;
  for (size_t n = 0; n < count(); ++n) blocks_[n] = pack(n, n);
}

KeyBlock KeyBlocks::block(size_t n) {
  return read_again_ ? blocks_[n] : pack(n, 0);
}

// Block n, what is copied of it as number `copy` of the copies.
KeyBlock KeyBlocks::pack(size_t n, size_t copy) {
  const size_t start = n * kBlockKeys;
  const size_t count = std::min(kBlockKeys, k_.tokens - start);
  KeyBlock block = {start, count, nullptr, 0, v_.row(b_, g_, start), kWidth, v_.token_stride};
  if (k_.in_panels) {
    block.keys = k_.row(b_, g_, 0) + start * k_.dim;  // whole panels from that of key 0 on
    block.lane = k_.lane;
  } else {
    float* const keys = keys_.data() + copy * key_size_;
    packPanels(keys, k_.row(b_, g_, start), k_.token_stride, count, k_.dim);
    block.keys = keys;
  }
  if (copiesValues()) {
    float* const values = values_.data() + copy * value_size_;
    packValues(values, block.values, block.value_stride, count, v_.dim);
    block.values = values;
    block.value_panel = kBlockKeys * kWidth;
    block.value_stride = kWidth;
  }
  return block;
}

}  // namespace ropewalk
