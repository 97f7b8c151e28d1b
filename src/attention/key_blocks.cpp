#include "attention/key_blocks.h"

#include <algorithm>

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
    const f32x4 a = simd::load(rows + l);
    const f32x4 b = simd::load(rows + stride + l);
    const f32x4 c = simd::load(rows + 2 * stride + l);
    const f32x4 d = simd::load(rows + 3 * stride + l);
    const f32x4 ac_low = simd::zipLow(a, c);
    const f32x4 ac_high = simd::zipHigh(a, c);
    const f32x4 bd_low = simd::zipLow(b, d);
    const f32x4 bd_high = simd::zipHigh(b, d);
    float* to = out + l * kWidth;
    simd::store(to, simd::zipLow(ac_low, bd_low));
    simd::store(to + kWidth, simd::zipHigh(ac_low, bd_low));
    simd::store(to + 2 * kWidth, simd::zipLow(ac_high, bd_high));
    simd::store(to + 3 * kWidth, simd::zipHigh(ac_high, bd_high));
  }
  for (; l < dim; ++l) {
    for (size_t j = 0; j < kLanes; ++j) out[l * kWidth + j] = rows[j * stride + l];
  }
}

// x - x is 0 for numbers and NaN for the rest, and a sum of zeros stays 0.
class FiniteCheck {
 public:
  void add(f32x4 x) { sum_ = simd::add(sum_, simd::sub(x, x)); }
  bool passed() const { return simd::sum(sum_) == 0; }

 private:
  f32x4 sum_ = simd::splat(0);
};

bool allFinite(const float* rows, size_t stride, size_t count, size_t dim) {
  FiniteCheck check;
  for (size_t j = 0; j < count; ++j) {
    for (size_t d = 0; d < dim; d += kLanes) check.add(simd::load(rows + j * stride + d));
  }
  return check.passed();
}

// out [panelWidth(dim) / kWidth][kBlockKeys][kWidth]; whether all are finite.
bool packValues(float* out, const float* rows, size_t stride, size_t count, size_t dim) {
  FiniteCheck check;
  for (size_t d = 0; d < dim; d += kWidth) {
    for (size_t j = 0; j < count; ++j) {
      const float* from = rows + j * stride + d;
      for (size_t lane = 0; lane < kWidth; lane += kLanes) {
        const size_t left = dim - std::min(dim, d + lane);
        const f32x4 x =
            left >= kLanes ? simd::load(from + lane) : simd::loadN(left == 0 ? rows : from + lane, left);
        simd::store(out + j * kWidth + lane, x);
        check.add(x);
      }
    }
    out += kBlockKeys * kWidth;
  }
  return check.passed();
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

Status KeyBlocks::allocate(HeadView<const float> k, HeadView<const float> v, bool whole) {
  k_ = k;
  v_ = v;
  whole_ = whole;
  const size_t packed = whole ? count() : 1;
  size_t keys = 0;
  size_t values = 0;
  if (!multiply(k.dim, kBlockKeys, &key_size_) || !multiply(panelWidth(v.dim), kBlockKeys, &value_size_) ||
      !multiply(packed, key_size_, &keys) || !multiply(packed, value_size_, &values)) {
    return Status::kOutOfMemory;
  }
  Status status = keys_.allocate(keys);
  if (status == Status::kOk) status = values_.allocate(values);
  if (status == Status::kOk && whole) status = blocks_.allocate(packed);
  return status;
}

void KeyBlocks::startHead(size_t b, size_t g) {
  b_ = b;
  g_ = g;
  if (!whole_) return;
  for (size_t n = 0; n < count(); ++n)
    blocks_[n] = pack(n, keys_.data() + n * key_size_, values_.data() + n * value_size_);
}

KeyBlock KeyBlocks::block(size_t n) {
  return whole_ ? blocks_[n] : pack(n, keys_.data(), values_.data());
}

KeyBlock KeyBlocks::pack(size_t n, float* keys, float* values) const {
  const size_t start = n * kBlockKeys;
  const size_t count = std::min(kBlockKeys, k_.tokens - start);
  packPanels(keys, k_.row(b_, g_, start), k_.token_stride, count, k_.dim);
  const float* rows = v_.row(b_, g_, start);
  if (!whole_ && v_.dim % kWidth == 0) {
    // Read once or twice: where they lie.
    const bool finite = allFinite(rows, v_.token_stride, count, v_.dim);
    return {start, count, keys, rows, kWidth, v_.token_stride, finite};
  }
  const bool finite = packValues(values, rows, v_.token_stride, count, v_.dim);
  return {start, count, keys, values, kBlockKeys * kWidth, kWidth, finite};
}

}  // namespace ropewalk
