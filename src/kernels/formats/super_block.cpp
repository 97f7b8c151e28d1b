#include "kernels/formats/super_block.h"

#include <utility>

#include "kernels/formats/q5_k.h"
#include "kernels/formats/q6_k.h"
#include "simd.h"

namespace ropewalk {

// Bytes s and s + 4 of the 12 hold the multiples of runs 0 to 3 in their lower six bits; those of the other
// runs are put together from the halves of byte s + 4 and the two upper bits of bytes s - 4 and s.
void setSuperScales(const BlockRows& rows, PanelRun* runs) {
  const Splat six = 0x3f3f3f3f;
  const Splat four = 0x0f0f0f0f;
  const Splat two = 0x30303030;
  uint32_t scales[2][kPanel];
  uint32_t mins[2][kPanel];
  ROPEWALK_KEEP_LOOP
  for (size_t r = 0; r < kPanel; ++r) {
    const uint32_t first = rows.word(1)[r];
    const uint32_t second = rows.word(2)[r];
    const uint32_t third = rows.word(3)[r];
    scales[0][r] = first & six.value;
    mins[0][r] = second & six.value;
    scales[1][r] = (third & four.value) | (first >> 2 & two.value);
    mins[1][r] = (third >> 4 & four.value) | (second >> 2 & two.value);
  }
  float d[kPanel];
  float dmin[kPanel];
  halvesOfRows(rows.word(0), 0, d);
  halvesOfRows(rows.word(0), 16, dmin);
  const Splat byte = 0xff;
  ROPEWALK_KEEP_LOOP
  for (size_t s = 0; s < kSuperRuns; ++s) {
    const uint32_t* scale = scales[s / 4];
    const uint32_t* min = mins[s / 4];
    const auto shift = static_cast<unsigned>(8 * (s % 4));
    ROPEWALK_KEEP_LOOP
    for (size_t r = 0; r < kPanel; ++r) {
      runs[s].scales[0][r] = d[r] * static_cast<float>(static_cast<int32_t>(scale[r] >> shift & byte.value));
      runs[s].mins[r] = dmin[r] * static_cast<float>(static_cast<int32_t>(min[r] >> shift & byte.value));
    }
  }
}

void setSuperCodes(PanelRun* runs, const uint32_t* words) {
  for (size_t s = 0; s < kSuperRuns; ++s) {
    for (size_t half = 0; half < 2; ++half) {
      runs[s].codes[half] = words + (s / 2 * 2 + half) * (kRunWords / 2) * kPanel;
      runs[s].shifts[half] = s % 2 == 0 ? 0 : 4;
    }
  }
}

namespace {

// Codes of five bits of run S: `low` has four of them, and bit S of each byte of `bits` the fifth.
template <size_t S>
void joinFiveBits(const uint32_t* low, const uint32_t* bits, uint32_t* codes) {
  const Splat four = 0x0f0f0f0f;
  const Splat fifth = 0x10101010;
  ROPEWALK_KEEP_LOOP
  for (size_t w = 0; w < kRunWords * kPanel; ++w) {
    const uint32_t upper = S < 4 ? bits[w] << (4 - S) : bits[w] >> (S - 4);
    codes[w] = (low[w] >> 4 * (S % 2) & four.value) | (upper & fifth.value);
  }
}

template <size_t... S>
void setFiveBitsOf(const BlockRows& rows, PanelRun* runs, std::index_sequence<S...>) {
  (joinFiveBits<S>(rows.word(12 + S / 2 * kRunWords), rows.word(4), runs[S].unpacked), ...);
}

}  // namespace

void Q5_KFormat::decode(const BlockRows& rows, PanelRun* runs) {
  setSuperScales(rows, runs);
  setFiveBitsOf(rows, runs, std::make_index_sequence<kSuperRuns>());
}

namespace {

// Codes of six bits: `low` has four of them from bit Low on, `high` two from bit High on.
template <unsigned Low, unsigned High>
void joinSixBits(const uint32_t* low, const uint32_t* high, uint32_t* codes) {
  const Splat four = 0x0f0f0f0f;
  const Splat two = 0x30303030;
  ROPEWALK_KEEP_LOOP
  for (size_t w = 0; w < kRunWords * kPanel; ++w) {
    const uint32_t upper = High < 4 ? high[w] << (4 - High) : high[w] >> (High - 4);
    codes[w] = (low[w] >> Low & four.value) | (upper & two.value);
  }
}

}  // namespace

// Words: 0 to 31 have the four lower bits, 32 to 47 the upper two, 48 to 51 the multiples. Either half of a
// block has half of each; runs i and i + 2 of a half share the bytes of their lower bits, all four those of
// the upper.
void Q6_KFormat::decode(const BlockRows& rows, PanelRun* runs) {
  using Join = void (*)(const uint32_t* low, const uint32_t* high, uint32_t* codes);
  constexpr Join kJoin[] = {joinSixBits<0, 0>, joinSixBits<0, 2>, joinSixBits<4, 4>, joinSixBits<4, 6>};
  float d[kPanel];
  halvesOfRows(rows.halves, d);
  for (size_t s = 0; s < kSuperRuns; ++s) {
    const size_t half = s / 4;
    const size_t i = s % 4;
    kJoin[i](rows.word(half * 16 + i % 2 * kRunWords), rows.word(32 + half * kRunWords), runs[s].unpacked);
    const uint32_t* multiples = rows.word(48 + s / 2);
    for (size_t part = 0; part < 2; ++part) {
      const auto shift = static_cast<unsigned>(24 - 8 * (s % 2 * 2 + part));
      ROPEWALK_KEEP_LOOP
      for (size_t r = 0; r < kPanel; ++r)
        runs[s].scales[part][r] =
            d[r] * static_cast<float>(static_cast<int32_t>(multiples[r] << shift) >> 24);
    }
  }
}

}  // namespace ropewalk
