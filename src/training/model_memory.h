// The memory of a model's passes, carved from one array that is kept from one pass to the next.
#pragma once

#include <cstddef>

#include "memory.h"
#include "status.h"
#include "training/attention.h"
#include "training/norm.h"
#include "training/options.h"
#include "training/position_plan.h"

namespace ropewalk::training {

// What a pass is for: the backward pass needs what the forward pass leaves of every layer, maps of its heads
// their weights; else layers follow one another in the same memory.
enum class Purpose { kEvaluate, kTrain, kCapture };

// Letters of sizes: M = B T rows; d model_dim; H heads of D = d / H; F hidden_dim.

// What the forward pass leaves of a layer. Null where the layer has no such part.
template <class T>
struct LayerState {
  T* hidden = nullptr;  // [M, d], what comes in
  NormMoments<T> attention_moments;
  T* attention_input = nullptr;   // [M, d]
  T* qkv = nullptr;               // [M, 3 d], queries and keys turned
  T* gates = nullptr;             // [M, H]
  double* forget_sums = nullptr;  // [B, H, T]
  T* weights = nullptr;           // [B, H, T, T]; null: not kept
  T* denominators = nullptr;      // [B, H, T]
  T* mixed = nullptr;             // [M, d]
  T* middle = nullptr;            // [M, d], after attention
  NormMoments<T> forward_moments;
  T* forward_input = nullptr;  // [M, d]
  T* active = nullptr;         // [M, F]
  T* slope = nullptr;          // [M, F]
};

// Of the model: what all layers share, one after the other. Those named d_ are gradients.
template <class T>
struct ModelState {
  T* hidden = nullptr;  // [M, d], after the last layer
  NormMoments<T> moments;
  T* input = nullptr;   // [M, d], of the unembedding
  T* logits = nullptr;  // [M, V]

  T* axial = nullptr;             // [T, d], vectors of positions: kAxial
  T* bias = nullptr;              // [H, rows, distances] of the bias; null: none, or made for each block
  double* fire = nullptr;         // room of FireTables
  T* tables = nullptr;            // [2][distances, D], or of each head [1 or 2][H, distances, D]
  T* table_bias = nullptr;        // [H, distances], of the layer: kTransformerXl
  T* distance_vectors = nullptr;  // [distances, d]: kDeberta
  T* angles = nullptr;            // [H][2][T, D / 2], of the layer: kRopeMixed
  T* d_axial = nullptr;
  T* d_bias = nullptr;
  T* d_tables = nullptr;
  T* d_table_bias = nullptr;
  T* d_distance_vectors = nullptr;
  T* d_hidden = nullptr;  // [M, d]
  T* d_input = nullptr;   // [M, d]
  T* d_mixed = nullptr;   // [M, d]
  T* d_qkv = nullptr;     // [M, 3 d]
  T* d_gates = nullptr;   // [M, H]
  T* d_active = nullptr;  // [M, F]

  // Of one head, so that each thread has its own.
  T* cope = nullptr;     // room of CopeTerms
  T* angled = nullptr;   // [2][T, 2 D], queries and keys with phases
  T* weights = nullptr;  // [rows, T] of a block of queries, where layers keep none
  T* room = nullptr;     // of attention
  T* d_angled = nullptr;
  T* d_forget_sums = nullptr;  // [T]
};

template <class T>
class ModelMemory {
 public:
  // Room for a pass, after the plan's prepare. What was there before is undefined then. kInvalidShape: more
  // than kMostTokens tokens; kOutOfMemory: also sizes whose products overflow. Allocates only where there is
  // not enough.
  Status prepare(const ModelOptions& options, const PositionPlan<T>& plan, size_t batch, size_t tokens,
                 Purpose purpose);

  // From now on the memory of a pass has room for at least n numbers of the caller's, which are there after
  // the pass, until the next one; what the pass left is gone then.
  void keepRoom(size_t n) { least_ = n; }
  // The same without a pass.
  Status reserveRoom() { return memory_.reserve(least_); }
  T* room() { return memory_.data(); }

  size_t batch() const { return batch_; }
  size_t tokens() const { return tokens_; }
  size_t rows() const { return batch_ * tokens_; }
  const LayerState<T>& layer(size_t l) const { return layers_[l]; }
  const ModelState<T>& model() const { return model_; }
  // The same for a thread, which has arrays of its own for the head that it computes.
  const ModelState<T>& model(size_t thread) const { return thread == 0 ? model_ : of_threads_[thread - 1]; }
  // Weights of one head, counted over all heads of all sequences.
  HeadWeights<T> weights(size_t l, size_t head, size_t thread = 0) const {
    if (!keeps_weights_) return {model(thread).weights, false};
    return {layers_[l].weights + head * tokens_ * tokens_, true};
  }

 private:
  class Carver;
  void carve(Carver& carver, const ModelOptions& options, const PositionPlan<T>& plan);
  LayerState<T> carveLayer(Carver& carver, const ModelOptions& options, const PositionPlan<T>& plan) const;
  void carveGradients(Carver& carver, const ModelOptions& options, const PositionPlan<T>& plan);
  void carveHead(Carver& carver, const ModelOptions& options, const PositionPlan<T>& plan,
                 ModelState<T>* state) const;

  Buffer<T> memory_;
  Buffer<LayerState<T>> layers_;
  ModelState<T> model_;
  Buffer<ModelState<T>> of_threads_;  // of all but the first
  size_t threads_ = 1;
  size_t batch_ = 0;
  size_t tokens_ = 0;
  Purpose purpose_ = Purpose::kEvaluate;
  bool keeps_weights_ = false;
  size_t least_ = 0;  // numbers of memory_
};

}  // namespace ropewalk::training
