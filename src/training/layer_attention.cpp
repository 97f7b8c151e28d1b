#include "training/layer_attention.h"

#include <algorithm>
#include <cmath>

#include "parallel.h"
#include "training/attention.h"
#include "training/forget_gate.h"
#include "training/head_tables.h"
#include "training/lanes.h"
#include "training/linear_attention.h"

namespace ropewalk::training {
namespace {

// One head of one sequence.
struct HeadPlace {
  size_t b;
  size_t h;
  size_t index;   // over all heads of all sequences
  size_t thread;  // that computes it
};

// f(place) for all heads of all sequences, at the same time unless they add to the same gradients. passes:
// how often the work of a forward pass.
template <class T, class F>
void eachHead(const LayerContext<T>& context, SharedGradients shared, size_t passes, const F& f) {
  const size_t heads = context.options.heads;
  const size_t batch = context.memory.batch();
  const size_t tokens = context.memory.tokens();
  const size_t score = context.options.headDim() + 16;  // multiplications
  if (shared == SharedGradients::kNone) {
    parallelFor(batch * heads, grainOf(passes, tokens, tokens, score), [&](const Share& share) {
      for (size_t i = share.first; i < share.end; ++i) f(HeadPlace{i / heads, i % heads, i, share.thread});
    });
    return;
  }
  const auto in_order = [&](const Share& share) {
    for (size_t b = 0; b < batch; ++b) {
      for (size_t h = share.first; h < share.end; ++h) f(HeadPlace{b, h, b * heads + h, share.thread});
    }
  };
  if (shared == SharedGradients::kOfAll) return in_order({0, heads, 0});
  parallelFor(heads, grainOf(passes, batch, tokens, tokens, score), in_order);
}

bool isLinear(const ModelOptions& options) {
  return options.attention == AttentionKind::kLinear;
}

// Queries of a head in qkv [M, 3 d], or in its gradient; keys are d further, values 2 d.
template <class T>
T* queriesOf(const LayerContext<T>& context, T* qkv, const HeadPlace& at) {
  const size_t d = context.options.model_dim;
  return qkv + at.b * context.memory.tokens() * 3 * d + at.h * context.options.headDim();
}

template <class T>
T* mixedOf(const LayerContext<T>& context, T* mixed, const HeadPlace& at) {
  return mixed + at.b * context.memory.tokens() * context.options.model_dim +
         at.h * context.options.headDim();
}

// Tables by distance as attention has them; those for values lie behind the others.
template <class T>
RelativeTables<T> relativeTables(const LayerContext<T>& context, T* tables) {
  const PositionPlan<T>& plan = context.plan;
  T* const values =
      plan.hasValueTerm() ? tables + plan.distances().count() * context.options.headDim() : nullptr;
  return {plan.hasQueryTerm() ? tables : nullptr, plan.hasKeyTerm() ? tables : nullptr,
          plan.hasProductTerm() ? tables : nullptr, values};
}

template <class T>
HeadTableShape headTableShape(const LayerContext<T>& context) {
  return {context.plan.distances().count(), context.options.heads, context.options.headDim()};
}

// Those of a head, or their gradients.
template <class T>
RelativeTables<T> headTablesOf(const LayerContext<T>& context, T* tables, const HeadPlace& at) {
  const HeadTableShape shape = headTableShape(context);
  T* const keys = tables + at.h * shape.size();
  T* const queries = context.plan.hasLearnedDistances() ? keys + shape.heads * shape.size() : nullptr;
  return {keys, queries, nullptr, nullptr};
}

template <class T>
T scaleOf(const LayerContext<T>& context) {
  return static_cast<T>(
      1 / std::sqrt(static_cast<double>(context.options.headDim() * context.plan.scoreTerms())));
}

template <class T>
HeadInput<T> inputOf(const LayerContext<T>& context, const HeadPlace& at) {
  const size_t d = context.options.model_dim;
  const PositionPlan<T>& plan = context.plan;
  const LayerState<T>& state = context.memory.layer(context.layer);
  const ModelState<T>& model = context.memory.model();
  const T* const q = queriesOf(context, state.qkv, at);
  HeadInput<T> input;
  input.queries = allQueries(plan.distances());
  input.value_dim = context.options.headDim();
  input.x = {q, 3 * d, q + d, 3 * d, input.value_dim};
  input.v = q + 2 * d;
  input.v_stride = 3 * d;
  input.scale = scaleOf(context);
  if (plan.hasBias()) {
    const BiasShape bias = plan.biasShape();
    input.bias = model.bias + at.h * bias.size();
    input.bias_stride = bias.rows() > 1 ? bias.distances.count() : 0;
  }
  if (plan.firesByBlock()) {
    input.fire = {model.fire, plan.biasShape()};
    input.head = at.h;
  }
  if (plan.forgets()) input.forget_sums = state.forget_sums + at.index * context.memory.tokens();
  if (plan.hasRelative()) {
    const RelativeTables<T> tables = relativeTables(context, model.tables);
    input.relative = {tables.query, tables.key, tables.product, tables.value};
  }
  if (plan.hasHeadTables()) {
    const RelativeTables<T> tables = headTablesOf(context, model.tables, at);
    input.relative = {tables.query, tables.key, nullptr, nullptr};
    if (plan.hasQueryBiases()) input.bias = model.table_bias + at.h * plan.distances().count();
  }
  if (plan.copePositions() > 0)
    input.cope = {context.parts.cope, plan.copePositions(), context.memory.model(at.thread).cope};
  return input;
}

// Of a head with phases: what its queries and keys become.
template <class T>
void angle(const LayerContext<T>& context, const HeadPlace& at, HeadInput<T>* input) {
  const size_t tokens = context.memory.tokens();
  const size_t dim = input->x.dim;
  T* const q = context.memory.model(at.thread).angled;
  T* const k = q + tokens * 2 * dim;
  const AngleTables<T> tables = context.plan.angles();
  popeForward<T>(q, input->x.q, input->x.q_stride, tokens, tables, nullptr);
  popeForward<T>(k, input->x.k, input->x.k_stride, tokens, tables, context.parts.phases + at.h * dim);
  input->x = {q, 2 * dim, k, 2 * dim, 2 * dim};
}

template <class T>
LinearHead<T> linearHead(const LayerContext<T>& context, const HeadInput<T>& input) {
  LinearHead<T> head;
  head.head = input;
  head.kernel = context.options.kernel;
  if (context.plan.turns()) head.rotation = context.options.rotation;
  head.angles = context.plan.angles();
  head.pairing = context.plan.pairing();
  return head;
}

template <class T>
MixedShape mixedShape(const LayerContext<T>& context) {
  const ModelOptions& options = context.options;
  return {context.memory.tokens(), context.plan.columns(), options.heads, options.headDim() / 2};
}

// Queries and keys of all heads, or their gradients, with those of what the layer learns of angles.
template <class T>
void turnAll(const LayerContext<T>& context, T* qkv, Turn turn, MixedFrequencies<T> gradients = {}) {
  const PositionPlan<T>& plan = context.plan;
  if (!(plan.turns() || plan.mixes()) || isLinear(context.options)) return;
  const ModelState<T>& model = context.memory.model();
  const size_t d = context.options.model_dim;
  const MixedShape shape = mixedShape(context);
  const size_t work = shape.tokens * context.options.headDim() * 16;
  const SharedGradients shared = gradients.x == nullptr ? SharedGradients::kNone : SharedGradients::kOfHead;
  eachHead(context, shared, work, [&](const HeadPlace& at) {
    const T* const turned = queriesOf(context, context.memory.layer(context.layer).qkv, at);
    const AngleTables<T> tables = plan.mixes() ? mixedTablesOf<T>(model.angles, at.h, shape) : plan.angles();
    const size_t of_head = at.h * shape.pairs;
    for (const size_t part : {size_t{0}, d}) {
      T* const x = queriesOf(context, qkv, at) + part;
      if (gradients.x != nullptr) {
        mixedBackward<T>({gradients.x + of_head, gradients.y + of_head}, turned + part, x, 3 * d, shape,
                         plan.pairing());
      }
      turnRows(x, 3 * d, shape.tokens, tables, plan.pairing(), turn);
    }
  });
}

// f(row of queries in x [M, 3 d]), all heads side by side.
template <class T, class F>
void eachQuery(const LayerContext<T>& context, T* x, F f) {
  for (size_t r = 0; r < context.memory.rows(); ++r) f(x + r * 3 * context.options.model_dim);
}

template <class T>
void makeHeadTables(const LayerContext<T>& context) {
  const ModelState<T>& model = context.memory.model();
  const HeadTableShape shape = headTableShape(context);
  if (context.plan.hasLearnedDistances()) {
    const size_t d = shape.width();
    headTables<T>(model.tables, model.distance_vectors, context.parts.qkv + d * d, shape);
    headTables<T>(model.tables + shape.heads * shape.size(), model.distance_vectors, context.parts.qkv,
                  shape);
    return;
  }
  headTables(model.tables, context.plan.distanceVectors(), context.parts.relative_projection, shape);
  tableBias<T>(model.table_bias, model.tables, context.parts.query_biases, scaleOf(context), shape);
}

template <class T>
void headTablesGradients(const LayerContext<T>& context, const LayerParts<T>& gradients) {
  const ModelState<T>& model = context.memory.model();
  const HeadTableShape shape = headTableShape(context);
  if (context.plan.hasLearnedDistances()) {
    const size_t d = shape.width();
    headTablesBackward<T>(gradients.qkv + d * d, model.d_distance_vectors, model.d_tables,
                          model.distance_vectors, context.parts.qkv + d * d, shape);
    headTablesBackward<T>(gradients.qkv, model.d_distance_vectors,
                          model.d_tables + shape.heads * shape.size(), model.distance_vectors,
                          context.parts.qkv, shape);
    return;
  }
  tableBiasBackward<T>(gradients.query_biases, model.d_tables, model.d_table_bias, model.tables,
                       context.parts.query_biases, scaleOf(context), shape);
  headTablesBackward<T>(gradients.relative_projection, nullptr, model.d_tables,
                        context.plan.distanceVectors(), nullptr, shape);
  eachQuery(context, model.d_qkv,
            [&](const T* row) { addScaled(gradients.query_biases.content, T{1}, row, shape.width()); });
}

template <class T>
void layOutTables(const LayerContext<T>& context) {
  const PositionPlan<T>& plan = context.plan;
  if (plan.mixes()) mixedTables<T>(context.memory.model().angles, context.parts.mixed, mixedShape(context));
  if (plan.hasHeadTables()) return makeHeadTables(context);
  if (!plan.hasRelative()) return;
  const size_t dim = context.options.headDim();
  T* const tables = context.memory.model().tables;
  layOutByDistance(tables, context.parts.relative, plan.relativeRows(), plan.distances(), dim);
  if (!plan.hasValueTerm()) return;
  layOutByDistance(tables + plan.distances().count() * dim, context.parts.relative_values,
                   plan.relativeRows(), plan.distances(), dim);
}

}  // namespace

template <class T>
void layerAttentionForward(const LayerContext<T>& context) {
  const ModelOptions& options = context.options;
  const LayerState<T>& state = context.memory.layer(context.layer);
  const size_t tokens = context.memory.tokens();
  layOutTables(context);
  turnAll(context, state.qkv, Turn::kForward);
  if (context.plan.hasQueryBiases()) {
    eachQuery(context, state.qkv,
              [&](T* row) { addScaled(row, T{1}, context.parts.query_biases.content, options.model_dim); });
  }
  eachHead(context, SharedGradients::kNone, 1, [&](const HeadPlace& at) {
    T* const room = context.memory.model(at.thread).room;
    if (context.plan.forgets()) {
      forgetSums(state.forget_sums + at.index * tokens, state.gates + at.b * tokens * options.heads + at.h,
                 options.heads, tokens);
    }
    HeadInput<T> input = inputOf(context, at);
    const HeadWeights<T> weights = context.memory.weights(context.layer, at.index, at.thread);
    T* const out = mixedOf(context, state.mixed, at);
    if (isLinear(options)) {
      linearAttentionForward(weights, state.denominators + at.index * tokens, out, options.model_dim,
                             linearHead(context, input), room);
      return;
    }
    if (context.plan.hasPhases()) angle(context, at, &input);
    attentionForward(weights, out, options.model_dim, input, room);
  });
}

template <class T>
void layerAttentionBackward(const LayerContext<T>& context, const LayerParts<T>& gradients) {
  const ModelOptions& options = context.options;
  const PositionPlan<T>& plan = context.plan;
  const LayerState<T>& state = context.memory.layer(context.layer);
  const ModelState<T>& model = context.memory.model();
  const Distances distances = plan.distances();
  const size_t tokens = distances.tokens;
  const size_t d = options.model_dim;
  const size_t dim = options.headDim();
  layOutTables(context);
  std::fill_n(model.d_qkv, context.memory.rows() * 3 * d, T{0});
  if (plan.hasRelative()) std::fill_n(model.d_tables, 2 * distances.count() * dim, T{0});
  if (plan.hasHeadTables()) {
    std::fill_n(model.d_tables, distances.count() * plan.headTables() * d, T{0});
    if (plan.hasQueryBiases()) std::fill_n(model.d_table_bias, distances.count() * options.heads, T{0});
  }
  eachHead(context, plan.sharedGradients(), 2, [&](const HeadPlace& at) {
    const ModelState<T>& own = context.memory.model(at.thread);
    HeadInput<T> input = inputOf(context, at);
    const QueriesAndKeys<const T> projected = input.x;
    T* const dq = queriesOf(context, model.d_qkv, at);
    HeadGradients<T> head;
    head.dx = {dq, 3 * d, dq + d, 3 * d, dim};
    head.dv = dq + 2 * d;
    head.dv_stride = 3 * d;
    if (plan.hasBias()) head.bias = model.d_bias + at.h * plan.biasShape().size();
    if (plan.hasRelative()) head.relative = relativeTables(context, model.d_tables);
    if (plan.hasHeadTables()) {
      head.relative = headTablesOf(context, model.d_tables, at);
      if (plan.hasQueryBiases()) head.bias = model.d_table_bias + at.h * distances.count();
    }
    head.cope = gradients.cope;
    const HeadWeights<T> weights = context.memory.weights(context.layer, at.index, at.thread);
    const T* const dout = mixedOf(context, model.d_mixed, at);
    if (isLinear(options)) {
      linearAttentionBackward(head, dout, d, weights, state.denominators + at.index * tokens,
                              linearHead(context, input), own.room);
      return;
    }
    if (plan.forgets()) {
      head.forget_sums = own.d_forget_sums;
      std::fill_n(own.d_forget_sums, tokens, T{0});
    }
    T* const angled = own.d_angled;
    if (plan.hasPhases()) {
      angle(context, at, &input);
      std::fill_n(angled, 4 * tokens * dim, T{0});
      head.dx = {angled, 2 * dim, angled + tokens * 2 * dim, 2 * dim, 2 * dim};
    }
    attentionBackward(head, dout, d, weights, input, own.room);
    if (plan.hasPhases()) {
      const AngleTables<T> tables = plan.angles();
      popeBackward<T>(dq, nullptr, head.dx.q, projected.q, 3 * d, tokens, tables, nullptr);
      popeBackward<T>(dq + d, gradients.phases + at.h * dim, head.dx.k, projected.k, 3 * d, tokens, tables,
                      context.parts.phases + at.h * dim);
    }
    if (plan.forgets()) {
      const size_t gate = at.b * tokens * options.heads + at.h;
      forgetSumsBackward(model.d_gates + gate, own.d_forget_sums, state.gates + gate, options.heads, tokens);
    }
  });
  turnAll(context, model.d_qkv, Turn::kBack, gradients.mixed);
  if (plan.hasHeadTables()) headTablesGradients(context, gradients);
  if (!plan.hasRelative()) return;
  layOutBackward(gradients.relative, model.d_tables, plan.relativeRows(), distances, dim);
  if (plan.hasValueTerm()) {
    layOutBackward(gradients.relative_values, model.d_tables + distances.count() * dim, plan.relativeRows(),
                   distances, dim);
  }
}

template void layerAttentionForward(const LayerContext<float>&);
template void layerAttentionForward(const LayerContext<double>&);
template void layerAttentionBackward(const LayerContext<float>&, const LayerParts<float>&);
template void layerAttentionBackward(const LayerContext<double>&, const LayerParts<double>&);

}  // namespace ropewalk::training
