#include "kernels/code_products.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/panel.h"
#include "kernels/weight_format.h"
#include "simd.h"
#include "simd/byte_dots.h"

namespace ropewalk {
namespace {

using simd::ByteDots;
using simd::f32x4;
using simd::kLanes;

constexpr size_t kMostRows = 64;      // that are rounded at a time
constexpr size_t kMostInputs = 2048;  // of a few rows
constexpr size_t kFewRows = kMostRows * kGemmDepth / kMostInputs;
constexpr size_t kMostRuns = kMostRows * kGemmDepth / kRunInputs;
constexpr size_t kMostParts = 2;  // of a run, which may have a scale each

// Rows of inputs, rounded: [row][run][..].
struct RoundedInputs {
  int8_t codes[kMostRuns][kRunInputs];  // their magnitudes where products take the signs apart
  int8_t signs[kMostRuns][kRunInputs];  // then -1 where a code is negative, 0 elsewhere
  float scales[kMostRuns];
  int32_t sums[kMostRuns][kMostParts];  // of the codes; then of the magnitudes of negative ones
};

// The scale of a run; NaN where a number is not finite.
float scaleOf(const float* x) {
  f32x4 largest = simd::splat(0);
  f32x4 nothing = simd::splat(0);  // unless a number is not finite
  for (size_t i = 0; i < kRunInputs; i += kLanes) {
    const f32x4 v = simd::load(x + i);
    largest = simd::max(largest, simd::max(v, simd::sub(simd::splat(0), v)));
    nothing = simd::add(nothing, simd::mul(v, simd::splat(0)));
  }
  const float scale = std::max(simd::maxLane(largest) / 127, std::numeric_limits<float>::min());
  return scale + simd::sum(nothing);
}

void roundRun(const float* x, bool signs_apart, RoundedInputs& to, size_t at) {
  const float scale = scaleOf(x);
  to.scales[at] = scale;
  int32_t codes[kRunInputs] = {};
  if (!std::isnan(scale)) {
    // Adding 1.5 * 2^23 leaves the nearest integer in the lowest bits.
    constexpr float kShift = 12582912;
    float shifted[kRunInputs];
    for (size_t i = 0; i < kRunInputs; i += kLanes) {
      const f32x4 q = simd::div(simd::load(x + i), simd::splat(scale));
      simd::store(shifted + i, simd::add(q, simd::splat(kShift)));
    }
    for (size_t i = 0; i < kRunInputs; ++i)
      codes[i] = std::bit_cast<int32_t>(shifted[i]) - std::bit_cast<int32_t>(kShift);
  }
  for (size_t i = 0; i < kRunInputs; ++i) {
    const int32_t sign = signs_apart && codes[i] < 0 ? -1 : 0;
    to.signs[at][i] = static_cast<int8_t>(sign);
    to.codes[at][i] = static_cast<int8_t>((codes[i] ^ sign) - sign);
    if (signs_apart) codes[i] &= sign;
  }
  constexpr size_t kPart = kRunInputs / kMostParts;
  for (size_t part = 0; part < kMostParts; ++part) {
    int32_t sum = 0;
    for (size_t i = 0; i < kPart; ++i) sum += codes[part * kPart + i];
    to.sums[at][part] = signs_apart ? -sum : sum;
  }
}

void roundRows(const float* a, size_t a_stride, size_t rows, size_t depth, size_t row_runs, bool signs_apart,
               RoundedInputs& to) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t run = 0; run < row_runs; ++run) {
      const float* x = a + r * a_stride + run * kRunInputs;
      float last[kRunInputs] = {};
      const size_t count = std::min(kRunInputs, depth - run * kRunInputs);
      if (count < kRunInputs) x = std::copy_n(x, count, last) - count;
      roundRun(x, signs_apart, to, r * row_runs + run);
    }
  }
}

void putSums(float* out, bool add, const float* sums, size_t columns) {
  for (size_t j = 0; j < columns; ++j) out[j] = add ? out[j] + sums[j] : sums[j];
}

