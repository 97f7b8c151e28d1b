// Formats of weights. Each is a struct of static members in kernels/formats/, and the list below names them:
// no other file lists them.
//
// In a file, a row of weights is a row of blocks, the last one filled up with zeros.
//   kType                    its number
//   kBlock, kBlockBytes      weights of a block (a divisor of kGemmDepth), and its bytes, at any address
//   widen(from, n, out)      out = the first n weights of the blocks at `from`
//   narrow(x, n, out)        blocks of n floats, whole blocks; a number becomes the nearest that there is, a
//                            block what kernels/formats/narrow_blocks.cpp says
//   kEnd, kHoldsInfinity     narrow keeps |x| < kEnd finite; whether it keeps infinity and NaN
//   kRowScales, scaleFor(x)  whether weights are multiples of a scale of their row, and that scale where x is
//                            the largest magnitude. widen and narrow then deal with the multiples, and there
//                            are no such files
//
// In memory, a panel of kPanel rows is a head, with those scales as float32, and blocks of all its rows.
//   kHeadBytes, kPanelBytes  bytes of the head, and of one block of all rows. Zeros are weights of 0
//   pack(panel, r, rows, l, n, from, stride)  `rows` rows from r on, from input l on = the n weights of the
//                            blocks at `from`, `from` + stride, ..., in bytes
//   kFewRows                 products of at most so many rows read panels as they are and pack nothing
//   finite(panel, l, n)      whether withReader may count on n inputs from l on to have finite weights
//
// Formats of numbers are read weight by weight:
//   at(panel, l)             what a reader reads from input l on, a multiple of its kRun: const Stored*
//   withReader(finite, f)    f(Reader()), where input(x) is x and columns are in order
//   withQuickReader(finite, below, f)  the same for few rows, where they need not be; below(x): whether all
//                            inputs are smaller than x
//
// A reader converts a panel to floats. It holds the constants that a loop needs.
//   kRun                     scales(panel, l) are those of this many inputs, a divisor of kGemmDepth
//   kStep                    inputs that are read at once, a divisor of kRun
//   read(at, i, scales, rows)  rows [kStep] = the weights of inputs i, i + 1, ... of the run, by columns
//   input(x)                 what they are to be multiplied by for an input of x
//   inOrder(sums)            puts the sums of a panel's columns in order
//   kPanels                  panels that a product of one row reads side by side
//   kTogether                rows, 1 or 2, for which a product of several reads a panel at a time
//
// Formats of codes, kernels/formats/block.h, are decoded block by block, so that one product serves them all:
//   kCodes                   how their codes are read
//   unpack(block, runs)      the runs of one block of all rows of a panel
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "kernels/formats/bfloat16.h"
#include "kernels/formats/block.h"
#include "kernels/formats/float16.h"
#include "kernels/formats/float32.h"
#include "kernels/formats/int8.h"
#include "kernels/formats/q4_0.h"
#include "kernels/formats/q4_1.h"
#include "kernels/formats/q4_k.h"
#include "kernels/formats/q5_0.h"
#include "kernels/formats/q5_1.h"
#include "kernels/formats/q5_k.h"
#include "kernels/formats/q6_k.h"
#include "kernels/formats/q8_0.h"
#include "kernels/weight_type.h"

namespace ropewalk {

template <class... Formats>
struct FormatList {};

template <class... A, class... B>
FormatList<A..., B...> joined(FormatList<A...>, FormatList<B...>);

// By their numbers.
using NumberFormats = FormatList<Float32Format, Float16Format, Bfloat16Format, Int8Format>;
using CodeFormats = FormatList<Q4_0Format, Q4_1Format, Q5_0Format, Q5_1Format, Q8_0Format, Q4_KFormat,
                               Q5_KFormat, Q6_KFormat>;
using WeightFormats = decltype(joined(NumberFormats(), CodeFormats()));

// f(Format()) with the format of that number, if it is in the list.
template <class... Formats, class F>
void withFormatOf(FormatList<Formats...>, WeightType type, F f) {
  (void)((type == Formats::kType && (f(Formats()), true)) || ...);
}
template <class F>
void withFormat(WeightType type, F f) {
  withFormatOf(WeightFormats(), type, f);
}

// The properties of the format of a number.
struct WeightFormat {
  WeightType type;
  size_t block;
  size_t block_bytes;
  size_t head_bytes;
  size_t panel_bytes;
  size_t few_rows;
  bool row_scales;
  float end;
  bool holds_infinity;
  BlockCodes codes;

  bool hasCodes() const { return codes.scale_inputs != 0; }
  // Whether x, narrowed, is finite where x is, and still what it was where x is not.
  bool holds(float x) const { return std::fabs(x) < end || (holds_infinity && !std::isfinite(x)); }
  // Bytes of a row of k weights in a file.
  size_t rowBytes(size_t k) const { return blocks(k) * block_bytes; }
  size_t blocks(size_t k) const { return k / block + (k % block != 0 ? 1 : 0); }
};

template <class... Formats>
consteval std::array<WeightFormat, sizeof...(Formats)> tableOf(FormatList<Formats...>) {
  return {
      {{Formats::kType, Formats::kBlock, Formats::kBlockBytes, Formats::kHeadBytes, Formats::kPanelBytes,
        Formats::kFewRows, Formats::kRowScales, Formats::kEnd, Formats::kHoldsInfinity, Formats::kCodes}...}};
}

inline constexpr auto kWeightFormats = tableOf(WeightFormats());

inline const WeightFormat& formatOf(WeightType type) {
  return kWeightFormats[static_cast<size_t>(type)];
}

// The functions of the format of a number.
struct WeightMethods {
  void (*widen)(const unsigned char* from, size_t n, float* out);
  void (*narrow)(const float* x, size_t n, unsigned char* out);
  void (*pack)(unsigned char* panel, size_t r, size_t rows, size_t l, size_t n, const unsigned char* from,
               size_t stride);
  bool (*finite)(const unsigned char* panel, size_t l, size_t n);
  float (*scaleFor)(float x);                                  // null without scales of rows
  void (*unpack)(const unsigned char* block, PanelRun* runs);  // null without codes
};
const WeightMethods& methodsOf(WeightType type);

// out = n weights of blocks at any address; without scales of rows. Apart. Any n, including 0.
void widen(WeightType type, const void* values, size_t n, float* out);

}  // namespace ropewalk
