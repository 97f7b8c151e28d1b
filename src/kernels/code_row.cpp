#include "kernels/code_row.h"

#include <algorithm>

#include "kernels/weight_format.h"
#include "simd.h"
#include "simd/byte_dots.h"

namespace ropewalk {
namespace {

using simd::bitsOf;
using simd::ByteDots;
using simd::Codes;
using simd::either;
using simd::f32x4;
using simd::kLanes;
using simd::NibbleDots;

constexpr uint32_t kFour = 0x0f0f0f0f;
constexpr uint32_t kFifth = 0x10101010;
constexpr uint32_t kFifthAndSixth = 0x30303030;
constexpr uint32_t kSix = 0x3f3f3f3f;
constexpr uint32_t kByte = 0xff;

// Variables that only some formats change are no constants.
// NOLINTBEGIN(misc-const-correctness)

// Where a block of a panel has what it consists of.
struct BlockParts {
  size_t panel_bytes;
  size_t words;       // whole ones; scales that are apart follow
  size_t fifth_bits;  // the word that has those of 32 codes
  bool has_mins;      // with the scales in word 0
  int32_t offset;
};

// Of blocks of 32 weights with finite scales, whose last words are codes. Nibbles: codes have four bits in
// the words of codes; Fifth: and a fifth one in a word of its own.
template <class Dots, bool Nibbles, bool Fifth, bool SignsApart>
void multiplyBlocks(float* sums, const unsigned char* block, size_t count, const BlockParts& parts,
                    const RoundedInputs& a, size_t at) {
  constexpr size_t kCodeWords = Nibbles ? kRunWords / 2 : kRunWords;
  // Sums of their own for upper bits, so that none waits for the one before, where there are registers.
  constexpr size_t kChains = Nibbles && Dots::kVectors == 1 ? 2 : 1;  // speed alone
  constexpr size_t kVectors = Fifth ? 2 : kPanelVectors;
  const simd::F16Constants halves;
  const Codes four = simd::splatCodes(kFour);
  const Codes fifth = simd::splatCodes(kFifth);
  ROPEWALK_KEEP_LOOP
  for (size_t first = 0; first < kPanelVectors; first += kVectors) {
    f32x4 totals[kVectors];
    for (f32x4& total : totals) total = simd::splat(0);
    ROPEWALK_KEEP_LOOP
    for (size_t b = 0; b < count; ++b) {
      const size_t run = at + b;
      const RunBytes& codes = a.bytes[run];
      const auto* of_block = reinterpret_cast<const uint32_t*>(block + b * parts.panel_bytes);
      const auto* apart = reinterpret_cast<const uint16_t*>(of_block + parts.words * kPanel) + first * kLanes;
      of_block += first * kLanes;
      const uint32_t* words = of_block + (parts.words - kCodeWords) * kPanel;
      Codes fifths[kVectors];
      if constexpr (Fifth) {
        for (size_t v = 0; v < kVectors; ++v)
          fifths[v] = simd::loadCodes(of_block + parts.fifth_bits * kPanel + v * kLanes);
      }
      Dots dots[kChains][kVectors];
      for (size_t chain = 0; chain < kChains; ++chain) {
        const int32_t start = SignsApart ? a.sum(run) : -parts.offset * a.sum(run);
        for (Dots& each : dots[chain]) each = Dots(chain == 0 ? start : 0);
      }
      ROPEWALK_KEEP_LOOP
      for (size_t i = 0; i < kCodeWords * 4; i += 4, words += kPanel) {
        const auto low = Dots::inputs(codes.codes + i, codes.signs + i);
        if constexpr (Nibbles) {
          const auto high = Dots::inputs(codes.codes + i + 16, codes.signs + i + 16);
          for (size_t v = 0; v < kVectors; ++v) {
            const Codes both = simd::loadCodes(words + v * kLanes);
            Codes lower = bitsOf<0>(both, four);
            Codes upper = bitsOf<4>(both, four);
            if constexpr (Fifth) {
              lower = either(lower, bitsOf<-4>(fifths[v], fifth));
              upper = either(upper, bitsOf<0>(fifths[v], fifth));
              fifths[v] = simd::shiftedDown<1>(fifths[v]);
            }
            dots[0][v].add(low, lower);
            dots[kChains - 1][v].add(high, upper);
          }
        } else {
          for (size_t v = 0; v < kVectors; ++v) dots[0][v].add(low, simd::loadCodes(words + v * kLanes));
        }
      }
      const f32x4 s = simd::splat(a.scales[run]);
      const f32x4 s_sum = simd::splat(a.scaled_sums[run]);
      for (size_t v = 0; v < kVectors; ++v) {
        if constexpr (kChains == 2) dots[0][v].add(dots[1][v]);
        const f32x4 small = Nibbles && parts.has_mins
                                ? simd::lowerSmallF16(of_block + v * kLanes, halves.mask)
                                : simd::loadSmallF16(apart + v * kLanes, halves.mask);
        const f32x4 scale = simd::mul(small, halves.scale);
        totals[v] = simd::add(totals[v], simd::mul(s, simd::mul(scale, dots[0][v].floats())));
        if constexpr (Nibbles) {  // no format of bytes has mins
          if (!parts.has_mins) continue;
          const f32x4 less = simd::mul(simd::upperSmallF16(of_block + v * kLanes, halves.mask), halves.scale);
          totals[v] = simd::add(totals[v], simd::mul(s_sum, less));
        }
      }
    }
    for (size_t v = 0; v < kVectors; ++v) simd::store(sums + (first + v) * kLanes, totals[v]);
  }
}

// Some vectors of the products of two runs that share words.
constexpr size_t kSuperVectors = 2;

// Two runs of a block of 256 weights: one has the lower four bits of the bytes of words, the other the upper
// ones.
struct PairOfRuns {
  const uint32_t* words;
  const uint32_t* from;
  uint32_t* shifted;
  const int8_t* low_inputs;
  const int8_t* high_inputs;

