#include "encodings/rope.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <utility>

#include "angles/power.h"
#include "checksum.h"
#include "kernels/rope.h"
#include "parallel.h"

namespace ropewalk {
namespace {

// Tokens that are turned for every head before the next: long stretches of memory, and a table for them that
// stays in the second cache level.
constexpr size_t kTokenBlock = 256;

constexpr size_t kElementWork = 4;  // multiplications that take as long as one coordinate

// The cache of forward rows stops growing here; later positions are computed where they are used.
constexpr size_t kMaxCacheBytes = size_t{16} << 20;

// rows[t] is for token start + t, of every head: cosines, then sines, each [pairs].
struct RowBlock {
  HeadView<float> x;
  size_t b;
  size_t start;
  size_t count;
  const float* const* rows;
  size_t pairs;
  float* line;  // room for one row, where From and To differ
};

template <class From, class To>
void turnRun(const RowBlock& block, PairRun run) {
  constexpr bool kInPlace = std::is_same_v<From, To>;
  constexpr size_t kTogether = kInPlace ? kHeadsTogether : 1;
  const HeadView<float> x = block.x;
  float* const first = x.row(block.b, 0, block.start) + run.start;
  const auto turn = [&](size_t h, size_t t, [[maybe_unused]] auto heads) {
    float* row = first + h * x.head_stride + t * x.token_stride;
    const float* cos = block.rows[t] + run.first_pair;
    const float* sin = cos + block.pairs;
    if constexpr (kInPlace) {
      rotateRows<From, heads>(row, x.head_stride, cos, sin, run.pairs);
    } else {
      std::copy_n(row, 2 * run.pairs, block.line);
      rotatePairs<From, To>(row, block.line, cos, sin, run.pairs);
    }
  };
  // In the order of memory.
  if (x.token_stride < x.head_stride) {
    forHeads<kTogether>(x.heads, [&](size_t h, auto heads) {
      for (size_t t = 0; t < block.count; ++t) turn(h, t, heads);
    });
  } else {
    for (size_t t = 0; t < block.count; ++t) {
      forHeads<kTogether>(x.heads, [&](size_t h, auto heads) { turn(h, t, heads); });
    }
  }
}

// By the pairing read and the pairing written.
constexpr void (*kTurnRun[2][2])(const RowBlock&, PairRun) = {
    {turnRun<InterleavedPairs, InterleavedPairs>, turnRun<InterleavedPairs, HalfPairs>},
    {turnRun<HalfPairs, InterleavedPairs>, turnRun<HalfPairs, HalfPairs>}};

}  // namespace

Status RopePlan::create(const RopeOptions& options) {
  const size_t rotary_dim = options.frequencies.dim;
  if (rotary_dim == 0 || rotary_dim % 2 != 0 || rotary_dim > options.head_dim) return Status::kInvalidShape;
  if (!std::isfinite(options.xpos.scale_base) || options.xpos.scale_base < 0 ||
      !std::isfinite(options.xpos.center)) {
    return Status::kInvalidArgument;
  }

  RopeLayout layout;
  const Status status = layOutRope(options.frequencies, options.axes, options.angles, &layout);
  if (status != Status::kOk) return status;
  const size_t pairs = rotary_dim / 2;
  RopePlan plan;
  if (plan.turns_.allocate(pairs) != Status::kOk || plan.radians_.allocate(pairs) != Status::kOk ||
      plan.scratch_.allocate(pairs, kScratchRows * 2) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  for (size_t j = 0; j < pairs; ++j) {
    plan.turns_[j] = turnsFromRadians(layout.frequencies[j]);
    plan.radians_[j] = layout.frequencies[j].toDouble();
  }
  plan.rows_.create(plan.turns_.data(), pairs);
  plan.radians32_ = std::move(layout.frequencies32);
  plan.axis_ = std::move(layout.axis);
  plan.axes_ = layout.axes;
  plan.attention_factor_ = layout.attention_factor;
  std::copy_n(layout.runs, kMaxAxes, plan.runs_);
  plan.run_count_ = layout.run_count;
  plan.head_dim_ = options.head_dim;
  plan.pairing_ = options.pairing;
  plan.angles_ = options.angles;
  plan.xpos_ = options.xpos;
  *this = std::move(plan);
  return Status::kOk;
}

RopePlan::AxisPositions RopePlan::axisPositions(const Positions& positions, size_t b, size_t t, size_t batch,
                                                size_t tokens) const {
  AxisPositions token = {};
  const size_t stride = (positions.per_batch ? batch : 1) * tokens;
  for (size_t a = 0; a < axes_; ++a) {
    token.at[a] = positions.values == nullptr
                      ? positions.offset + static_cast<int64_t>(t)
                      : positions.values[a * stride + (positions.per_batch ? b * tokens : 0) + t];
  }
  return token;
}

bool RopePlan::inRange(const Positions& positions, size_t batch, size_t tokens) const {
  // The smallest zeta of xPos is 0.4 / 1.4 = 2^-1.81: 66 steps of it come to 2^119, near the end of float32.
  constexpr double kXPosReach = 66;
  const auto is_position = [&](int64_t p) {
    return isPosition(p) && (xpos_.scale_base == 0 || std::fabs(static_cast<double>(p) - xpos_.center) <=
                                                          kXPosReach * xpos_.scale_base);
  };
  if (positions.values == nullptr) {
    return is_position(positions.offset) && is_position(positions.offset + static_cast<int64_t>(tokens) - 1);
  }
  const size_t count = axes_ * (positions.per_batch ? batch : 1) * tokens;
  return std::all_of(positions.values, positions.values + count, is_position);
}

Turns RopePlan::phase(size_t pair, const AxisPositions& token) const {
  const int64_t position = token.at[axis_[pair]];
  return angles_ == Angles::kExact ? phaseAt(turns_[pair], position)
                                   : phaseOfRadians(static_cast<float>(position) * radians32_[pair]);
}

double RopePlan::magnitude(size_t pair, const AxisPositions& token, Role role) const {
  if (xpos_.scale_base == 0) return attention_factor_;
  const auto pair_count = static_cast<double>(pairs());
  const double zeta = (static_cast<double>(pair) + 0.4 * pair_count) / (1.4 * pair_count);
  const double steps = (static_cast<double>(token.at[axis_[pair]]) - xpos_.center) / xpos_.scale_base;
  return attention_factor_ * power(zeta, role == Role::kKey ? -steps : steps);
}

// Whether its pairs turn as those of SinCosRows: exactly, by one position, and by one factor.
bool RopePlan::isPlain(const AxisPositions& token) const {
  if (angles_ != Angles::kExact || xpos_.scale_base != 0) return false;
  return std::all_of(token.at + 1, token.at + axes_, [&](int64_t p) { return p == token.at[0]; });
}

void RopePlan::fillRow(SinCosRows& rows, const AxisPositions& token, Turn turn, Role role, float* cos,
                       float* sin) const {
  if (isPlain(token)) {
    const double factor = turn == Turn::kForward ? attention_factor_ : 1 / attention_factor_;
    rows.fill(token.at[0], factor, SeparateSinCos{sin, cos});
    if (turn == Turn::kForward) return;
    for (size_t j = 0; j < pairs(); ++j) sin[j] = 0 - sin[j];
    return;
  }
  for (size_t j = 0; j < pairs(); ++j) {
    const Turns forward = phase(j, token);
    const double scale = magnitude(j, token, role);
    const SinCos angle = sinCos(turn == Turn::kForward ? forward : Turns{0} - forward);
    const double factor = turn == Turn::kForward ? scale : 1 / scale;
    if (angles_ == Angles::kExact) {
      cos[j] = static_cast<float>(angle.cos * factor);
      sin[j] = static_cast<float>(angle.sin * factor);
    } else {  // rounded before the factor is applied, as there
      cos[j] = static_cast<float>(angle.cos) * static_cast<float>(factor);
      sin[j] = static_cast<float>(angle.sin) * static_cast<float>(factor);
    }
  }
}

Status RopePlan::tables(const int64_t* positions, size_t rows, float* cos, float* sin) const {
  const Positions all = {positions, false, 0};
  if (!inRange(all, 1, rows)) return Status::kPositionOutOfRange;
  SinCosRows quick;
  quick.create(turns_.data(), pairs());
  quick.expect(rows);
  for (size_t r = 0; r < rows; ++r) {
    fillRow(quick, axisPositions(all, 0, r, 1, rows), Turn::kForward, Role::kAny, cos + r * pairs(),
            sin + r * pairs());
  }
  return Status::kOk;
}

const float* RopePlan::cachedRow(const AxisPositions& token) const {
  const int64_t position = token.at[0];
  if (position < 0 || static_cast<uint64_t>(position) >= cached_) return nullptr;
  for (size_t a = 1; a < axes_; ++a) {
    if (token.at[a] != position) return nullptr;
  }
  return cache_.data() + static_cast<size_t>(position) * 2 * pairs();
}

// Only runs that continue what is cached extend it, so that one far position costs one row and not all before
// it. A failed allocation is no error: rows are then made where they are used.
void RopePlan::expect(const Positions& positions, size_t tokens) {
  if (positions.values != nullptr || positions.offset < 0 || xpos_.scale_base != 0) return;
  const size_t limit = kMaxCacheBytes / (2 * pairs() * sizeof(float));
  if (static_cast<uint64_t>(positions.offset) > cached_ || tokens > limit) return;
  const size_t end = static_cast<size_t>(positions.offset) + tokens;
  if (end <= cached_ || end > limit) return;

  const size_t rows = std::min(limit, std::max({kScratchRows, 2 * cached_, end}));
  Buffer<float> grown;
  if (grown.allocate(rows * 2 * pairs()) != Status::kOk) return;
  std::copy_n(cache_.data(), cached_ * 2 * pairs(), grown.data());
  rows_.expect(rows - cached_);
  const Positions from_zero;
  for (size_t p = cached_; p < rows; ++p) {
    float* row = grown.data() + p * 2 * pairs();
    fillRow(rows_, axisPositions(from_zero, 0, p, 1, rows), Turn::kForward, Role::kAny, row, row + pairs());
  }
  cache_ = std::move(grown);
  cached_ = rows;
}

// Applies rows[t] to token start + t of every head. `line` holds one row where the pairing changes.
void RopePlan::turnRows(HeadView<float> x, size_t b, size_t start, size_t count, const float* const* rows,
                        Pairing to, float* line) const {
  const auto turn = kTurnRun[static_cast<size_t>(pairing_)][static_cast<size_t>(to)];
  for (size_t r = 0; r < run_count_; ++r) turn({x, b, start, count, rows, pairs(), line}, runs_[r]);
}

// A row that is not in the cache, made unless scratch_ has it there already.
const float* RopePlan::scratchRow(size_t index, const AxisPositions& token, Turn turn, Role role) {
  float* row = scratch_.data() + index * 2 * pairs();
  ScratchRow& held = scratch_rows_[index];
  if (held.made && held.turn == turn && held.role == role &&
      std::equal(token.at, token.at + axes_, held.token.at)) {
    return row;
  }
  fillRow(rows_, token, turn, role, row, row + pairs());
  held = {true, token, turn, role};
  return row;
}

// All have the same batch and tokens.
void RopePlan::turnTogether(std::span<const HeadView<float>> all, const Positions& positions, Turn turn,
                            Role role) {
  const size_t batch = all.front().batch;
  const size_t tokens = all.front().tokens;
  const bool forward = turn == Turn::kForward;
  if (forward) expect(positions, tokens);
  for (size_t b = 0; b < batch; ++b) {
    for (size_t start = 0; start < tokens;) {
      const float* rows[kTokenBlock];
      size_t count = 0;
      for (size_t made = 0; count < kTokenBlock && start + count < tokens; ++count) {
        const AxisPositions at = axisPositions(positions, b, start + count, batch, tokens);
        rows[count] = forward ? cachedRow(at) : nullptr;
        if (rows[count] != nullptr) continue;
        if (made == kScratchRows) break;
        rows_.expect(tokens);
        // Single tokens of several sequences get a row each, and find it again.
        rows[count] = scratchRow((b + made++) % kScratchRows, at, turn, role);
      }
      parallelFor(count, grainOf(kElementWork, all.size(), all.front().heads, head_dim_),
                  [&](const Share& share) {
                    for (const HeadView<float>& x : all) {
                      turnRows(x, b, start + share.first, share.end - share.first, rows + share.first,
                               pairing_, nullptr);
                    }
                  });
      start += count;
    }
  }
}

Status RopePlan::rotate(HeadView<float> x, const Positions& positions, Turn turn, Role role) {
  if (x.dim != head_dim_) return Status::kInvalidShape;
  if (xpos_.scale_base != 0 && role == Role::kAny) return Status::kInvalidArgument;
  if (x.tokens == 0 || x.batch == 0 || x.heads == 0) return Status::kOk;
  if (!inRange(positions, x.batch, x.tokens)) return Status::kPositionOutOfRange;
  turnTogether({&x, 1}, positions, turn, role);
  return Status::kOk;
}

Status RopePlan::rotateBoth(HeadView<float> q, HeadView<float> k, const Positions& positions) {
  if (q.dim != head_dim_ || k.dim != head_dim_ || q.batch != k.batch || q.tokens != k.tokens) {
    return Status::kInvalidShape;
  }
  if (q.tokens == 0 || q.batch == 0) return Status::kOk;
  if (!inRange(positions, q.batch, q.tokens)) return Status::kPositionOutOfRange;
  const HeadView<float> both[] = {q, k};
  if (xpos_.scale_base == 0) {
    turnTogether(both, positions, Turn::kForward, Role::kAny);
  } else {
    turnTogether({&q, 1}, positions, Turn::kForward, Role::kQuery);
    turnTogether({&k, 1}, positions, Turn::kForward, Role::kKey);
  }
  return Status::kOk;
}

bool RopePlan::sameRuns(const RopePlan& other) const {
  const auto same = [](const PairRun& a, const PairRun& b) {
    return a.start == b.start && a.pairs == b.pairs;
  };
  return other.head_dim_ == head_dim_ && other.pairs() == pairs() &&
         std::equal(runs_, runs_ + run_count_, other.runs_, other.runs_ + other.run_count_, same);
}

bool RopePlan::agreesWith(const RopePlan& target) const {
  return sameRuns(target) && (xpos_.scale_base != 0) == (target.xpos_.scale_base != 0);
}

uint64_t RopePlan::fingerprint() const {
  Checksum sum;
  sum.add(uint64_t{head_dim_});
  sum.add(static_cast<uint64_t>(pairing_));
  sum.add(static_cast<uint64_t>(angles_));
  sum.add(std::bit_cast<uint64_t>(xpos_.scale_base));
  sum.add(std::bit_cast<uint64_t>(xpos_.center));
  sum.add(std::bit_cast<uint64_t>(attention_factor_));
  sum.add(uint64_t{axes_});
  for (size_t r = 0; r < run_count_; ++r) {
    sum.add(uint64_t{runs_[r].start});
    sum.add(uint64_t{runs_[r].pairs});
  }
  for (size_t j = 0; j < pairs(); ++j) {
    sum.add(static_cast<uint64_t>(turns_[j]));
    sum.add(static_cast<uint64_t>(turns_[j] >> 64));
    const float radians32 = angles_ == Angles::kFloat32 ? radians32_[j] : 0;
    sum.add(uint64_t{std::bit_cast<uint32_t>(radians32)} << 8 | axis_[j]);
  }
  return sum.value();
}

Status RopePlan::rerotate(HeadView<float> x, const Positions& from, const RopePlan& target,
                          const Positions& to) const {
  if (x.dim != head_dim_ || !sameRuns(target)) return Status::kInvalidShape;
  if (!agreesWith(target)) return Status::kInvalidArgument;
  if (x.tokens == 0 || x.batch == 0 || x.heads == 0) return Status::kOk;
  if (!inRange(from, x.batch, x.tokens) || !target.inRange(to, x.batch, x.tokens)) {
    return Status::kPositionOutOfRange;
  }
  Buffer<float> buffer;  // one row of the table, one of x
  if (buffer.allocate(4 * pairs()) != Status::kOk) return Status::kOutOfMemory;
  float* row = buffer.data();
  for (size_t b = 0; b < x.batch; ++b) {
    for (size_t t = 0; t < x.tokens; ++t) {
      const AxisPositions old_place = axisPositions(from, b, t, x.batch, x.tokens);
      const AxisPositions new_place = target.axisPositions(to, b, t, x.batch, x.tokens);
      for (size_t j = 0; j < pairs(); ++j) {
        const SinCos angle = sinCos(target.phase(j, new_place) - phase(j, old_place));
        const double factor =
            target.magnitude(j, new_place, Role::kKey) / magnitude(j, old_place, Role::kKey);
        row[j] = static_cast<float>(angle.cos * factor);
        row[pairs() + j] = static_cast<float>(angle.sin * factor);
      }
      turnRows(x, b, t, 1, &row, target.pairing_, row + 2 * pairs());
    }
  }
  return Status::kOk;
}

}  // namespace ropewalk
