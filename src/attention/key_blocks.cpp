#include "attention/key_blocks.h"

#include <algorithm>
#include <cstring>

#include "kernels/transpose.h"
#include "kernels/weight_format.h"
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

// out = n float16 numbers at an even address.
void widenHalves(const unsigned char* from, size_t n, float* out) {
  if (n % kLanes != 0) return widen(WeightType::kFloat16, from, n, out);
  const auto* halves = reinterpret_cast<const uint16_t*>(from);
  ROPEWALK_KEEP_LOOP
  for (size_t i = 0; i < n; i += kLanes) simd::store(out + i, simd::loadF16(halves + i));
}

// out [count][dim][kWidth] = panels as attention/key_panels.h has them.
void widenPanels(WeightType type, const unsigned char* panels, size_t count, size_t dim, float* out) {
  const size_t numbers = count * dim * kWidth;
  if (type == WeightType::kFloat16) return widenHalves(panels, numbers, out);
  constexpr size_t kHeadBytes = kWidth * sizeof(uint16_t);
  constexpr size_t kCodes = Q8_0Format::kBlock * kWidth;
  for (size_t done = 0; done < numbers; done += kCodes) {
    uint16_t halves[kWidth];
    std::memcpy(halves, panels, kHeadBytes);
    const f32x4 scales[] = {simd::loadF16(halves), simd::loadF16(halves + kLanes)};
    const auto* codes = reinterpret_cast<const int8_t*>(panels + kHeadBytes);
    ROPEWALK_KEEP_LOOP
    for (size_t i = 0; i < kCodes; i += 2 * kWidth) {
      f32x4 x[2 * kWidth / kLanes];
      simd::loadI8(codes + i, x);
      for (size_t v = 0; v < 2 * kWidth / kLanes; ++v)
        simd::store(out + i + v * kLanes, simd::mul(x[v], scales[v % 2]));
    }
    panels += kHeadBytes + kCodes;
    out += kCodes;
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

Status KeyBlocks::allocate(const KeyView& k, const StoredView& v, bool read_again) {
  k_ = k;
  v_ = v;
  const bool stored = k.stored != nullptr;
  read_again_ = read_again && !stored;
  const size_t packed = read_again_ ? count() : 1;
  size_t keys = 0;
  size_t values = 0;
  if (!multiply(k.dim, stored ? kScoreStride : kBlockKeys, &key_size_) ||
      !multiply(panelWidth(v.dim), kBlockKeys, &value_size_) || !multiply(packed, key_size_, &keys) ||
      !multiply(packed, value_size_, &values)) {
    return Status::kOutOfMemory;
  }
  Status status = k.in_panels && !stored ? Status::kOk : keys_.allocate(keys);
  if (status == Status::kOk && (stored || copiesValues())) status = values_.allocate(values);
  if (status == Status::kOk && read_again_) status = blocks_.allocate(packed);
  return status;
}

void KeyBlocks::startHead(size_t b, size_t g) {
  b_ = b;
  g_ = g;
  if (!read_again_) return;
  for (size_t n = 0; n < count(); ++n) blocks_[n] = pack(n, n);
}

KeyBlock KeyBlocks::block(size_t n) {
  if (read_again_) return blocks_[n];
  return k_.stored != nullptr ? widenBlock(n) : pack(n, 0);
}

KeyBlock KeyBlocks::widenBlock(size_t n) {
  const size_t start = n * kBlockKeys;
  const size_t count = std::min(kBlockKeys, k_.tokens - start);
  const size_t width = panelWidth(v_.dim);
  widenPanels(k_.type, k_.storedRow(b_, g_, start), panelWidth(k_.lane + count) / kWidth, k_.dim,
              keys_.data());
  const auto widenRow = v_.type == WeightType::kFloat16 ? widenHalves : methodsOf(v_.type).widen;
  for (size_t j = 0; j < count; ++j) {
    float* const row = values_.data() + j * width;
    widenRow(v_.storedRow(b_, g_, start + j), v_.dim, row);
    std::fill(row + v_.dim, row + width, 0.0f);
  }
  return {start, count, keys_.data(), k_.lane, values_.data(), kWidth, width};
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
