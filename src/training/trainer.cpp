#include "training/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "checksum.h"
#include "training/cross_entropy.h"
#include "training/lanes.h"
#include "training/mixed_rope.h"
#include "training/parts.h"

namespace ropewalk::training {
namespace {

constexpr size_t kArrays = 3;          // of a state: parameters and two moments
constexpr double kLeastKerple = 0.01;  // of the authors' code: below 0 there is no logarithm

// What is stored before the arrays.
struct StateHeader {
  uint64_t fingerprint;
  uint64_t steps;
  uint64_t checksum;  // of the steps and the arrays
};

uint64_t checksumOf(uint64_t steps, const void* bytes, size_t size) {
  Checksum sum;
  sum.add(steps);
  sum.add(static_cast<const uint8_t*>(bytes), size);
  uint32_t last = 0;
  if (size % 8 != 0) std::memcpy(&last, static_cast<const uint8_t*>(bytes) + size - sizeof last, sizeof last);
  sum.add(uint64_t{last});
  return sum.value();
}

}  // namespace

template <class T>
Status Trainer<T>::create(const TrainerOptions& options) {
  Trainer made;
  Status status = options.seed >> 53 != 0 ? Status::kInvalidArgument : check(options.model);
  if (status == Status::kOk) status = check(options.optimizer);
  if (status == Status::kOk) status = made.plan_.create(options.model);
  if (status == Status::kOk) status = made.model_.create(options.model);
  if (status != Status::kOk) return status;
  const size_t n = made.layout().size();
  made.model_.keepRoom(kArrays * n);  // for the arrays as they were before a step
  if (made.parameters_.allocate(n, kArrays) != Status::kOk || made.gradients_.allocate(n) != Status::kOk)
    return Status::kOutOfMemory;
  std::fill_n(made.parameters_.data(), kArrays * n, T{0});
  std::fill_n(made.gradients_.data(), n, T{0});
  startParameters(made.layout(), options.seed, made.parameters_.data());
  const TensorView<T> slopes = made.parameter("alibi.slopes");
  if (slopes.data != nullptr) std::copy_n(made.plan_.fixedSlopes(), slopes.shape.size(), slopes.data);
  if (options.model.position.kind == PositionKind::kRopeMixed)
    status = startMixed(options.model, made.layout(), made.parameters_.data());
  if (status != Status::kOk) return status;
  made.optimizer_ = options.optimizer;
  *this = std::move(made);
  return Status::kOk;
}

template <class T>
Status Trainer<T>::checkIds(const Sequences& sequences) const {
  size_t rows = 0;
  if (sequences.batch == 0 || sequences.tokens == 0 || !multiply(sequences.batch, sequences.tokens, &rows))
    return Status::kInvalidShape;
  const auto is_token = [&](int32_t id) {
    return id >= 0 && static_cast<size_t>(id) < model_.options().vocab;
  };
  const bool all = std::all_of(sequences.ids, sequences.ids + rows, is_token);
  return all ? Status::kOk : Status::kPositionOutOfRange;
}

template <class T>
Status Trainer<T>::checkBatch(const Batch<T>& batch) const {
  const Status status = checkIds(batch.sequences);
  if (status != Status::kOk) return status;
  bool any = false;
  for (size_t r = 0; r < batch.sequences.batch * batch.sequences.tokens; ++r) {
    const T weight = batch.weights == nullptr ? T{1} : batch.weights[r];
    if (!(weight >= 0) || !std::isfinite(weight)) return Status::kInvalidArgument;
    if (weight == 0) continue;
    any = true;
    if (batch.targets[r] < 0 || static_cast<size_t>(batch.targets[r]) >= model_.options().vocab)
      return Status::kPositionOutOfRange;
  }
  return any ? Status::kOk : Status::kInvalidArgument;
}

template <class T>
Status Trainer<T>::differentiate(const Batch<T>& batch, double* loss) {
  const Sequences& sequences = batch.sequences;
  Status status = checkBatch(batch);
  if (status == Status::kOk) status = model_.prepare(sequences, plan_, Purpose::kTrain);
  if (status != Status::kOk) return status;
  model_.forward(parameters_.data(), sequences, plan_);
  *loss = crossEntropy(model_.logits(), batch.targets, batch.weights, sequences.batch * sequences.tokens,
                       model_.options().vocab);
  model_.backward(gradients_.data(), parameters_.data(), sequences, plan_);
  return Status::kOk;
}

// Null: all are finite. values is [layout().size()].
template <class T>
const Parameter* Trainer<T>::firstNotFinite(const T* values) const {
  for (size_t i = 0; i < layout().count(); ++i) {
    const Parameter& p = layout()[i];
    if (!allFinite(values + p.offset, p.shape.size())) return &p;
  }
  return nullptr;
}

template <class T>
StepResult Trainer<T>::step(const Batch<T>& batch) {
  StepResult result;
  result.status = differentiate(batch, &result.loss);
  if (result.status != Status::kOk) return result;
  const size_t n = layout().size();
  result.step = steps_ + 1;
  result.learning_rate = learningRate(optimizer_, result.step);
  result.gradient_norm = lengthOf(gradients_.data(), n);
  const auto stopped = [&](NotFinite what, const Parameter* where) {
    result.not_finite = what;
    result.tensor = where != nullptr ? where->name : "loss";
    return result;
  };
  if (!std::isfinite(result.loss)) {
    const Parameter* const cause = firstNotFinite(parameters_.data());
    return stopped(cause != nullptr ? NotFinite::kParameter : NotFinite::kLoss, cause);
  }
  if (const Parameter* where = firstNotFinite(gradients_.data())) return stopped(NotFinite::kGradient, where);
  if (!std::isfinite(result.gradient_norm)) return stopped(NotFinite::kGradient, &layout()[0]);

  T* const before = model_.room();
  copy(before, parameters_.data(), kArrays * n);
  optimize<T>(optimizer_, layout(), result.step, clipFactor(optimizer_, result.gradient_norm),
              gradients_.data(), {parameters_.data(), parameters_.data() + n, parameters_.data() + 2 * n});
  for (const char* name : {"kerple.r1", "kerple.r2"}) {
    const TensorView<T> r = parameter(name);
    for (size_t h = 0; h < r.shape.size(); ++h) {
      if (r.data[h] < static_cast<T>(kLeastKerple)) r.data[h] = static_cast<T>(kLeastKerple);
    }
  }
  for (size_t a = 0; a < kArrays; ++a) {
    if (const Parameter* where = firstNotFinite(parameters_.data() + a * n)) {
      std::copy_n(before, kArrays * n, parameters_.data());
      return stopped(NotFinite::kParameter, where);
    }
  }
  steps_ = result.step;
  return result;
}

template <class T>
Status Trainer<T>::evaluate(const Batch<T>& batch, double* loss, const Evaluation<T>& results,
                            const PositionOptions* position) {
  const Sequences& sequences = batch.sequences;
  Status status = checkBatch(batch);
  if (status != Status::kOk) return status;
  PositionPlan<T> other;
  if (position != nullptr) {
    ModelOptions options = model_.options();
    if (position->kind != PositionKind::kRope || model_.options().position.kind != PositionKind::kRope)
      return Status::kInvalidArgument;
    options.position = *position;
    status = check(options);
    if (status == Status::kOk) status = other.create(options);
    if (status != Status::kOk) return status;
  }
  PositionPlan<T>& plan = position != nullptr ? other : plan_;
  status = model_.prepare(sequences, plan, Purpose::kEvaluate);
  if (status != Status::kOk) return status;
  model_.forward(parameters_.data(), sequences, plan);
  const size_t rows = sequences.batch * sequences.tokens;
  if (results.logits != nullptr) std::copy_n(model_.logits(), rows * model_.options().vocab, results.logits);
  *loss = crossEntropy<T>(model_.logits(), batch.targets, batch.weights, rows, model_.options().vocab,
                          {results.losses, results.predictions});
  return Status::kOk;
}

template <class T>
Status Trainer<T>::capture(const Sequences& sequences, T* maps) {
  Status status = checkIds(sequences);
  if (status == Status::kOk) status = model_.prepare(sequences, plan_, Purpose::kCapture);
  if (status != Status::kOk) return status;
  model_.forward(parameters_.data(), sequences, plan_);
  const size_t n = sequences.batch * model_.options().heads * sequences.tokens * sequences.tokens;
  for (size_t l = 0; l < model_.options().layers; ++l) std::copy_n(model_.weights(l), n, maps + l * n);
  return Status::kOk;
}

template <class T>
uint64_t Trainer<T>::fingerprint() const {
  Checksum sum;
  sum.add(layout().fingerprint());
  sum.add(static_cast<uint64_t>(optimizer_.kind));
  // What the numbers are for, where their names and shapes do not tell.
  const ModelOptions& o = model_.options();
  for (const auto each :
       {static_cast<int>(o.activation), static_cast<int>(o.attention), static_cast<int>(o.kernel),
        static_cast<int>(o.rotation), static_cast<int>(o.position.kind), static_cast<int>(o.position.mode),
        static_cast<int>(o.position.pairing), static_cast<int>(o.causal)}) {
    sum.add(static_cast<uint64_t>(each));
  }
  sum.add(uint64_t{o.heads});
  plan_.addOptions(&sum);
  return sum.value();
}

template <class T>
size_t Trainer<T>::stateBytes() const {
  return sizeof(StateHeader) + kArrays * layout().size() * sizeof(T);
}

template <class T>
void Trainer<T>::save(void* bytes) const {
  const size_t size = stateBytes() - sizeof(StateHeader);
  const StateHeader header = {fingerprint(), steps_, checksumOf(steps_, parameters_.data(), size)};
  std::memcpy(bytes, &header, sizeof header);
  std::memcpy(static_cast<unsigned char*>(bytes) + sizeof header, parameters_.data(), size);
}

template <class T>
Status Trainer<T>::restore(const void* bytes, size_t size) {
  StateHeader header;
  if (size != stateBytes()) return Status::kInvalidShape;
  std::memcpy(&header, bytes, sizeof header);
  const unsigned char* arrays = static_cast<const unsigned char*>(bytes) + sizeof header;
  if (header.fingerprint != fingerprint() || header.steps >> 53 != 0 ||
      header.checksum != checksumOf(header.steps, arrays, size - sizeof header)) {
    return Status::kInvalidArgument;
  }
  const size_t n = layout().size();
  if (model_.reserveRoom() != Status::kOk) return Status::kOutOfMemory;
  T* const saved = model_.room();
  std::memcpy(saved, arrays, size - sizeof header);
  const T* const second = saved + 2 * n;
  if (!allFinite(saved, kArrays * n) || std::any_of(second, second + n, [](T x) { return x < 0; }))
    return Status::kInvalidArgument;
  std::copy_n(saved, kArrays * n, parameters_.data());
  steps_ = header.steps;
  return Status::kOk;
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace ropewalk::training