// How codes are read: as bytes, or four bits at a time where they are.
struct ReadBytes {
  static constexpr bool kShifts = false;
  template <class Shift>
  simd::Codes operator()(const uint32_t* words, Shift) const {
    return simd::loadCodes(words);
  }
};
struct ReadFourBits {
  static constexpr bool kShifts = true;
  simd::Codes mask = simd::fourBits();
  template <class Shift>
  simd::Codes operator()(const uint32_t* words, Shift) const {
    return simd::loadFourBits(words, Shift::value, mask);
  }
};

// sums [Rows][kPanel] = the products of `count` runs with those of rows, the first of which are numbers `at`,
// at + stride and so on.
template <class Reader, bool SignsApart, size_t Parts, size_t Rows>
void multiplyRuns(float* sums, const PanelRun* runs, size_t count, const BlockCodes& codes,
                  const RoundedInputs& a, size_t at, size_t stride) {
  using Dots = ByteDots<SignsApart>;
  constexpr size_t kVectors =
      std::min(kPanelVectors, 8 / (Rows * Dots::kVectors));  // sums that fit into registers
  constexpr size_t kHalves = 2;
  const Reader read;
  constexpr size_t kPartHalves = kHalves / Parts;
  for (size_t first = 0; first < kPanelVectors; first += kVectors) {
    f32x4 totals[Rows][kVectors];
    for (auto& row : totals) {
      for (f32x4& total : row) total = simd::splat(0);
    }
    for (size_t run = 0; run < count; ++run) {
      const PanelRun& weights = runs[run];
      for (size_t part = 0; part < kHalves; part += kPartHalves) {
        Dots dots[Rows][kVectors];
        for (size_t r = 0; r < Rows; ++r) {
          const int32_t* halves = a.sums[at + r * stride + run];
          const int32_t sum = kPartHalves == kHalves ? halves[0] + halves[1] : halves[part];
          for (Dots& each : dots[r]) each = Dots(SignsApart ? sum : -codes.offset * sum);
        }
        for (size_t half = part; half < part + kPartHalves; ++half) {
          const uint32_t* words = weights.codes[half] + first * kLanes;
          const auto addHalf = [&](auto shift) {
            ROPEWALK_KEEP_LOOP
            for (size_t i = half * 16; i < (half + 1) * 16; i += 4, words += kPanel) {
              typename Dots::Inputs inputs[Rows];
              for (size_t r = 0; r < Rows; ++r) {
                const size_t from = at + r * stride + run;
                inputs[r] = Dots::inputs(a.codes[from] + i, a.signs[from] + i);
              }
              for (size_t v = 0; v < kVectors; ++v) {
                const simd::Codes w = read(words + v * kLanes, shift);
                for (size_t r = 0; r < Rows; ++r) dots[r][v].add(inputs[r], w);
              }
            }
          };
          if (!Reader::kShifts || weights.shifts[half] == 0) {
            addHalf(std::integral_constant<unsigned, 0>());
          } else {
            addHalf(std::integral_constant<unsigned, 4>());
          }
        }
        for (size_t r = 0; r < Rows; ++r) {
          const f32x4 s = simd::splat(a.scales[at + r * stride + run]);
          for (size_t v = 0; v < kVectors; ++v) {
            const f32x4 scale = simd::load(weights.scales[part] + (first + v) * kLanes);
            totals[r][v] = simd::add(totals[r][v], simd::mul(s, simd::mul(scale, dots[r][v].floats())));
          }
        }
      }
      if (!codes.has_mins) continue;
      for (size_t r = 0; r < Rows; ++r) {
        const size_t from = at + r * stride + run;
        const f32x4 s = simd::splat(a.scales[from] * static_cast<float>(a.sums[from][0] + a.sums[from][1]));
        for (size_t v = 0; v < kVectors; ++v) {
          const f32x4 min = simd::load(weights.mins + (first + v) * kLanes);
          totals[r][v] = simd::sub(totals[r][v], simd::mul(s, min));
        }
      }
    }
    for (size_t r = 0; r < Rows; ++r) {
      for (size_t v = 0; v < kVectors; ++v)
        simd::store(sums + r * kPanel + (first + v) * kLanes, totals[r][v]);
    }
  }
}