  // Adds the products of words first ... end - 1. Codes have Upper more bits, up to two, which words at
  // `from` hold; for the next pair, those are written to `shifted`.
  template <size_t Upper, class Dots>
  void add(size_t first, size_t end, Dots (&dots)[2][kSuperVectors]) const {
    const Codes four = simd::splatCodes(kFour);
    const Codes more = simd::splatCodes(Upper == 2 ? kFifthAndSixth : kFifth);
    ROPEWALK_KEEP_LOOP
    for (size_t w = first; w < end; ++w) {
      const auto of_low = Dots::inputs(low_inputs + w * 4, nullptr);
      const auto of_high = Dots::inputs(high_inputs + w * 4, nullptr);
      for (size_t v = 0; v < kSuperVectors; ++v) {
        const size_t at = w * kPanel + v * kLanes;
        const Codes both = simd::loadCodes(words + at);
        Codes lower = bitsOf<0>(both, four);
        Codes upper = bitsOf<4>(both, four);
        if constexpr (Upper != 0) {
          constexpr int kPlace = Upper == 2 ? 0 : -3;
          const Codes bits = simd::loadCodes(from + at);
          lower = either(lower, bitsOf<-4>(bits, more));
          upper = either(upper, bitsOf<kPlace>(bits, more));
          simd::storeCodes(shifted + at, simd::shiftedDown<2>(bits));
        }
        dots[0][v].add(of_low, lower);
        dots[1][v].add(of_high, upper);
      }
    }
  }
};

// NOLINTEND(misc-const-correctness)

// What the bytes of words are multiples of, one byte after the other.
struct Multiples {
  f32x4 unit;
  Codes words[2];  // of runs 0 to 3 and 4 to 7

