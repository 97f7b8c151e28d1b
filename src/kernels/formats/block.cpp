#include "kernels/formats/block.h"

#include <algorithm>

#include "simd.h"

namespace ropewalk {

void weightsOf(const PanelRun& run, const BlockCodes& codes, size_t count, float* out) {
  const uint32_t flip = codes.is_signed ? 0x80808080 : 0;
  const auto offset = static_cast<int32_t>(codes.is_signed ? 128 : codes.offset);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t* words = run.codes + i / 4 * kPanel;
    const float* scales = run.scales[i / 16];
    const auto shift = static_cast<unsigned>(8 * (i % 4));
    for (size_t r = 0; r < kPanel; ++r) {
      const auto code = static_cast<int32_t>((words[r] ^ flip) >> shift & 0xff);
      out[i * kPanel + r] = static_cast<float>(code - offset) * scales[r] - run.mins[r];
    }
  }
}

void placeBlocks(const BlockShape& shape, unsigned char* panel, size_t r, size_t n,
                 const unsigned char* from) {
  const size_t words = shape.bytes / 4;
  const size_t skip = shape.apart() && shape.half == 0 ? 2 : 0;
  for (size_t i = 0; i < n; i += shape.weights, from += shape.bytes, panel += kPanel * shape.bytes) {
    for (size_t w = 0; w < words; ++w) std::memcpy(panel + (w * kPanel + r) * 4, from + skip + w * 4, 4);
    if (shape.apart()) std::memcpy(panel + words * kPanel * 4 + r * 2, from + shape.half, 2);
  }
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
    for (size_t start = 0; start < size; start += shape.weights, from += shape.bytes)
      placeBlocks(shape, panel, start / shape.weights, 1, from);
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

void unpackNibbles(uint32_t* codes, const uint32_t* words, size_t count, unsigned shift) {
  ROPEWALK_KEEP_LOOP
  for (size_t i = 0; i < count; ++i) codes[i] = words[i] >> shift & 0x0f0f0f0f;
}

void setScalesOfHalves(PanelRun& run, const uint16_t* halves) {
  ROPEWALK_KEEP_LOOP
  for (size_t r = 0; r < kPanel; ++r) {
    run.scales[0][r] = run.scales[1][r] = widenFloat16(halves[r]);
    run.mins[r] = 0;
  }
}

void setScalesOfWords(PanelRun& run, const uint32_t* words) {
  ROPEWALK_KEEP_LOOP
  for (size_t r = 0; r < kPanel; ++r) {
    run.scales[0][r] = run.scales[1][r] = widenFloat16(static_cast<uint16_t>(words[r]));
    run.mins[r] = -widenFloat16(static_cast<uint16_t>(words[r] >> 16));
  }
}

void unpackHalves(PanelRun& run, const uint32_t* words) {
  unpackNibbles(run.unpacked, words, 4 * kPanel, 0);
  unpackNibbles(run.unpacked + 4 * kPanel, words, 4 * kPanel, 4);
}

void addFifthBits(PanelRun& run, const uint32_t* bits) {
  for (size_t w = 0; w < kRunWords; ++w) {
    // Four bits, each to the lowest of its byte.
    ROPEWALK_KEEP_LOOP
    for (size_t r = 0; r < kPanel; ++r)
      run.unpacked[w * kPanel + r] |= ((bits[r] >> 4 * w & 0xf) * 0x00204081 & 0x01010101) << 4;
  }
}

}  // namespace ropewalk