// Two rows at a time, and one; null where that is two of which one counts for nothing.
struct RunProducts {
  using Multiply = void (*)(float*, const PanelRun*, size_t, const BlockCodes&, const RoundedInputs&, size_t,
                            size_t);
  Multiply two;
  Multiply one;
};

RunProducts productsOf(const BlockCodes& codes, bool in_place) {
  if (codes.scale_inputs < kRunInputs)
    return {multiplyRuns<ReadBytes, false, 2, 2>, multiplyRuns<ReadBytes, false, 2, 1>};
  if constexpr (simd::kDotsTakeSigns) {
    if (codes.is_signed) return {multiplyRuns<ReadBytes, true, 1, 2>, nullptr};
  }
  const auto one = in_place ? multiplyRuns<ReadFourBits, false, 1, 1> : multiplyRuns<ReadBytes, false, 1, 1>;
  return {multiplyRuns<ReadBytes, false, 1, 2>, one};
}

// The same for one row and blocks of 32 weights with a finite scale, read from where they are.
template <class Format>
void multiplyBlocks(float* sums, const unsigned char* block, size_t count, const RoundedInputs& a,
                    size_t at) {
  constexpr BlockCodes kCodes = Format::kCodes;
  constexpr bool kSignsApart = kCodes.is_signed && simd::kDotsTakeSigns;
  using Dots = ByteDots<kSignsApart>;
  const simd::F16Constants halves;
  const simd::Codes mask = simd::fourBits();
  f32x4 totals[kPanelVectors];
  for (f32x4& total : totals) total = simd::splat(0);
  for (; count > 0; --count, ++at, block += Format::kPanelBytes) {
    const auto* words = reinterpret_cast<const uint32_t*>(block);
    const auto* scales = reinterpret_cast<const uint16_t*>(words + Format::kBlockBytes / 4 * kPanel);
    const int32_t sum = a.sums[at][0] + a.sums[at][1];
    Dots dots[kPanelVectors];
    for (Dots& each : dots) each = Dots(kSignsApart ? sum : -kCodes.offset * sum);
    ROPEWALK_KEEP_LOOP
    for (size_t i = 0; i < (kCodes.four_bits ? 16 : 32); i += 4, words += kPanel) {
      const auto low = Dots::inputs(a.codes[at] + i, a.signs[at] + i);
      if constexpr (kCodes.four_bits) {
        const auto high = Dots::inputs(a.codes[at] + i + 16, a.signs[at] + i + 16);
        for (size_t v = 0; v < kPanelVectors; ++v) {
          dots[v].add(low, simd::loadFourBits(words + v * kLanes, 0, mask));
          dots[v].add(high, simd::loadFourBits(words + v * kLanes, 4, mask));
        }
      } else {
        for (size_t v = 0; v < kPanelVectors; ++v) dots[v].add(low, simd::loadCodes(words + v * kLanes));
      }
    }
    const f32x4 s = simd::splat(a.scales[at]);
    for (size_t v = 0; v < kPanelVectors; ++v) {
      const f32x4 scale = simd::mul(simd::loadSmallF16(scales + v * kLanes, halves.mask), halves.scale);
      totals[v] = simd::add(totals[v], simd::mul(s, simd::mul(scale, dots[v].floats())));
    }
  }
  for (size_t v = 0; v < kPanelVectors; ++v) simd::store(sums + v * kLanes, totals[v]);
}

using QuickFormats = FormatList<Q4_0Format, Q8_0Format>;

