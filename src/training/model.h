// A transformer forward and backward over whole batches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "status.h"
#include "training/model_memory.h"
#include "training/model_parts.h"
#include "training/options.h"
#include "training/parameters.h"
#include "training/position_plan.h"

namespace ropewalk::training {

// Sequences of ids [batch, tokens], each below vocab.
struct Sequences {
  const int32_t* ids = nullptr;
  size_t batch = 0;
  size_t tokens = 0;
};

template <class T>
class Model {
 public:
  // options have passed check(). Leaves the model as it was unless it answers kOk.
  Status create(const ModelOptions& options);

  const ModelOptions& options() const { return options_; }
  const ParameterLayout& layout() const { return layout_; }

  // Room for passes over such sequences, and the plan's tables. kPositionOutOfRange: longer than a table of
  // the encoding; kInvalidShape: more than kMostTokens; kOutOfMemory: also sizes whose products overflow.
  Status prepare(const Sequences& sequences, PositionPlan<T>& plan, Purpose purpose);

  // After prepare for the same sequences and plan: leaves logits [batch, tokens, vocab].
  void forward(const T* parameters, const Sequences& sequences, const PositionPlan<T>& plan);

  // After forward, for kTrain, with the gradient of the logits in their place: writes those of all
  // parameters.
  void backward(T* gradients, const T* parameters, const Sequences& sequences, const PositionPlan<T>& plan);

  // Memory of passes for numbers of the caller's: see ModelMemory.
  void keepRoom(size_t n) { memory_.keepRoom(n); }
  Status reserveRoom() { return memory_.reserveRoom(); }
  T* room() { return memory_.room(); }

  T* logits() const { return memory_.model().logits; }
  // Attention weights of a layer [batch, heads, tokens, tokens], after forward for kCapture.
  const T* weights(size_t layer) const { return memory_.weights(layer, 0).data; }

 private:
  void layerForward(const LayerParts<const T>& parts, const PositionPlan<T>& plan, size_t layer);
  void layerBackward(const LayerParts<T>& gradients, const LayerParts<const T>& parts,
                     const PositionPlan<T>& plan, size_t layer);

  ModelOptions options_;  // without pointers
  ParameterLayout layout_;
  ModelMemory<T> memory_;
};

}  // namespace ropewalk::training
