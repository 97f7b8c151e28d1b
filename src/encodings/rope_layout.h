// How a rotary plan spreads over a head: which frequency each pair has, and which axis of position turns it.
// One axis is ordinary text; two are images (row, column), three are time, row and column of video.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "angles/inverse_frequencies.h"
#include "memory.h"
#include "status.h"

namespace ropewalk {

inline constexpr size_t kMaxAxes = 4;

// The numbers of the enums cross the wasm boundary: add at the end, never renumber.
enum class Angles : int {
  kExact = 0,   // the exact phase, rounded once
  kFloat32 = 1  // float32 frequency times float32 position, as checkpoints were trained: matches Hugging Face
};

// d is the rotary dimension.
enum class AxisLayout : int {
  kSingle = 0,    // one axis turns all pairs
  kAxial = 1,     // consecutive blocks of sizes[a] coordinates, each a RoPE of its own for axis a
  kSections = 2,  // M-RoPE, Qwen2-VL: the first sizes[0] pairs follow axis 0, the next sizes[1] axis 1, ...
  kInterleaved = 3,  // M-RoPE, Qwen3-VL: pairs 1, 4, 7, ... follow axis 1 and 2, 5, 8, ... axis 2, up to
                     // 3 * sizes[axis]; all others axis 0
  kVision = 4,       // Qwen2-VL's vision tower: the first d/4 pairs follow the row, the rest the column, both
                     // with the d/4 frequencies base^(-2j/(d/2))
  kPixtral = 5       // the first d/4 pairs follow the row with frequencies 0, 2, 4, ... of d, the rest the
                     // column with 1, 3, 5, ...
};

struct AxisOptions {
  AxisLayout layout = AxisLayout::kSingle;
  size_t axes = 1;
  std::array<size_t, kMaxAxes> sizes = {};  // kAxial: coordinates; kSections, kInterleaved: pairs
};

// A run of coordinates that holds whole pairs: those from first_pair on.
struct PairRun {
  size_t start = 0;  // first coordinate
  size_t first_pair = 0;
  size_t pairs = 0;
};

struct RopeLayout {
  Buffer<Real> frequencies;     // [pairs], radians per position
  Buffer<float> frequencies32;  // [pairs], as float32 arithmetic makes them; Angles::kFloat32 only
  Buffer<uint8_t> axis;         // [pairs], which axis turns the pair
  double attention_factor = 1;
  size_t axes = 1;
  PairRun runs[kMaxAxes];
  size_t run_count = 0;
};

// options.dim is the rotary dimension. kInvalidShape: sizes that do not add up to it, or an odd part;
// kInvalidArgument: a scaling that the layout cannot have.
Status layOutRope(const FrequencyOptions& options, const AxisOptions& axes, Angles angles,
                  RopeLayout* layout);

}  // namespace ropewalk
