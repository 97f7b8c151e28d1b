// Rotary position embedding (RoPE): pair j of a head's coordinates is turned by position * w_j, so that the
// score of a rotated query and key depends on the difference of their positions only.
// Su et al., RoFormer, arXiv:2104.09864.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "angles/phase.h"
#include "angles/sin_cos_rows.h"
#include "encodings/rope_layout.h"
#include "memory.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

// The numbers of the enums cross the wasm boundary: add at the end, never renumber.
enum class Pairing : int {
  kInterleaved = 0,  // (2 j, 2 j + 1)
  kHalf = 1          // (j, j + rotary_dim / 2)
};

// xPos: queries shrink and keys grow with the position, pair j by zeta_j^(+-(position - center) /
// scale_base), zeta_j = (2 j + 0.4 d) / 1.4 d. Positions reach 66 scale_base from the centre. Sun et al.,
// arXiv:2212.10554. The centre is fixed here, so that cached keys fit later queries.
struct XPosOptions {
  double scale_base = 0;  // 0: off; 512 is usual
  double center = 0;
};

struct RopeOptions {
  size_t head_dim = 0;           // D
  FrequencyOptions frequencies;  // frequencies.dim is the rotary dimension: even, at most head_dim
  Pairing pairing = Pairing::kHalf;
  Angles angles = Angles::kExact;
  AxisOptions axes;
  XPosOptions xpos;
};

// Positions of tokens. values is [axes][tokens], or [axes][batch][tokens] if per_batch; null means offset,
// offset + 1, ... on every axis.
struct Positions {
  const int64_t* values = nullptr;
  bool per_batch = false;
  int64_t offset = 0;
};

enum class Turn : int { kForward = 0, kBack = 1 };         // kBack undoes kForward, attention factor included
enum class Role : int { kAny = 0, kQuery = 1, kKey = 2 };  // xPos scales the two inversely

class RopePlan {
 public:
  // Leaves the plan as it was unless it answers kOk.
  Status create(const RopeOptions& options);

  size_t headDim() const { return head_dim_; }
  size_t pairs() const { return turns_.size(); }
  size_t axes() const { return axes_; }
  Pairing pairing() const { return pairing_; }
  double attentionFactor() const { return attention_factor_; }
  const double* frequencies() const { return radians_.data(); }  // [pairs]

  // Equal for plans that turn alike, and different for others but for one chance in 2^64.
  uint64_t fingerprint() const;

  // Whether `target` can take over keys of this plan: the same head_dim, pairs and runs, and xPos in both or
  // in neither.
  bool agreesWith(const RopePlan& target) const;

  // cos and sin, each [rows, pairs] and times the attention factor, at positions [axes][rows].
  Status tables(const int64_t* positions, size_t rows, float* cos, float* sin) const;

  // Whether every position is within the range of rotate.
  bool inRange(const Positions& positions, size_t batch, size_t tokens) const;

  // Turns the first rotary coordinates of every head of x in place and leaves the others alone. Positions may
  // be any integers in +-(2^53 - 1), in any order. Anything but kOk leaves x as it was: kPositionOutOfRange,
  // kInvalidShape, or kInvalidArgument where an xPos plan gets Role::kAny.
  Status rotate(HeadView<float> x, const Positions& positions, Turn turn = Turn::kForward,
                Role role = Role::kAny);

  // Makes the table as large as rotate would for so many tokens at these positions: before they are turned in
  // pieces. Turns nothing, and cannot fail.
  void expect(const Positions& positions, size_t tokens);

  // Queries and keys of the same tokens, at the same positions: rotate of each with its role, but
  // rows of the table are found once. The numbers of heads may differ; batch and tokens may not
  // (kInvalidShape). Anything but kOk leaves both as they were. They must not overlap.
  Status rotateBoth(HeadView<float> q, HeadView<float> k, const Positions& positions);

  // Keys that this plan turned at `from`, as `target` would have turned them at `to`: other positions,
  // another scaling, another pairing. The two phases are subtracted exactly and turned by once. The plans
  // must agree; for xPos x holds keys.
  Status rerotate(HeadView<float> x, const Positions& from, const RopePlan& target,
                  const Positions& to) const;

 private:
  struct AxisPositions {
    int64_t at[kMaxAxes];
  };
  // What a row of scratch_ holds.
  struct ScratchRow {
    bool made = false;
    AxisPositions token = {};
    Turn turn = Turn::kForward;
    Role role = Role::kAny;
  };
  // Tokens whose rows are not in the cache, turned at a time.
  static constexpr size_t kScratchRows = 32;

  AxisPositions axisPositions(const Positions& positions, size_t b, size_t t, size_t batch,
                              size_t tokens) const;
  bool sameRuns(const RopePlan& other) const;
  Turns phase(size_t pair, const AxisPositions& token) const;
  double magnitude(size_t pair, const AxisPositions& token, Role role) const;
  bool isPlain(const AxisPositions& token) const;
  void fillRow(SinCosRows& rows, const AxisPositions& token, Turn turn, Role role, float* cos,
               float* sin) const;
  const float* cachedRow(const AxisPositions& token) const;
  const float* scratchRow(size_t index, const AxisPositions& token, Turn turn, Role role);
  void turnTogether(std::span<const HeadView<float>> all, const Positions& positions, Turn turn, Role role);
  void turnRows(HeadView<float> x, size_t b, size_t start, size_t count, const float* const* rows, Pairing to,
                float* line) const;

  size_t head_dim_ = 0;
  Pairing pairing_ = Pairing::kHalf;
  Angles angles_ = Angles::kExact;
  XPosOptions xpos_;
  double attention_factor_ = 1;
  size_t axes_ = 1;
  PairRun runs_[kMaxAxes];
  size_t run_count_ = 0;
  Buffer<uint8_t> axis_;     // which axis turns each pair
  Buffer<Turns> turns_;      // exact frequency of each pair
  Buffer<double> radians_;   // the same in radians per position, rounded to double
  Buffer<float> radians32_;  // Angles::kFloat32: as float32 arithmetic has it
  SinCosRows rows_;          // makes those of cache_ and scratch_
  Buffer<float> cache_;      // forward rows of positions 0 .. cached_ - 1, each cos then sin
  Buffer<float> scratch_;  // the last rows that were not in the cache, kept: all layers of a model ask again
  ScratchRow scratch_rows_[kScratchRows];
  size_t cached_ = 0;
};

}  // namespace ropewalk
