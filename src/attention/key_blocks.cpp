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
  const simd::F16Constants constants;
  ROPEWALK_KEEP_LOOP
  for (size_t i = 0; i < n; i += kLanes) simd::store(out + i, simd::loadF16(halves + i, constants));
}

// out [count][dim][kWidth] = panels as attention/key_panels.h has them.
void widenPanels(WeightType type, const unsigned char* panels, size_t count, size_t dim, float* out) {
  const size_t numbers = count * dim * kWidth;
  if (type == WeightType::kFloat16) return widenHalves(panels, numbers, out);
  constexpr size_t kHeadBytes = kWidth * sizeof(uint16_t);
  constexpr size_t kCodes = Q8_0Format::kBlock * kWidth;
  const simd::F16Constants constants;
  for (size_t done = 0; done < numbers; done += kCodes) {
    uint16_t halves[kWidth];
    std::memcpy(halves, panels, kHeadBytes);
    const f32x4 scales[] = {simd::loadF16(halves, constants), simd::loadF16(halves + kLanes, constants)};
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

// How many of `count` rows from `start` on lie in one page.
size_t inPage(const StoredView& rows, size_t start, size_t count) {
  return rows.pages == nullptr ? count : Pages::inPage(rows.first + start, count);
}

// Whether blocks of these rows may begin in one page and end in another.
bool splits(const StoredView& rows) {
  return rows.first % kBlockKeys != 0 && inPage(rows, 0, rows.tokens) != rows.tokens;
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

Status KeyBlocks::allocate(const StoredView& k, const StoredView& v, bool read_again) {
  k_ = k;
  v_ = v;
  read_again_ = read_again && !widens();
  const size_t packed = read_again_ ? count() : 1;
  size_t keys = 0;
  size_t values = 0;
  if (!multiply(k.dim, k.pages == nullptr ? kBlockKeys : kScoreStride, &key_size_) ||
      !multiply(panelWidth(v.dim), kBlockKeys, &value_size_) || !multiply(packed, key_size_, &keys) ||
      !multiply(packed, value_size_, &values)) {
    return Status::kOutOfMemory;
  }
  Status status = Status::kOk;
  if (k.pages == nullptr || widens() || splits(k)) status = keys_.allocate(keys);
  if (status == Status::kOk && (widens() || copiesValues() || splits(v))) status = values_.allocate(values);
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
  return widens() ? widenBlock(n) : pack(n, 0);
}

KeyBlock KeyBlocks::widenBlock(size_t n) {
  const size_t start = n * kBlockKeys;
  const size_t count = std::min(kBlockKeys, k_.tokens - start);
  const size_t width = panelWidth(v_.dim);
  float* keys = keys_.data();
  for (size_t done = 0; done < count;) {
    const size_t run = inPage(k_, start + done, count - done);
    const size_t slot = k_.first + start + done;
    const size_t columns = panelWidth(slot % kWidth + run);
    widenPanels(k_.type, k_.pages->at(head(), slot - slot % kWidth), columns / kWidth, k_.dim, keys);
    keys += columns * k_.dim;
    done += run;
  }
  const auto widenRow = v_.type == WeightType::kFloat16 ? widenHalves : methodsOf(v_.type).widen;
  for (size_t j = 0; j < count; ++j) {
    float* const row = values_.data() + j * width;
    widenRow(v_.pages->at(head(), v_.first + start + j), v_.dim, row);
    std::fill(row + v_.dim, row + width, 0.0f);
  }
  return {start, count, keys_.data(), (k_.first + start) % kWidth, values_.data(), kWidth, width};
}

const float* KeyBlocks::values(size_t start) const {
  if (v_.pages == nullptr) return v_.row(b_, g_, start);
  return reinterpret_cast<const float*>(v_.pages->at(head(), v_.first + start));
}

// Block n, what is copied of it as number `copy` of the copies.
KeyBlock KeyBlocks::pack(size_t n, size_t copy) {
  const size_t start = n * kBlockKeys;
  const size_t count = std::min(kBlockKeys, k_.tokens - start);
  const size_t stride = v_.pages == nullptr ? v_.token_stride : v_.dim;
  KeyBlock block = {start, count, nullptr, 0, values(start), kWidth, stride};
  const size_t first = k_.first + start;
  const size_t paged = inPage(k_, start, count);  // keys before the end of their page
  if (k_.pages != nullptr && paged == count) {
    block.lane = first % kWidth;
    block.keys = reinterpret_cast<const float*>(k_.pages->at(head(), first - block.lane));
  } else {
    float* const keys = keys_.data() + copy * key_size_;
    block.keys = keys;
    if (k_.pages == nullptr) {
      packPanels(keys, k_.row(b_, g_, start), k_.token_stride, count, k_.dim);
    } else {
      block.lane = first % kWidth;
      const size_t before = (block.lane + paged) * k_.dim;
      std::memcpy(keys, k_.pages->at(head(), first - block.lane), before * sizeof(float));
      std::memcpy(keys + before, k_.pages->at(head(), first + paged),
                  panelWidth(count - paged) * k_.dim * sizeof(float));
    }
  }
  if (copiesValues() || inPage(v_, start, count) != count) {
    float* const packed = values_.data() + copy * value_size_;
    for (size_t done = 0; done < count;) {
      const size_t run = inPage(v_, start + done, count - done);
      packValues(packed + done * kWidth, values(start + done), block.value_stride, run, v_.dim);
      done += run;
    }
    block.values = packed;
    block.value_panel = kBlockKeys * kWidth;
    block.value_stride = kWidth;
  }
  return block;
}

}  // namespace ropewalk
