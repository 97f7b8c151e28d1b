// What an encoding of positions is for sequences of one length: tables that no parameter is part of, and
// which of its parts a layer has. The rest of training asks here and does not know the kind.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "angles/phase.h"
#include "checksum.h"
#include "encodings/relative.h"
#include "encodings/t5.h"
#include "memory.h"
#include "status.h"
#include "training/distance_bias.h"
#include "training/options.h"
#include "training/rotation.h"

namespace ropewalk::training {

// To which gradients heads add, in the order of their sequences, beside those of their own rows.
enum class SharedGradients {
  kNone,
  kOfHead,  // those of the same head in other sequences
  kOfAll
};

template <class T>
class PositionPlan {
 public:
  // options have passed check(). Leaves the plan as it was unless it answers kOk.
  Status create(const ModelOptions& options);

  // Makes the tables for sequences of so many tokens, unless they are there. kPositionOutOfRange: a table of
  // the encoding is shorter. Allocates nothing for a length up to the longest before.
  Status prepare(size_t tokens);

  // Vectors [tokens, positionDim] that are no parameters; null: there are none.
  const T* vectors() const { return fixed_vectors_ ? vectors_.data() : nullptr; }

  // Vectors of a grid by tables, axial.h.
  bool isAxial() const { return kind_ == PositionKind::kAxial; }
  size_t columns() const { return options_.columns; }  // of the grid

  // RoPE turns queries and keys, or features; PoPE replaces them. The tables are those of either.
  bool turns() const { return kind_ == PositionKind::kRope; }
  bool hasPhases() const { return kind_ == PositionKind::kPope; }
  AngleTables<T> angles() const { return {tables_.data(), tables_.data() + filled_ * angles_, angles_}; }
  Pairing pairing() const { return pairing_; }
  // The same by tables of the layer, for each head.
  bool mixes() const { return kind_ == PositionKind::kRopeMixed; }

  // Whether a step keeps the attention weights.
  bool keepsWeights() const { return tokens_ <= kept_tokens_; }

  // A bias by distance; fixedSlopes() [H] are its `first` where that is no parameter. FIRE's, which depend on
  // the query too, are made for one block of queries at a time where weights are not kept.
  bool hasBias() const { return bias_ && !firesByBlock(); }
  bool fires() const { return bias_kind_ == BiasKind::kFire; }
  bool firesByBlock() const { return fires() && !keepsWeights(); }
  BiasShape biasShape() const {
    return {bias_kind_,         heads_,  &buckets_,   distances(), options_.width,
            options_.threshold, nullptr, sums_.data()};
  }
  const T* fixedSlopes() const { return slopes_.data(); }

  // Tables by distance, one for keys, or factors, and one for values.
  bool hasRelative() const { return relative_; }
  const RelativeRows& relativeRows() const { return rows_; }
  bool hasQueryTerm() const { return relative_ && kind_ != PositionKind::kM3; }
  bool hasKeyTerm() const { return kind_ == PositionKind::kRelativeKeyQuery; }
  bool hasProductTerm() const { return kind_ == PositionKind::kM3; }
  bool hasValueTerm() const { return kind_ == PositionKind::kShaw; }

  // Tables by distance that each head has for itself, made from vectors [distances, d] (head_tables.h), which
  // are fixed or learned rows: one table for keys, where vectors are learned also one for queries.
  bool hasHeadTables() const { return hasQueryBiases() || hasLearnedDistances(); }
  bool hasQueryBiases() const { return kind_ == PositionKind::kTransformerXl; }
  bool hasLearnedDistances() const { return kind_ == PositionKind::kDeberta; }
  const T* distanceVectors() const { return vectors_.data() + (filled_ - tokens_) * width_; }
  size_t headTables() const { return hasLearnedDistances() ? 2 : 1; }
  // Products that a score is the sum of, by which it is scaled.
  size_t scoreTerms() const { return hasLearnedDistances() ? 3 : 1; }

  // Rows of CoPE's table; 0: there is none.
  size_t copePositions() const { return kind_ == PositionKind::kCope ? options_.length : 0; }

  bool forgets() const { return kind_ == PositionKind::kForget; }

  SharedGradients sharedGradients() const {
    if (hasRelative() || firesByBlock() || copePositions() > 0) return SharedGradients::kOfAll;
    return hasBias() || hasPhases() || hasHeadTables() ? SharedGradients::kOfHead : SharedGradients::kNone;
  }

  Distances distances() const { return {tokens_, causal_}; }

  // Adds the options that decide what weights mean and that no name and shape of a parameter tells: of fixed
  // vectors, of biases, which rows distances share, how a grid is filled. Not RoPE's frequencies, which
  // `evaluate` may change too, and not where parameters begin. Adds nothing where there are none.
  void addOptions(Checksum* sum) const;

 private:
  Status createAngles(const FrequencyOptions& frequencies);
  Status createRope(const ModelOptions& options);
  Status createBias(const ModelOptions& options);
  // kBinary: of the last position of its table, at least one.
  size_t binaryBits() const {
    return static_cast<size_t>(std::bit_width(std::max<size_t>(options_.length - 1, 1)));
  }
  Status fillVectors(size_t tokens);
  Status fillAngles(size_t tokens);
  Status fillSums(size_t tokens);

  PositionKind kind_ = PositionKind::kNone;
  PositionOptions options_;  // without its pointers
  bool causal_ = true;
  size_t kept_tokens_ = 0;
  size_t heads_ = 0;
  size_t width_ = 0;  // of vectors
  bool fixed_vectors_ = false;
  bool bias_ = false;
  bool relative_ = false;
  BiasKind bias_kind_ = BiasKind::kAlibi;
  RelativeRows rows_;
  size_t longest_ = SIZE_MAX;  // tokens
  T5Buckets buckets_;
  Buffer<T> slopes_;
  double attention_factor_ = 1;
  Pairing pairing_ = Pairing::kHalf;
  size_t angles_ = 0;
  Buffer<Turns> turns_;  // [angles], per position
  size_t tokens_ = 0;
  size_t filled_ = 0;       // rows of the tables
  Buffer<T> vectors_;       // [filled, width]; kTransformerXl: [distances of filled, width], from T - 1 on
  Buffer<T> tables_;        // [2][filled, angles], cos and sin
  Buffer<double> sums_;     // [filled], of cosines: kSandwich
  Buffer<float> room_;      // for vectors in float
  Buffer<int64_t> places_;  // 0, 1, ..
  Buffer<int32_t> disentangled_;  // what rows_ has: kDeberta
};

}  // namespace ropewalk::training
