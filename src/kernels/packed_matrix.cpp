#include "kernels/packed_matrix.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/weight_format.h"
#include "parallel.h"

namespace ropewalk {
namespace {

constexpr size_t kElementWork = 8;     // multiplications that take as long as one weight
constexpr size_t kChunk = kGemmDepth;  // weights of a row that are converted at a time, whole blocks

// The bytes of a panel of k inputs, or false where they do not fit.
bool panelBytes(const WeightFormat& format, size_t k, size_t* bytes) {
  if (!multiply(format.blocks(k), format.panel_bytes, bytes) || *bytes > SIZE_MAX - format.head_bytes) {
    return false;
  }
  *bytes += format.head_bytes;
  return true;
}

// The largest magnitude of a row, by calls of read(l, size, values).
template <class Read>
float largestOf(size_t k, Read read) {
  float values[kChunk];
  float largest = 0;
  for (size_t l = 0; l < k; l += kChunk) {
    const size_t size = std::min(kChunk, k - l);
    read(l, size, values);
    for (size_t i = 0; i < size; ++i) largest = std::max(largest, std::fabs(values[i]));
  }
  return largest;
}

}  // namespace

// Weights as the caller holds them.
struct PackedMatrix::Source {
  WeightType type;
  const unsigned char* data;
  size_t row_stride;  // bytes
  size_t stride;      // from block to block of a row, in blocks

  const unsigned char* at(size_t row, size_t l) const {
    const WeightFormat& format = formatOf(type);
    return data + row * row_stride + l / format.block * stride * format.block_bytes;
  }

