#include "kernels/packed_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace ropewalk {
namespace {

constexpr size_t kChunk = 256;  // weights of a row that are converted at a time
constexpr float kSmallestScale = std::numeric_limits<float>::min();

// Whether a stored type can make infinity of a finite number of type `from`, or cannot hold infinity.
bool mayNotFit(WeightType from, WeightType stored) {
  switch (stored) {
    case WeightType::kFloat32:
      return false;
    case WeightType::kFloat16:
      return from != WeightType::kFloat16;
    case WeightType::kBfloat16:
      return from == WeightType::kFloat32;
    case WeightType::kInt8:
      return true;
  }
  return true;
}

bool fitsIn(WeightType stored, float x) {
  if (stored == WeightType::kInt8) return std::isfinite(x);
  if (!std::isfinite(x)) return true;
  if (stored == WeightType::kFloat16) return (narrowToFloat16(x) & 0x7fff) != 0x7c00;
  return (narrowToBfloat16(x) & 0x7fff) != 0x7f80;
}

// out = count <= kChunk numbers that stand `stride` apart, widened.
void gather(WeightType type, const unsigned char* from, size_t stride, size_t count, float* out) {
  if (stride == 1) return widen(type, from, count, out);
  unsigned char chunk[kChunk * sizeof(float)];
  const size_t bytes = bytesOf(type);
  for (size_t i = 0; i < count; ++i) std::memcpy(chunk + i * bytes, from + i * stride * bytes, bytes);
  widen(type, chunk, count, out);
}

// The int8 scale of a row whose largest magnitude this is. The quotient may be rounded up, and 127 times it
// must not become infinite.
float scaleFor(float largest) {
  if (largest == 0) return 0;
  const float scale = std::max(largest / 127, kSmallestScale);
  return std::isfinite(scale * 127) ? scale : std::nextafter(scale, 0.0f);
}

}  // namespace

// Weights as the caller holds them. Strides in numbers.
struct PackedMatrix::Source {
  WeightType type;
  const unsigned char* data;
  size_t row_stride;
  size_t stride;

  // out = count <= kChunk weights of a row, from input l on.
  void read(size_t row, size_t l, size_t count, float* out) const {
    const size_t bytes = bytesOf(type);
    gather(type, data + (row * row_stride + l * stride) * bytes, stride, count, out);
  }
};

Status PackedMatrix::allocate(size_t n, size_t k, WeightType stored) {
  const size_t panels = n / kPanel + (n % kPanel != 0 ? 1 : 0);
  size_t rows = 0;
  size_t size = 0;
  if (!multiply(panels, kPanel, &rows) || !multiply(rows, k, &size) ||
      !multiply(size, bytesOf(stored), &size)) {
    return Status::kOutOfMemory;
  }
  Buffer<unsigned char> data;
  Buffer<float> scales;
  if (data.allocate(size) != Status::kOk ||
      (stored == WeightType::kInt8 && scales.allocate(rows) != Status::kOk)) {
    return Status::kOutOfMemory;
  }
  std::fill_n(data.data(), size, static_cast<unsigned char>(0));
  std::fill_n(scales.data(), scales.size(), 0.0f);
  data_ = std::move(data);
  scales_ = std::move(scales);
  n_ = n;
  k_ = k;
  type_ = stored;
  finite_ = true;
  return Status::kOk;
}

Status PackedMatrix::packRows(size_t first, size_t count, WeightType from, const void* w) {
  if (first > n_ || count > n_ - first) return Status::kInvalidShape;
  if (from == WeightType::kInt8) return Status::kInvalidArgument;
  const Source source = {from, static_cast<const unsigned char*>(w), k_, 1};
  if (!fits(source, count)) return Status::kInvalidArgument;
  fill(first, count, source);
  return Status::kOk;
}

