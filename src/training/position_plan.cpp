#include "training/position_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "encodings/alibi.h"
#include "encodings/binary.h"
#include "encodings/sinusoidal.h"
#include "training/disentangled_rows.h"

namespace ropewalk::training {

template <class T>
Status PositionPlan<T>::createAngles(const FrequencyOptions& frequencies) {
  const size_t count = frequencies.dim / 2;
  Buffer<Real> radians;
  if (radians.allocate(count) != Status::kOk || turns_.allocate(count) != Status::kOk)
    return Status::kOutOfMemory;
  const Status status = inverseFrequencies(frequencies, radians.data(), &attention_factor_);
  if (status != Status::kOk) return status;
  std::transform(radians.data(), radians.data() + count, turns_.data(), turnsFromRadians);
  angles_ = count;
  return Status::kOk;
}

template <class T>
Status PositionPlan<T>::createRope(const ModelOptions& options) {
  FrequencyOptions frequencies = options.position.frequencies;
  if (frequencies.dim == 0) frequencies.dim = options.headDim();
  const Status status = createAngles(frequencies);
  if (options.position.attention_factor != 0) attention_factor_ = options.position.attention_factor;
  pairing_ = options.position.pairing;
  if (status != Status::kOk) return status;
  const auto factor = static_cast<float>(attention_factor_);  // multiplies cos and sin of a model in float
  return std::isfinite(factor) && factor > 0 ? Status::kOk : Status::kInvalidArgument;
}

template <class T>
Status PositionPlan<T>::createBias(const ModelOptions& options) {
  const PositionOptions& position = options.position;
  bias_ = true;
  if (kind_ == PositionKind::kKerple) {
    bias_kind_ = BiasKind::kKerple;
    return Status::kOk;
  }
  if (kind_ == PositionKind::kFire) {
    bias_kind_ = BiasKind::kFire;
    return Status::kOk;
  }
  if (kind_ == PositionKind::kSandwich) {
    bias_kind_ = BiasKind::kSandwich;
    return createAngles({.dim = position.width, .base = position.base});
  }
  if (kind_ == PositionKind::kT5) {
    bias_kind_ = BiasKind::kT5;
    return buckets_.create({!options.causal, position.num_buckets, position.max_distance});
  }
  Buffer<double> usual;
  if (slopes_.allocate(heads_) != Status::kOk || usual.allocate(heads_) != Status::kOk)
    return Status::kOutOfMemory;
  const Status status = alibiSlopes(heads_, usual.data());
  if (status != Status::kOk) return status;
  const double* const slopes = position.slopes != nullptr ? position.slopes : usual.data();
  std::transform(slopes, slopes + heads_, slopes_.data(), [](double s) { return static_cast<T>(s); });
  return Status::kOk;
}

template <class T>
Status PositionPlan<T>::create(const ModelOptions& options) {
  const PositionOptions& position = options.position;
  PositionPlan made;
  made.kind_ = position.kind;
  made.options_ = position;
  made.options_.slopes = nullptr;
  made.options_.frequencies = {};
  made.causal_ = options.causal;
  made.kept_tokens_ = options.kept_tokens;
  made.heads_ = options.heads;
  made.width_ = options.positionDim();
  Status status = Status::kOk;
  switch (position.kind) {
    case PositionKind::kNone:
    case PositionKind::kForget:
    case PositionKind::kCope:
      break;
    case PositionKind::kBinary:
    case PositionKind::kLearned:
      made.longest_ = position.length;
      made.fixed_vectors_ = position.kind == PositionKind::kBinary;
      break;
    case PositionKind::kSinusoidal:
      made.fixed_vectors_ = true;
      break;
    case PositionKind::kRope:
      status = made.createRope(options);
      break;
    case PositionKind::kAlibi:
    case PositionKind::kT5:
    case PositionKind::kKerple:
    case PositionKind::kFire:
    case PositionKind::kSandwich:
      status = made.createBias(options);
      break;
    case PositionKind::kShaw:
      made.relative_ = true;
      made.rows_ = {static_cast<int64_t>(position.max_relative), true};
      break;
    case PositionKind::kRelativeKey:
    case PositionKind::kRelativeKeyQuery:
    case PositionKind::kM3:
      made.relative_ = true;
      made.longest_ = position.length;
      made.rows_ = {static_cast<int64_t>(position.length) - 1, false};
      break;
    case PositionKind::kTransformerXl:
      break;
    case PositionKind::kAxial:
      if (!multiply(position.length, position.columns, &made.longest_)) made.longest_ = SIZE_MAX;
      break;
    case PositionKind::kRopeMixed:
      made.pairing_ = position.pairing;
      break;
    case PositionKind::kDeberta:
      status =
          disentangledRows(position.max_relative, position.max_distance, &made.disentangled_, &made.rows_);
      break;
    case PositionKind::kPope:  // base^(-c / D) for each coordinate: RoPE's for twice as many
      status = made.createAngles({.dim = 2 * options.headDim(), .base = position.base});
      break;
  }
  if (status != Status::kOk) return status;
  *this = std::move(made);
  return Status::kOk;
}

template <class T>
Status PositionPlan<T>::prepare(size_t tokens) {
  if (tokens > longest_) return Status::kPositionOutOfRange;
  const bool vectors = fixed_vectors_ || hasQueryBiases();
  if (tokens > filled_ && (vectors || angles_ > 0)) {
    filled_ = tokens_ = 0;  // until there are tables again
    const Status status = vectors                            ? fillVectors(tokens)
                          : kind_ == PositionKind::kSandwich ? fillSums(tokens)
                                                             : fillAngles(tokens);
    if (status != Status::kOk) return status;
    filled_ = tokens;
  }
  tokens_ = tokens;
  return Status::kOk;
}

template <class T>
void PositionPlan<T>::addOptions(Checksum* sum) const {
  const auto add = [&](double number) { sum->add(std::bit_cast<uint64_t>(number)); };
  switch (kind_) {
    case PositionKind::kNone:
    case PositionKind::kLearned:
    case PositionKind::kKerple:
    case PositionKind::kShaw:
    case PositionKind::kRelativeKey:
    case PositionKind::kRelativeKeyQuery:
    case PositionKind::kM3:
    case PositionKind::kForget:
    case PositionKind::kCope:
    case PositionKind::kAxial:
      break;
    case PositionKind::kSinusoidal:
      add(options_.base);
      add(options_.scale);
      break;
    case PositionKind::kBinary:
      sum->add(uint64_t{binaryBits()});
      add(options_.scale);
      break;
    case PositionKind::kRope:
      sum->add(uint64_t{angles_});
      break;
    case PositionKind::kAlibi:
      for (size_t h = 0; !options_.trainable && h < heads_; ++h) add(static_cast<double>(slopes_[h]));
      break;
    case PositionKind::kT5:
    case PositionKind::kDeberta:
      sum->add(static_cast<uint64_t>(options_.max_distance));
      break;
    case PositionKind::kPope:
    case PositionKind::kTransformerXl:
      add(options_.base);
      break;
    case PositionKind::kFire:
      add(options_.threshold);
      break;
    case PositionKind::kSandwich:
      sum->add(uint64_t{options_.width});
      add(options_.base);
      break;
    case PositionKind::kRopeMixed:
      sum->add(uint64_t{options_.columns});
      break;
  }
}

template <class T>
Status PositionPlan<T>::fillVectors(size_t tokens) {
  const bool sinusoids = kind_ != PositionKind::kBinary;
  const bool of_distances = hasQueryBiases();
  const size_t rows = of_distances ? Distances{tokens, causal_}.count() : tokens;
  const size_t bits = sinusoids ? 0 : binaryBits();
  const size_t columns = sinusoids ? width_ : bits;
  if (vectors_.reserve(rows, width_) != Status::kOk || room_.reserve(rows, columns) != Status::kOk ||
      places_.reserve(rows) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  for (size_t r = 0; r < rows; ++r) {
    const auto place = static_cast<int64_t>(r);
    places_[r] = of_distances ? static_cast<int64_t>(tokens) - 1 - place : place;
  }
  const auto layout = of_distances ? SinusoidLayout::kConcatenated : SinusoidLayout::kInterleaved;
  const Status status = sinusoids ? sinusoidal({width_, options_.base, layout, options_.scale},
                                               places_.data(), rows, room_.data())
                                  : binaryCode({bits, false, true}, places_.data(), rows, room_.data());
  if (status != Status::kOk) return status;
  const T scale = sinusoids ? T{1} : static_cast<T>(options_.scale);
  for (size_t t = 0; t < rows; ++t) {
    T* const row = vectors_.data() + t * width_;
    const float* const from = room_.data() + t * columns;
    std::transform(from, from + columns, row, [&](float v) { return scale * static_cast<T>(v); });
    std::fill(row + columns, row + width_, T{0});
  }
  return Status::kOk;
}

template <class T>
Status PositionPlan<T>::fillAngles(size_t tokens) {
  size_t n = 0;
  if (!multiply(tokens, angles_, &n) || tables_.reserve(n, 2) != Status::kOk) return Status::kOutOfMemory;
  T* const cos = tables_.data();
  T* const sin = cos + n;
  for (size_t i = 0; i < n; ++i) {
    const SinCos angle = sinCosOf(phaseAt(turns_[i % angles_], static_cast<int64_t>(i / angles_)));
    cos[i] = static_cast<T>(angle.cos * attention_factor_);
    sin[i] = static_cast<T>(angle.sin * attention_factor_);
  }
  return Status::kOk;
}

template <class T>
Status PositionPlan<T>::fillSums(size_t tokens) {
  if (sums_.reserve(tokens) != Status::kOk) return Status::kOutOfMemory;
  for (size_t t = 0; t < tokens; ++t) {
    sums_[t] = 0;
    for (size_t k = 0; k < angles_; ++k)
      sums_[t] += sinCosOf(phaseAt(turns_[k], static_cast<int64_t>(t))).cos;
  }
  return Status::kOk;
}

template class PositionPlan<float>;
template class PositionPlan<double>;

}  // namespace ropewalk::training
