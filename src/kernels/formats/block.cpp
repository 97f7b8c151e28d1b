#include "kernels/formats/block.h"

#include <algorithm>
#include <bit>

#include "kernels/transpose.h"
#include "simd.h"

namespace ropewalk {

void weightsOf(const PanelRun& run, const BlockCodes& codes, size_t count, float* out) {
  const uint32_t flip = codes.is_signed ? 0x80 : 0;
  const uint32_t bits = codes.four_bits ? 0xf : 0xff;
  const auto offset = static_cast<int32_t>(codes.is_signed ? 128 : codes.offset);
  constexpr float kZeros[kPanel] = {};
  const float* mins = codes.has_mins ? run.mins : kZeros;
  ROPEWALK_KEEP_LOOP
  for (size_t i = 0; i < count; ++i) {
    const size_t half = i / 16;
    const uint32_t* words = run.codes[half] + i % 16 / 4 * kPanel;
    const float* scales = run.scales[codes.scale_inputs == kRunInputs ? 0 : half];
    const auto shift = static_cast<unsigned>(run.shifts[half] + 8 * (i % 4));
    ROPEWALK_KEEP_LOOP
    for (size_t r = 0; r < kPanel; ++r) {
      const auto code = static_cast<int32_t>((words[r] >> shift & bits) ^ flip);
      out[i * kPanel + r] = static_cast<float>(code - offset) * scales[r] - mins[r];
    }
  }
}

namespace {

// Exchanges the bits of `mask` with those `distance` above them.
uint32_t exchanged(uint32_t bits, unsigned distance, uint32_t mask) {
  const uint32_t changes = (bits >> distance ^ bits) & mask;
  return bits ^ changes ^ changes << distance;
}

// Bit 4 w + b becomes bit w of byte b: bits of its number change places, two at a time.
uint32_t transposed(uint32_t bits) {
  bits = exchanged(bits, 14, 0x0000cccc);
  bits = exchanged(bits, 7, 0x00aa00aa);
  bits = exchanged(bits, 2, 0x0c0c0c0c);
  return exchanged(bits, 1, 0x22222222);
}

}  // namespace

void placeBlocks(const BlockShape& shape, unsigned char* panel, size_t r, size_t rows, size_t n,
                 const unsigned char* from, size_t stride) {
  const size_t words = shape.bytes / 4;
  const size_t skip = shape.apart() && shape.half == 0 ? 2 : 0;
  for (size_t i = 0; i < n; i += shape.weights, from += shape.bytes, panel += kPanel * shape.bytes) {
    transposeWords(panel + r * 4, kPanel * 4, from + skip, stride, rows, words);
    unsigned char* halves = panel + words * kPanel * 4;
    for (size_t row = 0; shape.apart() && row < rows; ++row)
      std::memcpy(halves + (r + row) * 2, from + row * stride + shape.half, 2);
    if (shape.fifth_bits == kNoFifthBits) continue;
    auto* bits = reinterpret_cast<uint32_t*>(panel) + shape.fifth_bits * kPanel + r;
    for (size_t row = 0; row < rows; ++row) bits[row] = transposed(bits[row]);
  }
}

bool hasFiniteHalves(const BlockShape& shape, const unsigned char* panel, size_t n) {
  // Apart, those of two rows are a word.
  const size_t first = shape.apart() ? shape.bytes / 4 : 0;
  const size_t words = shape.apart() ? kPanel / 2 : kPanel;
  uint32_t infinite = 0;
  for (size_t i = 0; i < n; i += shape.weights, panel += kPanel * shape.bytes) {
    const uint32_t* halves = reinterpret_cast<const uint32_t*>(panel) + first * kPanel;
    for (size_t w = 0; w < words; ++w) {
      // An exponent of ones carries into the bit above it.
      infinite |= ((halves[w] & 0x7c007c00) + 0x04000400) & 0x80008000;
    }
  }
  return infinite == 0;
}

// As many blocks as a panel has rows are decoded as its rows.
void widenBlocks(const BlockShape& shape, const BlockCodes& codes,
                 void (*unpack)(const unsigned char*, PanelRun*), const unsigned char* from, size_t n,
                 float* out) {
  alignas(4) unsigned char panel[kPanel * kMostBlockBytes];
  PanelRun runs[kMostBlockWeights / kRunInputs];
  float weights[kRunInputs * kPanel];
  const size_t whole = kPanel * shape.weights;
  std::fill_n(panel, kPanel * shape.bytes, static_cast<unsigned char>(0));
  for (size_t done = 0; done < n; done += whole) {
    const size_t size = std::min(whole, n - done);
    const size_t blocks = (size + shape.weights - 1) / shape.weights;
    placeBlocks(shape, panel, 0, blocks, shape.weights, from, shape.bytes);
    from += blocks * shape.bytes;
    unpack(panel, runs);
    for (size_t first = 0; first < shape.weights; first += kRunInputs) {
      weightsOf(runs[first / kRunInputs], codes, kRunInputs, weights);
      for (size_t r = 0; r < kPanel; ++r) {
        const size_t start = r * shape.weights + first;
        for (size_t i = 0; i < kRunInputs && start + i < size; ++i)
          out[done + start + i] = weights[i * kPanel + r];
      }
    }
  }
}

void PanelRun::toBytes() {
  constexpr size_t kHalf = kRunWords / 2 * kPanel;
  const Splat mask = 0x0f0f0f0f;
  for (size_t half = 0; half < 2; ++half) {
    const uint32_t* from = codes[half];
    const unsigned shift = shifts[half];
    uint32_t* bytes = unpacked + half * kHalf;
    ROPEWALK_KEEP_LOOP
    for (size_t i = 0; i < kHalf; ++i) bytes[i] = from[i] >> shift & mask.value;
    codes[half] = bytes;
    shifts[half] = 0;
  }
}

namespace {

template <class T>
void widen(const T* numbers, unsigned shift, float (&out)[kPanel]) {
  const Splat sign = 0x8000;
  const Splat rest = 0x7fff;
  const Splat all = 0x7c00;
  const Splat infinity = 0x7f800000;
  const Splat scale = std::bit_cast<uint32_t>(0x1p112f);
  ROPEWALK_KEEP_LOOP
  for (size_t r = 0; r < kPanel; ++r) {
    // As widenFloat16 has it.
    const uint32_t bits = uint32_t{numbers[r]} >> shift;
    const uint32_t placed = (bits & sign.value) << 16 | (bits & rest.value) << 13;
    const float wide = std::bit_cast<float>(placed) * std::bit_cast<float>(scale.value);
    const uint32_t special = (bits & all.value) == all.value ? infinity.value : 0;
    out[r] = std::bit_cast<float>(std::bit_cast<uint32_t>(wide) | special);
  }
}

}  // namespace

void halvesOfRows(const uint32_t* words, unsigned shift, float (&out)[kPanel]) {
  widen(words, shift, out);
}

void halvesOfRows(const uint16_t* halves, float (&out)[kPanel]) {
  widen(halves, 0, out);
}

void setScalesOfHalves(PanelRun& run, const uint16_t* halves) {
  halvesOfRows(halves, run.scales[0]);
}

void setScalesOfWords(PanelRun& run, const uint32_t* words) {
  halvesOfRows(words, 0, run.scales[0]);
  halvesOfRows(words, 16, run.mins);
  for (float& min : run.mins) min = -min;
}

void setFiveBits(PanelRun& run, const uint32_t* words, const uint32_t* bits) {
  const Splat four = 0x0f0f0f0f;
  const Splat fifth = 0x10101010;
  ROPEWALK_KEEP_LOOP
  for (unsigned w = 0; w < kRunWords / 2; ++w) {
    uint32_t* low = run.unpacked + w * kPanel;
    uint32_t* high = low + kRunWords / 2 * kPanel;
    ROPEWALK_KEEP_LOOP
    for (size_t r = 0; r < kPanel; ++r) {
      const uint32_t codes = words[w * kPanel + r];
      low[r] = (codes & four.value) | (bits[r] << 4 >> w & fifth.value);
      high[r] = (codes >> 4 & four.value) | (bits[r] >> w & fifth.value);
    }
  }
}

}  // namespace ropewalk
