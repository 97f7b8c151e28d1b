#include "attention/key_blocks.h"

#include <algorithm>

#include "kernels/dots.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

constexpr size_t kWidth = kTileColumns;

// out[l][j] = rows[j][l] for four rows, l < dim; out's rows are kWidth apart.
void turnFourRows(float* out, const float* rows, size_t stride, size_t dim) {
  size_t l = 0;
  for (; l + kLanes <= dim; l += kLanes) {
    f32x4 x[kLanes];
    loadTurned(x, rows + l, stride);
    for (size_t i = 0; i < kLanes; ++i) simd::store(out + (l + i) * kWidth, x[i]);
  }
  for (; l < dim; ++l) {
    for (size_t j = 0; j < kLanes; ++j) out[l * kWidth + j] = rows[j * stride + l];
  }
}

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
    for (size_t half = j; half < j + kWidth; half += kLanes) {
      float* to = out + (half - j);
      if (half + kLanes <= count) {
        turnFourRows(to, rows + half * stride, stride, dim);
        continue;
      }
      for (size_t lane = 0; lane < kLanes; ++lane) {
        for (size_t l = 0; l < dim; ++l)
          to[l * kWidth + lane] = half + lane < count ? rows[(half + lane) * stride + l] : 0;
      }
    }
    out += dim * kWidth;
  }
}

Status KeyBlocks::allocate(HeadView<const float> k, HeadView<const float> v, KeyPacking packing) {
  k_ = k;
  v_ = v;
  packing_ = packing;
  const size_t packed = packing == KeyPacking::kHead ? count() : 1;
  size_t keys = 0;
  size_t values = 0;
  if (!multiply(k.dim, kBlockKeys, &key_size_) || !multiply(panelWidth(v.dim), kBlockKeys, &value_size_) ||
      !multiply(packed, key_size_, &keys) || !multiply(packed, value_size_, &values)) {
    return Status::kOutOfMemory;
  }
  Status status = packing == KeyPacking::kNone ? Status::kOk : keys_.allocate(keys);
  if (status == Status::kOk && copiesValues()) status = values_.allocate(values);
  if (status == Status::kOk && packing == KeyPacking::kHead) status = blocks_.allocate(packed);
  return status;
}

void KeyBlocks::startHead(size_t b, size_t g) {
  b_ = b;
  g_ = g;
  if (packing_ != KeyPacking::kHead) return;
  for (size_t n = 0; n < count(); ++n)
    blocks_[n] = pack(n, keys_.data() + n * key_size_, values_.data() + n * value_size_);
}

KeyBlock KeyBlocks::block(size_t n) {
  return packing_ == KeyPacking::kHead ? blocks_[n] : pack(n, keys_.data(), values_.data());
}

KeyBlock KeyBlocks::pack(size_t n, float* keys, float* values) const {
  const size_t start = n * kBlockKeys;
  const size_t count = std::min(kBlockKeys, k_.tokens - start);
  KeyBlock block = {start,           count,          k_.row(b_, g_, start),
                    k_.token_stride, nullptr,        v_.row(b_, g_, start),
                    kWidth,          v_.token_stride};
  if (packing_ != KeyPacking::kNone) {
    packPanels(keys, block.rows, block.row_stride, count, k_.dim);
    block.keys = keys;
  }
  if (copiesValues()) {
    packValues(values, block.values, block.value_stride, count, v_.dim);
    block.values = values;
    block.value_panel = kBlockKeys * kWidth;
    block.value_stride = kWidth;
  }
  return block;
}

}  // namespace ropewalk
