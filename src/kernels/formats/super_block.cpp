#include "kernels/formats/super_block.h"

#include "kernels/formats/q5_k.h"
#include "kernels/formats/q6_k.h"
#include "simd.h"

namespace ropewalk {

// Bytes s and s + 4 of the 12 hold the multiples of runs 0 to 3 in their lower six bits; those of the other
// runs are put together from the halves of byte s + 4 and the two upper bits of bytes s - 4 and s.
void setSuperScales(const BlockRows& rows, PanelRun* runs) {
  for (size_t s = 0; s < kSuperRuns; ++s) {
    const auto shift = static_cast<unsigned>(8 * (s % 4));
    ROPEWALK_KEEP_LOOP
    for (size_t r = 0; r < kPanel; ++r) {
      const uint32_t both = rows.word(0)[r];
      const uint32_t first = rows.word(1)[r] >> shift & 0xff;
      const uint32_t second = rows.word(2)[r] >> shift & 0xff;
      const uint32_t third = rows.word(3)[r] >> shift & 0xff;
      const uint32_t scale = s < 4 ? first & 63 : (third & 0xf) | first >> 6 << 4;
      const uint32_t min = s < 4 ? second & 63 : third >> 4 | second >> 6 << 4;
      const float d = widenFloat16(static_cast<uint16_t>(both));
      const float dmin = widenFloat16(static_cast<uint16_t>(both >> 16));
      runs[s].scales[0][r] = runs[s].scales[1][r] = d * static_cast<float>(scale);
      runs[s].mins[r] = dmin * static_cast<float>(min);
    }
  }
}

void unpackSuperNibbles(PanelRun* runs, const uint32_t* words) {
  constexpr size_t kCount = kRunWords * kPanel;
  for (size_t s = 0; s < kSuperRuns; ++s)
    unpackNibbles(runs[s].unpacked, words + s / 2 * kCount, kCount, s % 2 == 0 ? 0 : 4);
}

// Bit s of 32 bytes has the fifth bits of run s.
void Q5_KFormat::decode(const BlockRows& rows, PanelRun* runs) {
  unpackSuperNibbles(runs, rows.word(12));
  setSuperScales(rows, runs);
  const uint32_t* bits = rows.word(4);
  for (size_t s = 0; s < kSuperRuns; ++s) {
    ROPEWALK_KEEP_LOOP
    for (size_t i = 0; i < kRunWords * kPanel; ++i) runs[s].unpacked[i] |= (bits[i] >> s & 0x01010101) << 4;
  }
}

// Words: 0 to 31 have the four lower bits, 32 to 47 the upper two, 48 to 51 the multiples. Either half of a
// block has half of each; runs i and i + 2 of a half share the bytes of their lower bits, all four those of
// the upper.
void Q6_KFormat::decode(const BlockRows& rows, PanelRun* runs) {
  for (size_t s = 0; s < kSuperRuns; ++s) {
    const size_t half = s / 4;
    const size_t i = s % 4;
    const uint32_t* low = rows.word(half * 16 + i % 2 * kRunWords);
    const uint32_t* high = rows.word(32 + half * kRunWords);
    const unsigned shift = i < 2 ? 0 : 4;
    ROPEWALK_KEEP_LOOP
    for (size_t w = 0; w < kRunWords * kPanel; ++w)
      runs[s].unpacked[w] = (low[w] >> shift & 0x0f0f0f0f) | (high[w] >> 2 * i & 0x03030303) << 4;
    const uint32_t* multiples = rows.word(48 + s / 2);
    for (size_t part = 0; part < 2; ++part) {
      ROPEWALK_KEEP_LOOP
      for (size_t r = 0; r < kPanel; ++r) {
        const auto multiple = static_cast<int8_t>(multiples[r] >> 8 * (s % 2 * 2 + part));
        runs[s].scales[part][r] = widenFloat16(rows.halves[r]) * static_cast<float>(multiple);
        runs[s].mins[r] = 0;
      }
    }
  }
}

}  // namespace ropewalk
