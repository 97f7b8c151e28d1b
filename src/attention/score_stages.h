// What becomes of the scores of one query on their way from the product to the softmax, part by part of a
// row: scale, softcap, biases, masks; and the scores that a caller asked for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/attention.h"
#include "attention/visible_keys.h"

namespace ropewalk {

// One query and where its scores go.
struct QueryRow {
  const float* q;
  size_t b;
  size_t h;  // query head
  size_t i;
  int64_t position;
  float temperature;  // what the query is multiplied by
  VisibleKeys visible;
  bool given;           // its scores are asked for
  size_t scores_start;  // of its row in each of the ScoreOutputs
};

QueryRow queryRow(HeadView<const float> q, const AttentionOptions& options, const ScoreOutputs& outputs,
                  size_t b, size_t h, size_t i, size_t keys);

// Scores of keys [keys.first, keys.end): that of key j is x[j - keys.first]. Behind them there is room up to
// a whole vector.
struct ScorePart {
  float* x;
  KeyRange keys;

  size_t size() const { return keys.end - keys.first; }
};

// The distance of key j from a query.
inline int64_t distanceOf(const AttentionOptions& options, const QueryRow& row, size_t j) {
  return keyPosition(options, j) - row.position;
}

class ScoreStages {
 public:
  ScoreStages(const AttentionOptions& options, const ScoreOutputs& outputs, size_t keys)
      : options_(options),
        outputs_(outputs),
        keys_(keys),
        plain_(options.softcap <= 0 && options.distance_bias == nullptr && options.bias.data == nullptr &&
               options.sinks == nullptr && options.scale >= 0x1p-100f && options.scale <= 0x1p100f) {}

  // Whether scores of hidden keys are asked for.
  bool wantsHidden() const { return wantsParts() || outputs_.raw != nullptr || outputs_.capped != nullptr; }
  bool wantsParts() const { return outputs_.content != nullptr || outputs_.position != nullptr; }

  // What the softmax has to multiply its scores by: the scale, where nothing else is to be done to them.
  float scaleLeft() const { return plain_ ? options_.scale : 1; }

  // From the products to the input of softmax, but for scaleLeft(); hidden keys become -infinity, and so
  // does the room behind the last one. `content`: the products of q and k alone, for rows whose parts are
  // asked for; it is used up.
  void apply(const QueryRow& row, const ScorePart& part, float* content) const;

  // The scores of keys that were left out because they are hidden from every query.
  void giveHidden(const QueryRow& row, const KeyRange& keys) const;

  // The probabilities of a row, once its softmax is known; shift as that has it.
  void giveProbabilities(const QueryRow& row, float shift, float inverse) const;

  // Whether a query may attend to any key at all, whatever its scores.
  bool anyVisible(const QueryRow& row) const;

 private:
  void give(float* output, const QueryRow& row, const ScorePart& part) const;
  void giveParts(const QueryRow& row, const ScorePart& raw, float* content) const;
  void addBiases(const QueryRow& row, const ScorePart& part) const;
  void hide(const QueryRow& row, const ScorePart& part) const;

  const AttentionOptions& options_;
  const ScoreOutputs& outputs_;
  size_t keys_;
  bool plain_;  // nothing but a scale that is left to ScaledExp
};

}  // namespace ropewalk