// A product of one row, where multiplyBlocks serves its format; answers whether it does.
bool multiplyRow(float* out, bool add, const PackedMatrix& w, PanelRange panels, size_t start, size_t depth,
                 const RoundedInputs& a) {
  bool done = false;
  if (!w.finite()) return done;
  withFormatOf(QuickFormats(), w.type(), [&](auto format) {
    using Format = decltype(format);
    for (size_t p = panels.first; p < panels.end; ++p) {
      const size_t columns = std::min(kPanel, w.rows() - p * kPanel);
      for (size_t l = 0; l < depth; l += kGemmDepth) {
        const size_t count = (std::min(kGemmDepth, depth - l) + kRunInputs - 1) / kRunInputs;
        const unsigned char* block = w.panel(p) + (start + l) / kRunInputs * Format::kPanelBytes;
        float sums[kPanel];
        multiplyBlocks<Format>(sums, block, count, a, l / kRunInputs);
        putSums(out + p * kPanel, add || l > 0, sums, columns);
      }
    }
    done = true;
  });
  return done;
}

// Some rows and inputs of a product.
struct Piece {
  float* out;
  size_t out_stride;
  bool add;
  size_t rows;
  size_t row_runs;
  PanelRange panels;
};

void multiplyPiece(const Piece& piece, const PackedMatrix& w, size_t start, size_t depth,
                   const RoundedInputs& a) {
  const BlockCodes& codes = formatOf(w.type()).codes;
  const bool in_place = codes.four_bits && piece.rows == 1;
  const RunProducts products = productsOf(codes, in_place);
  PanelRun runs[kGemmDepth / kRunInputs];
  for (size_t p = piece.panels.first; p < piece.panels.end; ++p) {
    const size_t columns = std::min(kPanel, w.rows() - p * kPanel);
    for (size_t l = 0; l < depth; l += kGemmDepth) {
      const size_t count = w.unpack(p, start + l, std::min(kGemmDepth, depth - l), runs);
      for (size_t run = 0; codes.four_bits && !in_place && run < count; ++run) runs[run].toBytes();
      for (size_t row = 0; row < piece.rows; row += 2) {
        const size_t rows = std::min(size_t{2}, piece.rows - row);
        const size_t at = row * piece.row_runs + l / kRunInputs;
        float sums[2 * kPanel];
        const auto multiply = rows == 1 && products.one != nullptr ? products.one : products.two;
        multiply(sums, runs, count, codes, a, at, rows == 1 ? 0 : piece.row_runs);
        for (size_t r = 0; r < rows; ++r)
          putSums(piece.out + (row + r) * piece.out_stride + p * kPanel, piece.add || l > 0,
                  sums + r * kPanel, columns);
      }
    }
  }
}

}  // namespace

void multiplyCodes(float* out, size_t out_stride, const float* a, size_t a_stride, const PackedMatrix& w,
                   PanelRange panels, size_t m, bool accumulate) {
  const size_t k = w.columns();
  const BlockCodes& codes = formatOf(w.type()).codes;
  const bool signs_apart = codes.is_signed && simd::kDotsTakeSigns;
  RoundedInputs rounded;
  for (size_t i = 0; i < m; i += kMostRows) {
    const size_t rows = std::min(kMostRows, m - i);
    const size_t most = rows <= kFewRows ? kMostInputs : kGemmDepth;
    for (size_t l = 0; l < k; l += most) {
      const size_t depth = std::min(most, k - l);
      const size_t row_runs = (depth + kRunInputs - 1) / kRunInputs;
      roundRows(a + i * a_stride + l, a_stride, rows, depth, row_runs, signs_apart, rounded);
      if (rows == 1 && multiplyRow(out + i * out_stride, accumulate || l > 0, w, panels, l, depth, rounded))
        continue;
      const Piece piece = {out + i * out_stride, out_stride, accumulate || l > 0, rows, row_runs, panels};
      multiplyPiece(piece, w, l, depth, rounded);
    }
  }
}

}  // namespace ropewalk
