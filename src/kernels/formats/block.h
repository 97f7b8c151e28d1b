// What the formats of GGUF files have in common: blocks of 32 or 256 weights of a row, each with its own
// scales. A weight is scale * (code - offset) - min, each operation rounded once, as ggml's dequantize_row
// has it; codes are integers of 4 to 8 bits. A block is decoded in runs of 32 inputs.
//
// In memory, a block of a panel holds the blocks of its rows word by word: word w of row r is word w * kPanel
// + r. Where a block is no whole number of words, its float16 scale is apart: those of all rows follow the
// words. A word with the fifth bits of 32 codes is transposed: bit w of byte b is that of input 4 w + b, as
// codes are in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/panel.h"
#include "kernels/weight_type.h"

namespace ropewalk {

inline constexpr size_t kRunInputs = 32;
inline constexpr size_t kRunWords = kRunInputs / 4;

// 32 inputs of the rows of a panel.
struct PanelRun {
  PanelRun() = default;
  PanelRun(const PanelRun&) = delete;
  PanelRun& operator=(const PanelRun&) = delete;

  // Writes codes of four bits as bytes.
  void toBytes();

  // Of inputs 0 ... 15 and 16 ... 31: [kRunWords / 2][kPanel], four inputs a word, the first in its lowest
  // byte. Codes of four bits may be read where they are: those from bit `shifts` on of each byte.
  const uint32_t* codes[2] = {unpacked, unpacked + kRunWords / 2 * kPanel};
  unsigned shifts[2] = {0, 0};
  uint32_t unpacked[kRunWords * kPanel];
  float scales[2][kPanel];  // of inputs 0 ... 15 and 16 ... 31, or the first of all where they share one
  float mins[kPanel];       // where a format has them
};

// How the codes of a format are read. Codes are bytes from 0 to 127, or signed.
struct BlockCodes {
  bool is_signed = false;
  bool has_mins = false;
  bool four_bits = false;  // and two codes to a byte
  int32_t offset = 0;
  size_t scale_inputs = 0;  // that share a scale: 16 or 32; 0 in formats without codes
};

// out [count][kPanel] = the weights of the first `count` inputs of a run.
void weightsOf(const PanelRun& run, const BlockCodes& codes, size_t count, float* out);

// Blocks of kPanel rows: words [..][kPanel] and, where they are apart, the float16 numbers of the rows.
struct BlockRows {
  const uint32_t* words;
  const uint16_t* halves;

  const uint32_t* word(size_t w) const { return words + w * kPanel; }
};

inline constexpr size_t kMostBlockWeights = 256;
inline constexpr size_t kMostBlockBytes = 210;

inline constexpr size_t kNoFifthBits = SIZE_MAX;

// What a block of a file is: whole words, and where its bytes are none, a float16 scale apart.
struct BlockShape {
  size_t weights = 0;
  size_t bytes = 0;
  size_t half = 0;                   // where that scale is; in whole words, the first has two float16 numbers
  size_t fifth_bits = kNoFifthBits;  // the word that has them

  bool apart() const { return bytes % 4 != 0; }
};

// The first n weights of the blocks at `from`, at any address.
void widenBlocks(const BlockShape& shape, const BlockCodes& codes,
                 void (*unpack)(const unsigned char*, PanelRun*), const unsigned char* from, size_t n,
                 float* out);
// Rows r ... r + rows - 1 of a panel's blocks from `panel` on = the blocks of n weights at `from`, and so on
// with a stride in bytes.
void placeBlocks(const BlockShape& shape, unsigned char* panel, size_t r, size_t rows, size_t n,
                 const unsigned char* from, size_t stride);
// Whether the float16 numbers of a panel's blocks of n inputs, those above, are finite.
bool hasFiniteHalves(const BlockShape& shape, const unsigned char* panel, size_t n);

// Format::decode(rows, runs) decodes a block, its words at `rows`, into kBlock / kRunInputs runs, mins
// included: 0 where a format has none. kHalf is where the float16 scale is in a block of a file whose bytes
// are not words; kFifthBits is the word that has the fifth bits of 32 codes.
template <class Format, size_t Weights, size_t Bytes>
struct BlockFormat {
  static_assert(Weights <= kMostBlockWeights && Bytes <= kMostBlockBytes && Weights % kRunInputs == 0);
  static constexpr size_t kBlock = Weights;
  static constexpr size_t kBlockBytes = Bytes;
  static constexpr size_t kHeadBytes = 0;
  static constexpr size_t kFewRows = 2;
  static constexpr size_t kPanelBytes = kPanel * Bytes;
  static constexpr bool kRowScales = false;
  static constexpr bool kHoldsInfinity = false;
  static constexpr size_t kHalf = 0;
  static constexpr size_t kFifthBits = kNoFifthBits;
  static constexpr BlockShape shape() { return {Weights, Bytes, Format::kHalf, Format::kFifthBits}; }
  static bool finite(const unsigned char* panel, size_t l, size_t n) {
    return hasFiniteHalves(shape(), panel + l / Weights * kPanelBytes, n);
  }

  static void widen(const unsigned char* from, size_t n, float* out) {
    widenBlocks(shape(), Format::kCodes, unpack, from, n, out);
  }

  static void pack(unsigned char* panel, size_t r, size_t rows, size_t l, size_t n, const unsigned char* from,
                   size_t stride) {
    placeBlocks(shape(), panel + l / Weights * kPanelBytes, r, rows, n, from, stride);
  }

  static void unpack(const unsigned char* block, PanelRun* runs) {
    const auto* words = reinterpret_cast<const uint32_t*>(block);
    Format::decode({words, reinterpret_cast<const uint16_t*>(words + Bytes / 4 * kPanel)}, runs);
  }

 private:
  BlockFormat() = default;
  friend Format;
};

// A number that the compiler takes for a variable. As a vector it is then made before a loop, not in every
// step.
struct Splat {
  uint32_t value;
  Splat(uint32_t constant) : value(*simd::hidden(&constant)) {}
};

// out = the float16 numbers of the rows: from the bit `shift` of a word on, or apart.
void halvesOfRows(const uint32_t* words, unsigned shift, float (&out)[kPanel]);
void halvesOfRows(const uint16_t* halves, float (&out)[kPanel]);

// The scales and the mins of a block of 32 weights: of float16 numbers apart, or of a word that holds both.
void setScalesOfHalves(PanelRun& run, const uint16_t* halves);
void setScalesOfWords(PanelRun& run, const uint32_t* words);

// 32 codes of four bits in 16 bytes: those of inputs 0 ... 15, and above them those of inputs 16 ... 31.
inline void setHalves(PanelRun& run, const uint32_t* words) {
  run.codes[0] = run.codes[1] = words;
  run.shifts[1] = 4;
}

// 32 codes of five bits: four as setHalves has them, and a word of fifth bits for each row.
void setFiveBits(PanelRun& run, const uint32_t* words, const uint32_t* bits);

}  // namespace ropewalk
