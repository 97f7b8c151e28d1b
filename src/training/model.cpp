#include "training/model.h"

#include <algorithm>
#include <utility>

#include "training/activation.h"
#include "training/embedding.h"
#include "training/lanes.h"
#include "training/layer_attention.h"
#include "training/parts.h"
#include "training/products.h"

namespace ropewalk::training {
namespace {

// y = x w^T for w [outputs, inputs].
template <class T>
void project(T* y, const T* x, const T* w, size_t rows, size_t outputs, size_t inputs, bool add = false) {
  product<T>(y, outputs, {x, inputs}, {w, inputs, true}, rows, outputs, inputs, add);
}

// dx (+)= dy w, dw += dy^T x.
template <class T>
void projectBackward(T* dx, T* dw, const T* dy, const T* x, const T* w, size_t rows, size_t outputs,
                     size_t inputs, bool add = false) {
  product<T>(dx, inputs, {dy, outputs}, {w, inputs}, rows, inputs, outputs, add);
  product<T>(dw, inputs, {dy, outputs, true}, {x, inputs}, outputs, inputs, rows, true);
}

template <class T>
NormMoments<const T> readOnly(const NormMoments<T>& moments) {
  return {moments.mean, moments.inverse};
}

template <class T>
EmbeddingInput<T> embeddingInput(const ModelOptions& options, const ModelParts<const T>& parts,
                                 const Sequences& sequences, const PositionPlan<T>& plan,
                                 const ModelState<T>& state) {
  EmbeddingInput<T> input;
  input.ids = sequences.ids;
  input.batch = sequences.batch;
  input.tokens = sequences.tokens;
  input.table = parts.embedding;
  input.positions = parts.positions != nullptr ? parts.positions : plan.vectors();
  if (plan.isAxial()) input.positions = state.axial;
  input.mode = options.position.mode;
  input.token_dim = options.tokenDim();
  input.position_dim = options.positionDim();
  return input;
}

AxialShape axialShape(const ModelOptions& options, const Sequences& sequences) {
  return {sequences.tokens, options.position.columns, options.model_dim};
}

template <class T>
BiasParts<const T> biasParts(const ModelParts<const T>& parts, const PositionPlan<T>& plan) {
  return {parts.bias.first != nullptr ? parts.bias.first : plan.fixedSlopes(), parts.bias.second};
}

// With the room that FIRE's tables are in.
template <class T>
BiasShape biasShape(const PositionPlan<T>& plan, const ModelState<T>& state) {
  BiasShape shape = plan.biasShape();
  shape.room = state.fire;
  return shape;
}

template <class T>
FireTables fireTables(const PositionPlan<T>& plan, const ModelState<T>& state) {
  return {state.fire, plan.biasShape()};
}

}  // namespace

template <class T>
Status Model<T>::create(const ModelOptions& options) {
  Model made;
  made.options_ = options;
  made.options_.position.slopes = nullptr;
  made.options_.position.frequencies = {};
  const Status status = made.layout_.create(options);
  if (status == Status::kOk) *this = std::move(made);
  return status;
}

template <class T>
Status Model<T>::prepare(const Sequences& sequences, PositionPlan<T>& plan, Purpose purpose) {
  const Status status = plan.prepare(sequences.tokens);
  if (status != Status::kOk) return status;
  return memory_.prepare(options_, plan, sequences.batch, sequences.tokens, purpose);
}

template <class T>
void Model<T>::layerForward(const LayerParts<const T>& parts, const PositionPlan<T>& plan, size_t layer) {
  const size_t m = memory_.rows();
  const size_t d = options_.model_dim;
  const T eps = static_cast<T>(options_.eps);
  const LayerState<T>& s = memory_.layer(layer);
  T* const next = layer + 1 < options_.layers ? memory_.layer(layer + 1).hidden : memory_.model().hidden;

  // 1. middle = hidden + A(norm hidden)
  normForward<T>(s.attention_input, s.attention_moments, s.hidden, parts.attention_norm, eps, m, d);
  project(s.qkv, s.attention_input, parts.qkv, m, 3 * d, d);
  if (plan.forgets()) {
    project(s.gates, s.attention_input, parts.forget, m, options_.heads, d);
    for (size_t r = 0; r < m; ++r)
      addScaled(s.gates + r * options_.heads, T{1}, parts.forget_bias, options_.heads);
  }
  layerAttentionForward<T>({options_, plan, memory_, layer, parts});
  copy(s.middle, s.hidden, m * d);
  project(s.middle, s.mixed, parts.output, m, d, d, true);

  // 2. next = middle + F(norm middle); it may be hidden
  if (options_.hidden_dim > 0) {
    const size_t hidden = options_.hidden_dim;
    normForward<T>(s.forward_input, s.forward_moments, s.middle, parts.forward_norm, eps, m, d);
    project(s.active, s.forward_input, parts.up, m, hidden, d);
    activateWithSlope(options_.activation, s.active, s.slope, s.active, m * hidden);
  }
  copy(next, s.middle, m * d);
  if (options_.hidden_dim > 0) project(next, s.active, parts.down, m, d, options_.hidden_dim, true);
}

template <class T>
void Model<T>::forward(const T* parameters, const Sequences& sequences, const PositionPlan<T>& plan) {
  const size_t m = memory_.rows();
  const size_t d = options_.model_dim;
  const ModelState<T>& s = memory_.model();
  const ModelParts<const T> parts = modelParts(layout_, parameters);
  if (plan.isAxial()) axialPositions<T>(s.axial, parts.axial, axialShape(options_, sequences));
  embeddingForward(memory_.layer(0).hidden, embeddingInput(options_, parts, sequences, plan, s));
  if (plan.hasBias()) distanceBias(s.bias, biasShape(plan, s), biasParts(parts, plan));
  if (plan.hasLearnedDistances())
    layOutByDistance(s.distance_vectors, parts.relative_embeddings, plan.relativeRows(), plan.distances(), d);
  if (plan.firesByBlock()) fireTables(plan, s).prepare(parts.bias.first, plan.biasShape().threshold);
  for (size_t l = 0; l < options_.layers; ++l) layerForward(layerParts(layout_, parameters, l), plan, l);
  normForward<T>(s.input, s.moments, s.hidden, parts.final_norm, static_cast<T>(options_.eps), m, d);
  project(s.logits, s.input, parts.unembedding, m, options_.vocab, d);
}

// From d_hidden after the layer to d_hidden before it.
template <class T>
void Model<T>::layerBackward(const LayerParts<T>& gradients, const LayerParts<const T>& parts,
                             const PositionPlan<T>& plan, size_t layer) {
  const size_t m = memory_.rows();
  const size_t d = options_.model_dim;
  const LayerState<T>& s = memory_.layer(layer);
  const ModelState<T>& g = memory_.model();

  if (options_.hidden_dim > 0) {
    const size_t hidden = options_.hidden_dim;
    projectBackward(g.d_active, gradients.down, g.d_hidden, s.active, parts.down, m, d, hidden);
    eachPart(m * hidden, kCopyWork,
             [&](size_t begin, size_t end) { multiplyBy(g.d_active + begin, s.slope + begin, end - begin); });
    projectBackward(g.d_input, gradients.up, g.d_active, s.forward_input, parts.up, m, hidden, d);
    normBackward<T>(g.d_hidden, gradients.forward_norm, g.d_input, s.middle, readOnly(s.forward_moments),
                    parts.forward_norm, m, d);
  }

  projectBackward(g.d_mixed, gradients.output, g.d_hidden, s.mixed, parts.output, m, d, d);
  layerAttentionBackward<T>({options_, plan, memory_, layer, parts}, gradients);
  projectBackward(g.d_input, gradients.qkv, g.d_qkv, s.attention_input, parts.qkv, m, 3 * d, d);
  if (plan.forgets()) {
    projectBackward(g.d_input, gradients.forget, g.d_gates, s.attention_input, parts.forget, m,
                    options_.heads, d, true);
    for (size_t r = 0; r < m; ++r)
      addScaled(gradients.forget_bias, T{1}, g.d_gates + r * options_.heads, options_.heads);
  }
  normBackward<T>(g.d_hidden, gradients.attention_norm, g.d_input, s.hidden, readOnly(s.attention_moments),
                  parts.attention_norm, m, d);
}

template <class T>
void Model<T>::backward(T* gradients, const T* parameters, const Sequences& sequences,
                        const PositionPlan<T>& plan) {
  const size_t m = memory_.rows();
  const size_t d = options_.model_dim;
  const ModelState<T>& s = memory_.model();
  const ModelParts<const T> parts = modelParts(layout_, parameters);
  const ModelParts<T> of_parts = modelParts(layout_, gradients);
  std::fill_n(gradients, layout_.size(), T{0});
  std::fill_n(s.d_hidden, m * d, T{0});
  if (plan.hasLearnedDistances()) std::fill_n(s.d_distance_vectors, plan.distances().count() * d, T{0});
  if (plan.hasBias()) std::fill_n(s.d_bias, options_.heads * plan.biasShape().size(), T{0});

  projectBackward(s.d_input, of_parts.unembedding, s.logits, s.input, parts.unembedding, m, options_.vocab,
                  d);
  normBackward<T>(s.d_hidden, of_parts.final_norm, s.d_input, s.hidden, readOnly(s.moments), parts.final_norm,
                  m, d);
  for (size_t l = options_.layers; l-- > 0;)
    layerBackward(layerParts(layout_, gradients, l), layerParts(layout_, parameters, l), plan, l);

  if (plan.isAxial()) std::fill_n(s.d_axial, sequences.tokens * d, T{0});
  embeddingBackward(of_parts.embedding, plan.isAxial() ? s.d_axial : of_parts.positions, s.d_hidden,
                    embeddingInput(options_, parts, sequences, plan, s));
  if (plan.isAxial()) axialBackward(of_parts.axial, s.d_axial, axialShape(options_, sequences));
  if (plan.hasBias() && of_parts.bias.first != nullptr)
    distanceBiasBackward(of_parts.bias, s.d_bias, biasShape(plan, s), biasParts(parts, plan));
  if (plan.hasLearnedDistances()) {
    layOutBackward(of_parts.relative_embeddings, s.d_distance_vectors, plan.relativeRows(), plan.distances(),
                   d);
  }
  if (plan.firesByBlock()) fireTables(plan, s).addGradients(of_parts.bias.first, parts.bias.first);
}

template class Model<float>;
template class Model<double>;

}  // namespace ropewalk::training
