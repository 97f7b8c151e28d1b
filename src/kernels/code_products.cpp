#include "kernels/code_products.h"

#include <algorithm>

#include "kernels/code_row.h"
#include "kernels/panel.h"
#include "kernels/rounded_inputs.h"
#include "kernels/weight_format.h"
#include "simd.h"
#include "simd/byte_dots.h"

namespace ropewalk {
namespace {

using simd::ByteDots;
using simd::f32x4;
using simd::kLanes;
using simd::NibbleDots;
using simd::PairDots;

constexpr size_t kMostAlone = 3;  // rows that are faster one by one
constexpr size_t kHalves = 2;     // of a run

// sums [Rows][kPanel] = the products of `count` runs with those of rows, the first of which are numbers `at`,
// at + stride and so on.
template <class Dots, bool SignsApart, size_t Parts, size_t Rows>
void multiplyRuns(float* sums, const PanelRun* runs, size_t count, const BlockCodes& codes,
                  const RoundedInputs& a, size_t at, size_t stride) {
  constexpr size_t kVectors =
      std::min(kPanelVectors, 8 / (Rows * Dots::kVectors));  // sums that fit into registers
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
          const size_t from = at + r * stride + run;
          const int32_t sum = kPartHalves == kHalves ? a.sum(from) : a.sums[from][part];
          for (Dots& each : dots[r]) each = Dots(SignsApart ? sum : -codes.offset * sum);
        }
        for (size_t half = part; half < part + kPartHalves; ++half) {
          const uint32_t* words = weights.codes[half] + first * kLanes;
          ROPEWALK_KEEP_LOOP
          for (size_t i = half * 16; i < (half + 1) * 16; i += 4, words += kPanel) {
            typename Dots::Inputs inputs[Rows];
            for (size_t r = 0; r < Rows; ++r) {
              const RunBytes& of_row = a.bytes[at + r * stride + run];
              inputs[r] = Dots::inputs(of_row.codes + i, of_row.signs + i);
            }
            for (size_t v = 0; v < kVectors; ++v) {
              const simd::Codes w = simd::loadCodes(words + v * kLanes);
              for (size_t r = 0; r < Rows; ++r) dots[r][v].add(inputs[r], w);
            }
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
        const f32x4 s = simd::splat(a.scaled_sums[from]);
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

// A run of weights in int16 numbers less the offset of their format, in the order of simd::storePairs.
using WeightPairs = int16_t[kRunInputs / 2][kPanel][2];

void pairsOf(const PanelRun& run, const BlockCodes& codes, WeightPairs& pairs) {
  const auto offset = static_cast<uint32_t>(codes.offset);
  const simd::Codes offsets = simd::splatCodes(offset << 16 | offset);
  ROPEWALK_KEEP_LOOP
  for (size_t half = 0; half < kHalves; ++half) {
    ROPEWALK_KEEP_LOOP
    for (size_t i = 0; i < kRunWords / 2; ++i) {
      for (size_t row = 0; row < kPanel; row += kLanes)
        simd::storePairs(pairs[half * kRunWords + 2 * i][row], kPanel * 2,
                         simd::loadCodes(run.codes[half] + i * kPanel + row), offsets);
    }
  }
}

// As multiplyRuns has it, of kPairRows rows, whose runs are those from `start` on; sums [kPairRows][kPanel].
void multiplyPairs(float* sums, const PanelRun* runs, const WeightPairs* pairs, size_t count,
                   const BlockCodes& codes, const RoundedInputs& a, size_t start) {
  constexpr size_t kVectors = 2;
  const size_t more_parts = codes.scale_inputs < kRunInputs ? 1 : 0;
  for (size_t first = 0; first < kPanel; first += kVectors * kLanes) {
    f32x4 totals[kPairRows][kVectors];
    for (auto& of_row : totals) {
      for (f32x4& total : of_row) total = simd::splat(0);
    }
    const int16_t* w = pairs[0][0][first];
    const int16_t* x = a.pairs[start][0][0];
    ROPEWALK_KEEP_LOOP
    for (size_t part = 0; part < count << more_parts; ++part) {
      PairDots dots[kPairRows][kVectors];
      const int16_t* end = x + codes.scale_inputs * kPairRows;
      ROPEWALK_KEEP_LOOP
      for (; x != end; x += kPairRows * 2, w += kPanel * 2) {
        PairDots::Pairs rows[kVectors];
        for (size_t v = 0; v < kVectors; ++v) rows[v] = PairDots::weights(w + v * kLanes * 2);
        for (size_t r = 0; r < kPairRows; ++r) {
          const PairDots::Pairs input = PairDots::inputs(x + r * 2);
          for (size_t v = 0; v < kVectors; ++v) dots[r][v].add(input, rows[v]);
        }
      }
      const size_t run = part >> more_parts;
      const PanelRun& weights = runs[run];
      const size_t at = (start + run) * kPairRows;
      const float* scales = weights.scales[part & more_parts] + first;
      for (size_t r = 0; r < kPairRows; ++r) {
        const f32x4 s = simd::splat(a.scales[at + r]);
        for (size_t v = 0; v < kVectors; ++v) {
          const f32x4 scale = simd::load(scales + v * kLanes);
          totals[r][v] = simd::add(totals[r][v], simd::mul(s, simd::mul(scale, dots[r][v].floats())));
        }
      }
      for (size_t r = 0; codes.has_mins && r < kPairRows; ++r) {
        const f32x4 s = simd::splat(a.scaled_sums[at + r]);
        for (size_t v = 0; v < kVectors; ++v) {
          const f32x4 min = simd::load(weights.mins + first + v * kLanes);
          totals[r][v] = simd::sub(totals[r][v], simd::mul(s, min));
        }
      }
    }
    for (size_t r = 0; r < kPairRows; ++r) {
      for (size_t v = 0; v < kVectors; ++v) simd::store(sums + r * kPanel + first + v * kLanes, totals[r][v]);
    }
  }
}

using Multiply = void (*)(float*, const PanelRun*, size_t, const BlockCodes&, const RoundedInputs&, size_t,
                          size_t);

// The product of two rows, which may be the same one.
Multiply productOf(const BlockCodes& codes) {
  if (codes.scale_inputs < kRunInputs) return multiplyRuns<ByteDots<false>, false, 2, 2>;
  if constexpr (simd::kDotsTakeSigns) {
    if (codes.is_signed) return multiplyRuns<ByteDots<true>, true, 1, 2>;
  }
  if (codes.four_bits && simd::dotsAreSlow()) return multiplyRuns<NibbleDots, false, 1, 2>;
  return multiplyRuns<ByteDots<false>, false, 1, 2>;
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
                   const RoundedInputs& a, InputForm form) {
  const BlockCodes& codes = formatOf(w.type()).codes;
  const Multiply multiply = productOf(codes);
  const bool in_pairs = form == InputForm::kPairs;
  const size_t most = in_pairs ? kPairRows : 2;
  PanelRun runs[kGemmDepth / kRunInputs];
  WeightPairs pairs[kGemmDepth / kRunInputs];
  for (size_t p = piece.panels.first; p < piece.panels.end; ++p) {
    const size_t columns = std::min(kPanel, w.rows() - p * kPanel);
    for (size_t l = 0; l < depth; l += kGemmDepth) {
      const size_t count = w.unpack(p, start + l, std::min(kGemmDepth, depth - l), runs);
      for (size_t run = 0; run < count; ++run) {
        if (codes.four_bits) runs[run].toBytes();
        if (in_pairs) pairsOf(runs[run], codes, pairs[run]);
      }
      for (size_t row = 0; row < piece.rows; row += most) {
        const size_t rows = std::min(most, piece.rows - row);
        const size_t at = row * piece.row_runs + l / kRunInputs;
        float sums[kPairRows * kPanel];
        if (in_pairs) {
          multiplyPairs(sums, runs, pairs, count, codes, a,
                        row / kPairRows * piece.row_runs + l / kRunInputs);
        } else {
          multiply(sums, runs, count, codes, a, at, rows == 1 ? 0 : piece.row_runs);
        }
        for (size_t r = 0; r < rows; ++r)
          putSums(piece.out + (row + r) * piece.out_stride + p * kPanel, piece.add || l > 0,
                  sums + r * kPanel, columns);
      }
    }
  }
}

InputForm bytesFor(const BlockCodes& codes) {
  return codes.is_signed && simd::kDotsTakeSigns ? InputForm::kSignsApart : InputForm::kBytes;
}

}  // namespace

void multiplyCodes(float* out, size_t out_stride, const float* a, size_t a_stride, const PackedMatrix& w,
                   PanelRange panels, size_t m, bool accumulate) {
  const size_t k = w.columns();
  const BlockCodes& codes = formatOf(w.type()).codes;
  RoundedInputs rounded;
  for (size_t i = 0; i < m; i += kMostRows) {
    const size_t rows = std::min(kMostRows, m - i);
    const bool one_by_one = rows <= kMostAlone && w.finite();
    const InputForm form =
        !one_by_one && simd::pairsAreFaster(codes.is_signed) ? InputForm::kPairs : bytesFor(codes);
    const size_t most = rows <= kFewRows ? kMostInputs : kGemmDepth;  // speed alone
    // Those are multiplied by whole blocks.
    const size_t unit = one_by_one ? kGemmDepth : kRunInputs;
    for (size_t l = 0; l < k; l += most) {
      const size_t depth = std::min(most, k - l);
      const size_t row_runs = (depth + unit - 1) / unit * (unit / kRunInputs);
      roundRows(a + i * a_stride + l, a_stride, rows, depth, row_runs, form, rounded);
      const Piece piece = {out + i * out_stride, out_stride, accumulate || l > 0, rows, row_runs, panels};
      if (one_by_one) {
        multiplyCodeRows(piece.out, out_stride, piece.add, w, panels, rows, row_runs, l, depth, rounded);
      } else {
        multiplyPiece(piece, w, l, depth, rounded, form);
      }
    }
  }
}

}  // namespace ropewalk
