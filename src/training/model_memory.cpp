#include "training/model_memory.h"

#include <algorithm>

#include "parallel.h"
#include "training/linear_attention.h"

namespace ropewalk::training {

// Hands out parts of an array; without one, counts only.
template <class T>
class ModelMemory<T>::Carver {
 public:
  explicit Carver(T* base) : base_(base) {}

  T* take(size_t a, size_t b = 1) {
    constexpr size_t kStep = kAlignment / sizeof(T);
    constexpr size_t kMost = SIZE_MAX / sizeof(T) / 2 / kStep;  // steps
    size_t n = 0;
    if (!multiply(a, b, &n) || n > (kMost - used_ / kStep) * kStep) {
      fits_ = false;
      return nullptr;
    }
    T* const part = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (n + kStep - 1) / kStep * kStep;
    return part;
  }

  // b is a number of tokens.
  double* takeDoubles(size_t a, size_t b) {
    return reinterpret_cast<double*>(take(a, b * sizeof(double) / sizeof(T)));
  }

  size_t used() const { return used_; }
  bool fits() const { return fits_; }

 private:
  T* base_;
  size_t used_ = 0;
  bool fits_ = true;
};

template <class T>
LayerState<T> ModelMemory<T>::carveLayer(Carver& carver, const ModelOptions& options,
                                         const PositionPlan<T>& plan) const {
  const size_t m = rows();
  const size_t d = options.model_dim;
  const size_t heads = batch_ * options.heads;
  LayerState<T> s;
  s.hidden = carver.take(m, d);
  s.attention_moments = {carver.take(m), carver.take(m)};
  s.attention_input = carver.take(m, d);
  s.qkv = carver.take(m, 3 * d);
  if (plan.forgets()) {
    s.gates = carver.take(m, options.heads);
    s.forget_sums = carver.takeDoubles(heads, tokens_);
  }
  if (keeps_weights_) s.weights = carver.take(heads, tokens_ * tokens_);
  if (options.attention == AttentionKind::kLinear) s.denominators = carver.take(heads, tokens_);
  s.mixed = carver.take(m, d);
  s.middle = carver.take(m, d);
  if (options.hidden_dim > 0) {
    s.forward_moments = {carver.take(m), carver.take(m)};
    s.forward_input = carver.take(m, d);
    s.active = carver.take(m, options.hidden_dim);
    s.slope = carver.take(m, options.hidden_dim);
  }
  return s;
}

template <class T>
void ModelMemory<T>::carveGradients(Carver& carver, const ModelOptions& options,
                                    const PositionPlan<T>& plan) {
  const size_t m = rows();
  const size_t d = options.model_dim;
  const size_t count = plan.distances().count();
  if (plan.isAxial()) model_.d_axial = carver.take(tokens_, d);
  if (plan.hasBias()) model_.d_bias = carver.take(options.heads, plan.biasShape().size());
  if (plan.hasRelative()) model_.d_tables = carver.take(count, 2 * options.headDim());
  if (plan.hasHeadTables()) {
    model_.d_tables = carver.take(count, plan.headTables() * d);
    if (plan.hasQueryBiases()) model_.d_table_bias = carver.take(count, options.heads);
    if (plan.hasLearnedDistances()) model_.d_distance_vectors = carver.take(count, d);
  }
  if (plan.forgets()) model_.d_gates = carver.take(m, options.heads);
  model_.d_hidden = carver.take(m, d);
  model_.d_input = carver.take(m, d);
  model_.d_mixed = carver.take(m, d);
  model_.d_qkv = carver.take(m, 3 * d);
  if (options.hidden_dim > 0) model_.d_active = carver.take(m, options.hidden_dim);
}

template <class T>
void ModelMemory<T>::carveHead(Carver& carver, const ModelOptions& options, const PositionPlan<T>& plan,
                               ModelState<T>* state) const {
  if (plan.copePositions() > 0) state->cope = carver.take(copeRoom(plan.distances(), plan.copePositions()));
  if (plan.hasPhases()) state->angled = carver.take(tokens_, 4 * options.headDim());
  if (!keeps_weights_) state->weights = carver.take(blockRows(tokens_), tokens_);
  state->room = carver.take(options.attention == AttentionKind::kLinear
                                ? linearAttentionRoom(plan.distances(), options.headDim())
                                : attentionRoom(plan.distances(), plan.firesByBlock()));
  if (purpose_ != Purpose::kTrain) return;
  if (plan.hasPhases()) state->d_angled = carver.take(tokens_, 4 * options.headDim());
  if (plan.forgets()) state->d_forget_sums = carver.take(tokens_);
}

template <class T>
void ModelMemory<T>::carve(Carver& carver, const ModelOptions& options, const PositionPlan<T>& plan) {
  const size_t m = rows();
  const size_t d = options.model_dim;
  const size_t count = plan.distances().count();
  for (size_t l = 0; l < options.layers; ++l)
    layers_[l] = l == 0 || purpose_ != Purpose::kEvaluate ? carveLayer(carver, options, plan) : layers_[0];
  model_ = {};
  model_.hidden = carver.take(m, d);
  model_.moments = {carver.take(m), carver.take(m)};
  model_.input = carver.take(m, d);
  model_.logits = carver.take(m, options.vocab);
  if (plan.isAxial()) model_.axial = carver.take(tokens_, d);
  if (plan.hasBias()) model_.bias = carver.take(options.heads, plan.biasShape().size());
  if (plan.fires()) model_.fire = carver.takeDoubles(FireTables::room(plan.biasShape()), 1);
  if (plan.hasRelative()) model_.tables = carver.take(count, 2 * options.headDim());
  if (plan.hasHeadTables()) {
    model_.tables = carver.take(count, plan.headTables() * d);
    if (plan.hasQueryBiases()) model_.table_bias = carver.take(count, options.heads);
    if (plan.hasLearnedDistances()) model_.distance_vectors = carver.take(count, d);
  }
  if (plan.mixes()) model_.angles = carver.take(tokens_, options.heads * (options.headDim() / 2) * 2);
  if (purpose_ == Purpose::kTrain) carveGradients(carver, options, plan);
  carveHead(carver, options, plan, &model_);
  for (size_t t = 0; t + 1 < threads_; ++t) {
    of_threads_[t] = model_;
    carveHead(carver, options, plan, &of_threads_[t]);
  }
}

template <class T>
Status ModelMemory<T>::prepare(const ModelOptions& options, const PositionPlan<T>& plan, size_t batch,
                               size_t tokens, Purpose purpose) {
  size_t m = 0;
  if (tokens > kMostTokens) return Status::kInvalidShape;
  if (!multiply(batch, tokens, &m) || !multiply(m, options.heads, &m)) return Status::kOutOfMemory;
  const size_t threads = threadsFor(batch * options.heads, 1);
  if (layers_.reserve(options.layers) != Status::kOk || of_threads_.reserve(threads - 1) != Status::kOk)
    return Status::kOutOfMemory;
  batch_ = batch;
  tokens_ = tokens;
  threads_ = threads;
  purpose_ = purpose;
  keeps_weights_ = purpose == Purpose::kCapture || (purpose == Purpose::kTrain && plan.keepsWeights());
  Carver counted(nullptr);
  carve(counted, options, plan);
  if (!counted.fits()) return Status::kOutOfMemory;
  if (memory_.reserve(std::max(counted.used(), least_)) != Status::kOk) return Status::kOutOfMemory;
  Carver carver(memory_.data());
  carve(carver, options, plan);
  return Status::kOk;
}

template class ModelMemory<float>;
template class ModelMemory<double>;

}  // namespace ropewalk::training
