// Trains a small transformer: parameters, optimizer and the memory of its passes in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "memory.h"
#include "status.h"
#include "training/model.h"
#include "training/optimizer.h"
#include "training/options.h"
#include "training/position_plan.h"

namespace ropewalk::training {

// Sequences with what is to come out of them.
template <class T>
struct Batch {
  Sequences sequences;
  const int32_t* targets = nullptr;  // [batch, tokens], below vocab where the weight is not 0
  const T* weights = nullptr;        // [batch, tokens], 0 or above; null: 1 each
};

// What was not finite first. A loss that a parameter is to blame for is that parameter's.
enum class NotFinite : int { kNothing = 0, kLoss = 1, kGradient = 2, kParameter = 3 };

struct StepResult {
  // What was wrong with the batch, or with memory; then nothing else is set.
  Status status = Status::kOk;
  // Unless it is kNothing the step was not made: parameters, moments and the number of steps are as before.
  NotFinite not_finite = NotFinite::kNothing;
  // The parameter that was not finite, or whose gradient or moment; or "loss". As long as the trainer.
  std::string_view tensor;
  uint64_t step = 0;         // the number of this step, from 1 on
  double loss = 0;           // before the step
  double gradient_norm = 0;  // before it was limited
  double learning_rate = 0;

  bool made() const { return status == Status::kOk && not_finite == NotFinite::kNothing; }
};

// Where results of `evaluate` go; null: not wanted.
template <class T>
struct Evaluation {
  T* losses = nullptr;             // [batch, tokens], 0 where the weight is 0
  int32_t* predictions = nullptr;  // [batch, tokens], the most probable
  T* logits = nullptr;             // [batch, tokens, vocab]
};

// A parameter or its gradient: data [rows, columns], or [rows] where columns is 0.
template <class T>
struct TensorView {
  T* data = nullptr;  // null: there is none of that name
  ParameterShape shape;
};

template <class T>
class Trainer {
 public:
  // kInvalidShape, kInvalidArgument: see check() of options.h; the frequencies of RoPE, T5's buckets and the
  // seed are checked too. Leaves the trainer as it was unless it answers kOk.
  Status create(const TrainerOptions& options);

  // One step of the optimizer; it leaves KERPLE's r1 and r2 at least 0.01, as its authors' code does. Once it
  // was given a batch of some size it allocates nothing for those that are no larger. kInvalidShape: no
  // tokens, or more than kMostTokens; kPositionOutOfRange: an id or a target that is not below vocab, or
  // sequences longer than a table of the encoding; kInvalidArgument: a weight below 0 or not finite, or none
  // above 0.
  StepResult step(const Batch<T>& batch);

  // The loss and the gradients of a batch without a step; the statuses of `step`.
  Status differentiate(const Batch<T>& batch, double* loss);

  // The loss of a batch. `position`, for models with RoPE: what is used in place of the encoding, such as
  // other frequencies. kInvalidArgument also: another kind.
  Status evaluate(const Batch<T>& batch, double* loss, const Evaluation<T>& results = {},
                  const PositionOptions* position = nullptr);

  // Attention weights of every head: maps [layers, batch, heads, tokens, tokens].
  Status capture(const Sequences& sequences, T* maps);

  const ParameterLayout& layout() const { return model_.layout(); }
  TensorView<T> parameter(std::string_view name) { return view(parameters_.data(), name); }
  // Of the last step or `differentiate`, before they were limited; undefined before.
  TensorView<const T> gradient(std::string_view name) const { return view(gradients_.data(), name); }
  T* parameters() { return parameters_.data(); }            // [layout().size()]
  const T* gradients() const { return gradients_.data(); }  // the same
  uint64_t steps() const { return steps_; }

  // Parameters, moments and the number of steps, as bytes. restore takes them for any trainer of the same
  // model in the same precision and with the same kind of optimizer, and goes on with the same bits. What may
  // differ is the seed, the numbers of the optimizer, eps, kept_tokens, and RoPE's frequencies and attention
  // factor. kInvalidShape: bytes of another size; kInvalidArgument: of another trainer, or with numbers that
  // no step leaves; kOutOfMemory. Nothing is changed then.
  size_t stateBytes() const;
  void save(void* bytes) const;
  Status restore(const void* bytes, size_t size);

 private:
  template <class U>
  TensorView<U> view(U* base, std::string_view name) const {
    const Parameter* const parameter = layout().find(name);
    if (parameter == nullptr) return {};
    return {base + parameter->offset, parameter->shape};
  }
  Status checkIds(const Sequences& sequences) const;
  Status checkBatch(const Batch<T>& batch) const;
  const Parameter* firstNotFinite(const T* values) const;
  uint64_t fingerprint() const;

  OptimizerOptions optimizer_;
  Model<T> model_;
  PositionPlan<T> plan_;
  Buffer<T> parameters_;  // followed by the moments [3][layout().size()]
  Buffer<T> gradients_;
  uint64_t steps_ = 0;
};

}  // namespace ropewalk::training
