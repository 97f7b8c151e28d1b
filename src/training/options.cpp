#include "training/options.h"

#include <bit>
#include <cmath>

#include "training/activation.h"
#include "training/distances.h"

namespace ropewalk::training {
namespace {

// So that products of two of a head's sizes fit into 32 bits; what else is multiplied is checked.
constexpr size_t kWidest = kMostTokens;
constexpr size_t kLargest = size_t{1} << 24;
constexpr size_t kMostBuckets = 4096;
constexpr size_t kMostCounted = size_t{1} << 20;  // positions of CoPE, so that copeRoom() fits

bool isPositive(double x) {
  return x > 0 && std::isfinite(x);
}

bool isShare(double x) {
  return x >= 0 && x <= 1;
}

bool isSize(size_t n) {
  return n > 0 && n <= kLargest;
}

Status checkVectors(const ModelOptions& options) {
  const PositionOptions& position = options.position;
  const bool concatenated = position.mode == LearnedMode::kConcatenate;
  if (concatenated && (position.position_dim == 0 || position.position_dim >= options.model_dim))
    return Status::kInvalidShape;
  if (position.mode == LearnedMode::kMultiply && position.kind != PositionKind::kLearned)
    return Status::kInvalidArgument;
  if (!std::isfinite(position.scale)) return Status::kInvalidArgument;
  if (position.kind == PositionKind::kSinusoidal)
    return isPositive(position.base) ? Status::kOk : Status::kInvalidArgument;
  if (!isSize(position.length)) return Status::kInvalidShape;
  const auto bits = static_cast<size_t>(std::bit_width(position.length - 1));
  const bool fits = position.kind == PositionKind::kLearned || bits <= options.positionDim();
  return fits ? Status::kOk : Status::kInvalidShape;
}

Status checkRope(const ModelOptions& options) {
  const PositionOptions& position = options.position;
  if (position.frequencies.dim > options.headDim()) return Status::kInvalidShape;
  const bool in_range = position.attention_factor == 0 || isPositive(position.attention_factor);
  return in_range ? Status::kOk : Status::kInvalidArgument;
}

Status checkPosition(const ModelOptions& options) {
  const PositionOptions& position = options.position;
  switch (position.kind) {
    case PositionKind::kNone:
      return Status::kOk;
    case PositionKind::kSinusoidal:
    case PositionKind::kBinary:
    case PositionKind::kLearned:
      return checkVectors(options);
    case PositionKind::kRope:
      return checkRope(options);
    case PositionKind::kAlibi:
      for (size_t h = 0; position.slopes != nullptr && h < options.heads; ++h) {
        if (!std::isfinite(position.slopes[h])) return Status::kInvalidArgument;
      }
      return Status::kOk;
    case PositionKind::kT5:
      return position.num_buckets <= kMostBuckets ? Status::kOk : Status::kInvalidArgument;
    case PositionKind::kKerple:
      return Status::kOk;
    case PositionKind::kShaw:
      return position.max_relative < kLargest ? Status::kOk : Status::kInvalidShape;
    case PositionKind::kRelativeKey:
    case PositionKind::kRelativeKeyQuery:
    case PositionKind::kM3:
      return isSize(position.length) ? Status::kOk : Status::kInvalidShape;
    case PositionKind::kCope:
      return position.length > 0 && position.length <= kMostCounted ? Status::kOk : Status::kInvalidShape;
    case PositionKind::kPope:
    case PositionKind::kTransformerXl:
      return isPositive(position.base) ? Status::kOk : Status::kInvalidArgument;
    case PositionKind::kAxial:
      return isSize(position.columns) && isSize(position.length) ? Status::kOk : Status::kInvalidShape;
    case PositionKind::kRopeMixed:
      if (!isSize(position.columns) || options.headDim() % 2 != 0) return Status::kInvalidShape;
      return isPositive(position.base) ? Status::kOk : Status::kInvalidArgument;
    case PositionKind::kSandwich:
      return isSize(position.width) ? Status::kOk : Status::kInvalidShape;
    case PositionKind::kFire:
      if (position.width > kMostBuckets) return Status::kInvalidShape;
      return position.width > 0 && isPositive(position.threshold) ? Status::kOk : Status::kInvalidArgument;
    case PositionKind::kDeberta: {
      const size_t middle = position.max_relative / 2;
      if (!isSize(position.max_relative)) return Status::kInvalidShape;
      const bool has_buckets = middle > 0 && position.max_distance >= static_cast<int64_t>(middle) + 2;
      return position.max_distance == 0 || has_buckets ? Status::kOk : Status::kInvalidArgument;
    }
    case PositionKind::kForget:
      return options.causal ? Status::kOk : Status::kInvalidArgument;
  }
  return Status::kInvalidArgument;
}

// Whether a choice is one of those numbered from 0 to the last.
template <class Choice>
bool isOneOf(Choice choice, Choice last) {
  return static_cast<int>(choice) >= 0 && static_cast<int>(choice) <= static_cast<int>(last);
}

// Scores are what linear attention does not have.
bool goesWithLinear(PositionKind kind) {
  return kind <= PositionKind::kRope || kind == PositionKind::kAxial;
}

}  // namespace

Status check(const ModelOptions& options) {
  if (!isSize(options.vocab) || !isSize(options.model_dim) || options.model_dim > kWidest ||
      !isSize(options.heads) || !isSize(options.layers) || options.hidden_dim > kLargest ||
      options.model_dim % options.heads != 0) {
    return Status::kInvalidShape;
  }
  const bool norm = options.norm == NormKind::kRms || options.norm == NormKind::kLayer;
  if (!norm || !isPositive(options.eps) || !hasSlope(options.activation)) return Status::kInvalidArgument;
  const bool attention =
      options.attention == AttentionKind::kSoftmax || options.attention == AttentionKind::kLinear;
  if (!attention || !isOneOf(options.kernel, LinearKernel::kProduct) ||
      !isOneOf(options.rotation, LinearRotation::kBoth) ||
      !isOneOf(options.position.mode, LearnedMode::kConcatenate) ||
      !isOneOf(options.position.pairing, Pairing::kHalf)) {
    return Status::kInvalidArgument;
  }
  if (options.attention == AttentionKind::kLinear &&
      (options.kernel == LinearKernel::kProduct || !goesWithLinear(options.position.kind))) {
    return Status::kInvalidArgument;
  }
  return checkPosition(options);
}

Status check(const OptimizerOptions& options) {
  const bool kind = options.kind == OptimizerKind::kAdamW || options.kind == OptimizerKind::kSgd;
  const bool in_range = kind && std::isfinite(options.lr) && options.lr >= 0 && isShare(options.beta1) &&
                        options.beta1 < 1 && isShare(options.beta2) && options.beta2 < 1 &&
                        isPositive(options.eps) && std::isfinite(options.weight_decay) &&
                        options.weight_decay >= 0 && std::isfinite(options.clip) && options.clip >= 0 &&
                        isShare(options.final_share) &&
                        (options.total_steps == 0 || options.warmup <= options.total_steps);
  return in_range ? Status::kOk : Status::kInvalidArgument;
}

}  // namespace ropewalk::training