  // out = count <= kChunk weights of a row, from input l on, widened.
  void read(size_t row, size_t l, size_t count, float* out) const {
    const unsigned char* from = at(row, l);
    if (stride == 1) return widen(type, from, count, out);
    const size_t bytes = formatOf(type).block_bytes;
    unsigned char chunk[kChunk * sizeof(float)];
    for (size_t i = 0; i < count; ++i) std::memcpy(chunk + i * bytes, from + i * stride * bytes, bytes);
    widen(type, chunk, count, out);
  }
};

Status PackedMatrix::allocate(size_t n, size_t k, WeightType stored, bool in_floats) {
  const size_t panels = n / kPanel + (n % kPanel != 0 ? 1 : 0);
  size_t rows = 0;
  size_t panel_bytes = 0;
  size_t size = 0;
  if (!multiply(panels, kPanel, &rows) || !panelBytes(formatOf(stored), k, &panel_bytes) ||
      !multiply(panels, panel_bytes, &size)) {
    return Status::kOutOfMemory;
  }
  Buffer<unsigned char> data;
  if (data.allocate(size) != Status::kOk) return Status::kOutOfMemory;
  std::fill_n(data.data(), size, static_cast<unsigned char>(0));
  data_ = std::move(data);
  panel_bytes_ = panel_bytes;
  n_ = n;
  k_ = k;
  type_ = stored;
  finite_ = true;
  in_floats_ = in_floats || !formatOf(stored).hasCodes();
  return Status::kOk;
}

Status PackedMatrix::packRows(size_t first, size_t count, WeightType from, const void* w) {
  if (first > n_ || count > n_ - first) return Status::kInvalidShape;
  if (formatOf(from).row_scales) return Status::kInvalidArgument;
  const Source source = {from, static_cast<const unsigned char*>(w), formatOf(from).rowBytes(k_), 1};
  if (!fits(source, count)) return Status::kInvalidArgument;
  fill(first, count, source);
  return Status::kOk;
}

Status PackedMatrix::pack(WeightType from, const void* w, size_t n, size_t k, WeightType stored,
                          WeightLayout layout) {
  const WeightFormat& format = formatOf(from);
  const bool transposed = layout == WeightLayout::kInOut;
  if (format.row_scales || (transposed && format.block > 1)) return Status::kInvalidArgument;
  PackedMatrix packed;
  const Status status = packed.allocate(n, k, stored);
  if (status != Status::kOk) return status;
  const Source source = {from, static_cast<const unsigned char*>(w),
                         transposed ? format.block_bytes : format.rowBytes(k), transposed ? n : 1};
  if (!packed.fits(source, n)) return Status::kInvalidArgument;
  packed.fill(0, n, source);
  *this = std::move(packed);
  return Status::kOk;
}

bool PackedMatrix::fits(const Source& source, size_t count) const {
  const WeightFormat& format = formatOf(type_);
  const WeightFormat& given = formatOf(source.type);
  if (source.type == type_ || (format.holds_infinity && !given.hasCodes() && given.end <= format.end))
    return true;
  std::atomic<bool> fit = true;
  parallelFor(count, grainOf(kElementWork, k_), [&](const Share& share) {
    float values[kChunk];
    for (size_t r = share.first; r < share.end && fit.load(std::memory_order_relaxed); ++r) {
      for (size_t l = 0; l < k_; l += kChunk) {
        const size_t size = std::min(kChunk, k_ - l);
        source.read(r, l, size, values);
        for (size_t i = 0; i < size; ++i) {
          if (!format.holds(values[i])) fit.store(false, std::memory_order_relaxed);
        }
      }
    }
  });
  return fit.load(std::memory_order_relaxed);
}

void PackedMatrix::fill(size_t first, size_t count, const Source& source) {
  const size_t first_panel = first / kPanel;
  const size_t panels = count == 0 ? 0 : (first + count - 1) / kPanel + 1 - first_panel;
  std::atomic<bool> finite = finite_;
  parallelFor(panels, grainOf(kElementWork, kPanel, k_), [&](const Share& share) {
    for (size_t p = share.first; p < share.end; ++p) {
      const size_t start = std::max(first, (first_panel + p) * kPanel);
      const size_t end = std::min(first + count, (first_panel + p + 1) * kPanel);
      if (!fillPanel(start, end - start, source, start - first))
        finite.store(false, std::memory_order_relaxed);
    }
  });
  finite_ = finite.load(std::memory_order_relaxed);
}

// Writes rows of one panel, a chunk of inputs at a time, so that what is written stays in the cache. Answers
// whether all of them are finite.
bool PackedMatrix::fillPanel(size_t first, size_t count, const Source& source, size_t source_row) {
  const WeightFormat& format = formatOf(type_);
  const WeightMethods& methods = methodsOf(type_);
  unsigned char* panel = data_.data() + first / kPanel * panel_bytes_;
  float* scales = reinterpret_cast<float*>(panel) + first % kPanel;  // where there are some
  for (size_t r = 0; format.row_scales && r < count; ++r) {
    scales[r] = methods.scaleFor(largestOf(
        k_, [&](size_t l, size_t size, float* values) { source.read(source_row + r, l, size, values); }));
  }
  bool finite = true;
  float values[kChunk];
  unsigned char narrowed[kChunk * sizeof(float)];
  for (size_t l = 0; l < k_; l += kChunk) {
    const size_t size = std::min(kChunk, k_ - l);
    const size_t whole = format.blocks(size) * format.block;
    if (source.type == type_ && source.stride == 1) {
      methods.pack(panel, first % kPanel, count, l, whole, source.at(source_row, l), source.row_stride);
    } else {
      for (size_t r = 0; r < count; ++r) {
        source.read(source_row + r, l, size, values);
        std::fill(values + size, values + whole, 0.0f);
        for (size_t i = 0; format.row_scales && i < size; ++i)
          values[i] = scales[r] == 0 ? 0 : values[i] / scales[r];
        methods.narrow(values, whole, narrowed);
        methods.pack(panel, first % kPanel + r, 1, l, whole, narrowed, 0);
      }
    }
    finite = finite && methods.finite(panel, l, whole);
  }
  return finite;
}

const float* PackedMatrix::floats(size_t p, size_t l, size_t depth, float* scratch) const {
  if (formatOf(type_).hasCodes()) {
    decode(p, l, depth, scratch);
    return scratch;
  }
  const float* out = scratch;
  withFormatOf(NumberFormats(), type_, [&](auto format) {
    using Format = decltype(format);
    if constexpr (Format::kType == WeightType::kFloat32) {
      out = Format::at(panel(p), l);
    } else {
      Format::withReader(finite_, [&](auto reader) {
        using Reader = decltype(reader);
        static_assert(kGemmDepth % Reader::kRun == 0 && Reader::kRun % Reader::kStep == 0);
        for (size_t run = 0; run < depth; run += Reader::kRun) {
          const auto* from = Format::at(panel(p), l + run);
          const auto scales = reader.scales(panel(p), l + run);
          const size_t end = std::min(Reader::kRun, depth - run);
          for (size_t i = 0; i < end; i += Reader::kStep) {
            PanelRow rows[Reader::kStep];
            reader.read(from, i, scales, rows);
            for (size_t s = 0; s < Reader::kStep; ++s) {
              for (size_t v = 0; v < kPanelVectors; ++v)
                simd::store(scratch + (run + i + s) * kPanel + v * simd::kLanes, rows[s][v]);
            }
          }
        }
      });
    }
  });
  return out;
}

size_t PackedMatrix::unpack(size_t p, size_t l, size_t depth, PanelRun* runs) const {
  const WeightFormat& format = formatOf(type_);
  const auto unpackBlock = methodsOf(type_).unpack;
  const unsigned char* block = panel(p) + l / format.block * format.panel_bytes;
  for (size_t i = 0; i < depth; i += format.block, block += format.panel_bytes)
    unpackBlock(block, runs + i / kRunInputs);
  return (depth + kRunInputs - 1) / kRunInputs;
}

void PackedMatrix::decode(size_t p, size_t l, size_t depth, float* out) const {
  PanelRun runs[kGemmDepth / kRunInputs];
  const size_t count = unpack(p, l, depth, runs);
  for (size_t run = 0; run < count; ++run) {
    const size_t start = run * kRunInputs;
    weightsOf(runs[run], formatOf(type_).codes, std::min(kRunInputs, depth - start), out + start * kPanel);
  }
}

void PackedMatrix::row(size_t r, float* out) const {
  alignas(kAlignment) float scratch[kPanel * kGemmDepth];
  for (size_t l = 0; l < k_; l += kGemmDepth) {
    const size_t depth = std::min(kGemmDepth, k_ - l);
    const float* panel = floats(r / kPanel, l, depth, scratch);
    for (size_t i = 0; i < depth; ++i) out[l + i] = panel[i * kPanel + r % kPanel];
  }
}

}  // namespace ropewalk