  f32x4 at(size_t run, Codes byte) {
    Codes& word = words[run / 4];
    const f32x4 number = simd::floatsOf(bitsOf<0>(word, byte));
    word = simd::shiftedDown<8>(word);
    return simd::mul(unit, number);
  }
};

// Of a block of 256 weights, where runs have a scale and a min: Q4_K, and Q5_K, which has more words.
template <class Dots, bool MayHaveFifth>
void multiplyWithMins(float* sums, const unsigned char* block, size_t, const BlockParts& parts,
                      const RoundedInputs& a, size_t at) {
  const size_t first_word = parts.words - kSuperRuns / 2 * kRunWords;
  const bool has_fifth = MayHaveFifth && first_word != 4;
  const simd::F16Constants halves;
  const Codes byte = simd::splatCodes(kByte);
  const Codes six = simd::splatCodes(kSix);
  const Codes four = simd::splatCodes(kFour);
  const Codes two = simd::splatCodes(kFifthAndSixth);
  uint32_t shifted[kRunWords * kPanel];
  ROPEWALK_KEEP_LOOP
  for (size_t first = 0; first < kPanel; first += kSuperVectors * kLanes) {
    const auto* words = reinterpret_cast<const uint32_t*>(block) + first;
    Multiples scales[kSuperVectors];
    Multiples mins[kSuperVectors];
    f32x4 totals[kSuperVectors];
    for (size_t v = 0; v < kSuperVectors; ++v) {
      // As setSuperScales has it.
      const uint32_t* at_lanes = words + v * kLanes;
      const Codes low_scales = simd::loadCodes(at_lanes + kPanel);
      const Codes low_mins = simd::loadCodes(at_lanes + 2 * kPanel);
      const Codes rest = simd::loadCodes(at_lanes + 3 * kPanel);
      scales[v] = {simd::mul(simd::lowerSmallF16(at_lanes, halves.mask), halves.scale),
                   {bitsOf<0>(low_scales, six), either(bitsOf<0>(rest, four), bitsOf<2>(low_scales, two))}};
      mins[v] = {simd::mul(simd::upperSmallF16(at_lanes, halves.mask), halves.scale),
                 {bitsOf<0>(low_mins, six), either(bitsOf<4>(rest, four), bitsOf<2>(low_mins, two))}};
      totals[v] = simd::splat(0);
    }
    ROPEWALK_KEEP_LOOP
    for (size_t low_run = 0; low_run < kSuperRuns; low_run += 2) {
      Dots dots[2][kSuperVectors];
      for (auto& run : dots) {
        for (Dots& each : run) each = Dots(0);
      }
      const PairOfRuns pair = {words + (first_word + low_run / 2 * kRunWords) * kPanel,
                               low_run == 0 ? words + 4 * kPanel : shifted, shifted,
                               a.bytes[at + low_run].codes, a.bytes[at + low_run + 1].codes};
      if constexpr (MayHaveFifth) {
        if (has_fifth) pair.add<1>(0, kRunWords, dots);
      }
      if (!has_fifth) pair.add<0>(0, kRunWords, dots);
      for (size_t i = 0; i < 2; ++i) {
        const size_t run = low_run + i;
        const f32x4 s = simd::splat(a.scales[at + run]);
        const f32x4 s_sum = simd::splat(a.scaled_sums[at + run]);
        for (size_t v = 0; v < kSuperVectors; ++v) {
          const f32x4 scale = scales[v].at(run, byte);
          totals[v] = simd::add(totals[v], simd::mul(s, simd::mul(scale, dots[i][v].floats())));
          totals[v] = simd::sub(totals[v], simd::mul(s_sum, mins[v].at(run, byte)));
        }
      }
    }
    for (size_t v = 0; v < kSuperVectors; ++v) simd::store(sums + first + v * kLanes, totals[v]);
  }
}

// Of a block of Q6_K, whose words Q6_KFormat::decode explains.
void multiplySixBits(float* sums, const unsigned char* block, size_t, const BlockParts& parts,
                     const RoundedInputs& a, size_t at) {
  constexpr size_t kPartWords = kRunWords / 2;
  const simd::F16Constants halves;
  const auto* apart = reinterpret_cast<const uint16_t*>(block + kPanel * parts.words * 4);
  uint32_t shifted[kRunWords * kPanel];
  ROPEWALK_KEEP_LOOP
  for (size_t first = 0; first < kPanel; first += kSuperVectors * kLanes) {
    const auto* words = reinterpret_cast<const uint32_t*>(block) + first;
    f32x4 units[kSuperVectors];
    for (size_t v = 0; v < kSuperVectors; ++v)
      units[v] = simd::mul(simd::loadSmallF16(apart + first + v * kLanes, halves.mask), halves.scale);
    using Dots = ByteDots<false>;
    f32x4 terms[kSuperRuns][2][kSuperVectors];
    ROPEWALK_KEEP_LOOP
    for (const size_t low_run : {size_t{0}, size_t{1}, size_t{4}, size_t{5}}) {
      const size_t half = low_run / 4;
      const size_t i = low_run % 4;
      const size_t runs[] = {low_run, low_run + 2};
      const PairOfRuns pair = {words + (half * 16 + i * kRunWords) * kPanel,
                               i == 0 ? words + (32 + half * kRunWords) * kPanel : shifted, shifted,
                               a.bytes[at + runs[0]].codes, a.bytes[at + runs[1]].codes};
      ROPEWALK_KEEP_LOOP
      for (size_t part = 0; part < 2; ++part) {
        Dots dots[2][kSuperVectors];
        for (size_t r = 0; r < 2; ++r) {
          for (Dots& each : dots[r]) each = Dots(-parts.offset * a.sums[at + runs[r]][part]);
        }
        pair.add<2>(part * kPartWords, (part + 1) * kPartWords, dots);
        for (size_t r = 0; r < 2; ++r) {
          const f32x4 s = simd::splat(a.scales[at + runs[r]]);
          const uint32_t* multiples = words + (48 + runs[r] / 2) * kPanel;
          for (size_t v = 0; v < kSuperVectors; ++v) {
            const f32x4 multiple = simd::floatsOfByte(simd::loadCodes(multiples + v * kLanes), i * 2 + part);
            const f32x4 scale = simd::mul(units[v], multiple);
            terms[runs[r]][part][v] = simd::mul(s, simd::mul(scale, dots[r][v].floats()));
          }
        }
      }
    }
    for (size_t v = 0; v < kSuperVectors; ++v) {
      f32x4 total = simd::splat(0);
      for (const auto& run : terms) total = simd::add(simd::add(total, run[0][v]), run[1][v]);
      simd::store(sums + first + v * kLanes, total);
    }
  }
}

// `count` runs in blocks from `block` on, at most those of kGemmDepth inputs.
using Blocks = void(float* sums, const unsigned char* block, size_t count, const BlockParts& parts,
                    const RoundedInputs& a, size_t at);

template <class Format>
Blocks* blocksOf() {
  constexpr BlockCodes kCodes = Format::kCodes;
  constexpr bool kSignsApart = kCodes.is_signed && simd::kDotsTakeSigns;
  constexpr bool kHasFifth = Format::kFifthBits != kNoFifthBits;
  constexpr bool kNibbles = kHasFifth || kCodes.four_bits;
  static_assert(Format::kBlock == kRunInputs || Format::kBlock == kGemmDepth);
  const bool in_shorts = kCodes.four_bits && simd::dotsAreSlow();
  if constexpr (Format::kBlock == kRunInputs) {
    if (in_shorts) return multiplyBlocks<NibbleDots, true, false, false>;
    return multiplyBlocks<ByteDots<kSignsApart>, kNibbles, kHasFifth, kSignsApart>;
  } else if constexpr (kCodes.has_mins) {
    return in_shorts ? multiplyWithMins<NibbleDots, false> : multiplyWithMins<ByteDots<false>, true>;
  } else {
    return multiplySixBits;
  }
}

template <class Format>
constexpr BlockParts partsOf() {
  return {Format::kPanelBytes, Format::kBlockBytes / 4, Format::kFifthBits, Format::kCodes.has_mins,
          Format::kCodes.offset};
}

}  // namespace

[[gnu::noinline]] void putSums(float* out, bool add, const float* sums, size_t columns) {
  size_t j = 0;
  ROPEWALK_KEEP_LOOP
  for (; add && j + kLanes <= columns; j += kLanes)
    simd::store(out + j, simd::add(simd::load(out + j), simd::load(sums + j)));
  ROPEWALK_KEEP_LOOP
  for (; j < columns; ++j) out[j] = add ? out[j] + sums[j] : sums[j];
}

void multiplyCodeRows(float* out, size_t out_stride, bool add, const PackedMatrix& w, PanelRange panels,
                      size_t rows, size_t row_runs, size_t start, size_t depth, const RoundedInputs& a) {
  Blocks* multiply = nullptr;
  BlockParts parts = {};
  withFormatOf(CodeFormats(), w.type(), [&](auto format) {
    multiply = blocksOf<decltype(format)>();
    parts = partsOf<decltype(format)>();
  });
  const size_t weights = formatOf(w.type()).block;
  for (size_t p = panels.first; p < panels.end; ++p) {
    const size_t columns = std::min(kPanel, w.rows() - p * kPanel);
    for (size_t l = 0; l < depth; l += kGemmDepth) {
      const unsigned char* block = w.panel(p) + (start + l) / weights * parts.panel_bytes;
      const size_t count = (std::min(kGemmDepth, depth - l) + kRunInputs - 1) / kRunInputs;
      for (size_t row = 0; row < rows; ++row) {
        float sums[kPanel];
        multiply(sums, block, count, parts, a, row * row_runs + l / kRunInputs);
        putSums(out + row * out_stride + p * kPanel, add || l > 0, sums, columns);
      }
    }
  }
}

}  // namespace ropewalk