Status PackedMatrix::pack(WeightType from, const void* w, size_t n, size_t k, WeightType stored,
                          WeightLayout layout) {
  if (from == WeightType::kInt8) return Status::kInvalidArgument;
  PackedMatrix packed;
  const Status status = packed.allocate(n, k, stored);
  if (status != Status::kOk) return status;
  const bool transposed = layout == WeightLayout::kInOut;
  const Source source = {from, static_cast<const unsigned char*>(w), transposed ? 1 : k, transposed ? n : 1};
  if (!packed.fits(source, n)) return Status::kInvalidArgument;
  packed.fill(0, n, source);
  *this = std::move(packed);
  return Status::kOk;
}

bool PackedMatrix::fits(const Source& source, size_t count) const {
  if (!mayNotFit(source.type, type_)) return true;
  float values[kChunk];
  for (size_t r = 0; r < count; ++r) {
    for (size_t l = 0; l < k_; l += kChunk) {
      const size_t size = std::min(kChunk, k_ - l);
      source.read(r, l, size, values);
      for (size_t i = 0; i < size; ++i) {
        if (!fitsIn(type_, values[i])) return false;
      }
    }
  }
  return true;
}

// Writes the rows panel by panel, a chunk of inputs at a time, so that what is written stays in the cache.
void PackedMatrix::fill(size_t first, size_t count, const Source& source) {
  float values[kChunk];
  if (type_ == WeightType::kInt8) {
    for (size_t r = 0; r < count; ++r) {
      float largest = 0;
      for (size_t l = 0; l < k_; l += kChunk) {
        const size_t size = std::min(kChunk, k_ - l);
        source.read(r, l, size, values);
        for (size_t i = 0; i < size; ++i) largest = std::max(largest, std::fabs(values[i]));
      }
      scales_[first + r] = scaleFor(largest);
    }
  }
  for (size_t r0 = 0; r0 < count;) {
    const size_t end = std::min(count, r0 + kPanel - (first + r0) % kPanel);
    for (size_t l = 0; l < k_; l += kChunk) {
      const size_t size = std::min(kChunk, k_ - l);
      for (size_t r = r0; r < end; ++r) {
        source.read(r, l, size, values);
        if (type_ == WeightType::kFloat32) {
          scatter<float>(first + r, l, size, values);
        } else if (type_ == WeightType::kInt8) {
          scatter<int8_t>(first + r, l, size, values);
        } else {
          scatter<uint16_t>(first + r, l, size, values);
        }
      }
    }
    r0 = end;
  }
}

template <class T>
void PackedMatrix::scatter(size_t row, size_t l, size_t count, const float* values) {
  T* out = reinterpret_cast<T*>(data_.data()) + (row / kPanel * k_ + l) * kPanel + row % kPanel;
  for (size_t i = 0; i < count; ++i) {
    if constexpr (sizeof(T) == 4) {
      out[i * kPanel] = values[i];
    } else if constexpr (sizeof(T) == 2) {
      const bool is_bfloat16 = type_ == WeightType::kBfloat16;
      out[i * kPanel] = is_bfloat16 ? narrowToBfloat16(values[i]) : narrowToFloat16(values[i]);
      finite_ = finite_ && std::isfinite(values[i]);
    } else {
      const float scale = scales_[row];
      out[i * kPanel] = scale == 0 ? T{0} : static_cast<T>(std::nearbyint(values[i] / scale));
    }
  }
}

void PackedMatrix::row(size_t r, float* out) const {
  const size_t bytes = bytesOf(type_);
  for (size_t l = 0; l < k_; l += kChunk) {
    const size_t size = std::min(kChunk, k_ - l);
    const unsigned char* from = data_.data() + (((r / kPanel) * k_ + l) * kPanel + r % kPanel) * bytes;
    gather(type_, from, kPanel, size, out + l);
  }
  if (type_ != WeightType::kInt8) return;
  for (size_t l = 0; l < k_; ++l) out[l] *= scales_[r];
}

}  // namespace ropewalk
