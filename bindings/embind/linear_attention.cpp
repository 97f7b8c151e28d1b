// Attention without softmax: whole sequences, states and recurrences.
#include <emscripten/bind.h>

#include <algorithm>

#include "attention/linear_attention.h"
#include "attention/linear_recurrence.h"
#include "calls.h"

namespace ropewalk::binding {
namespace {

struct LinearAttentionCall {
  Pointer out, q, k, v, keep, rms_weight, denominators;
  Pointer report;  // four doubles: minimum, negative, zero, not finite
  size_t keep_batch_stride, keep_key_stride;
  size_t batch, heads, kv_heads, queries, keys, head_dim, value_dim;
  bool tokens_first, causal, rms_norm;
  float rms_eps;
  PositionsCall query_positions, key_positions;
};

template <class Run>
int withLinearCall(const LinearAttentionCall& c, RopePlan* rope, Run run) {
  LinearAttentionInput input;
  input.q = heads<const float>(c.q, c.tokens_first, c.batch, c.heads, c.queries, c.head_dim);
  input.k = heads<const float>(c.k, c.tokens_first, c.batch, c.kv_heads, c.keys, c.head_dim);
  input.v = heads<const float>(c.v, c.tokens_first, c.batch, c.kv_heads, c.keys, c.value_dim);
  input.rope = rope;
  input.query_positions = positions(c.query_positions);
  input.key_positions = positions(c.key_positions);
  input.keep = at<uint8_t>(c.keep);
  input.keep_batch_stride = c.keep_batch_stride;
  input.keep_key_stride = c.keep_key_stride;
  DenominatorReport report;
  LinearAttentionOutput output;
  output.out = heads<float>(c.out, c.tokens_first, c.batch, c.heads, c.queries, c.value_dim);
  output.denominators = at<float>(c.denominators);
  output.report = &report;
  output.rms_norm = c.rms_norm;
  output.rms_eps = c.rms_eps;
  output.rms_weight = at<float>(c.rms_weight);
  const Status status = run(input, output);
  const double numbers[] = {report.minimum, static_cast<double>(report.negative),
                            static_cast<double>(report.zero), static_cast<double>(report.non_finite)};
  std::copy_n(numbers, 4, at<double>(c.report));
  return number(status);
}

int runLinearAttention(const LinearAttentionOptions& options, const LinearAttentionCall& call,
                       RopePlan* rope) {
  return withLinearCall(call, rope, [&](const LinearAttentionInput& in, const LinearAttentionOutput& out) {
    return linearAttention(options, call.causal, in, out);
  });
}

int createLinearState(LinearAttentionState& state, const LinearAttentionOptions& options,
                      const LinearStateShape& shape) {
  return number(state.create(options, shape));
}
int appendToLinearState(LinearAttentionState& state, const LinearAttentionCall& call, RopePlan* rope) {
  return withLinearCall(call, rope, [&](const LinearAttentionInput& in, const LinearAttentionOutput& out) {
    return state.append(in, out);
  });
}
void saveLinearState(const LinearAttentionState& state, Pointer bytes) {
  state.save(at<void>(bytes));
}
void restoreLinearState(LinearAttentionState& state, Pointer bytes) {
  state.restore(at<void>(bytes));
}

struct LinearRecurrenceCall {
  Pointer out, q, k, v, decay, beta, past, present;
  int rule;
  float scale;
  size_t batch, heads, kv_heads, tokens, head_dim, value_dim, decay_dim, beta_heads;
  bool tokens_first;
};

int runLinearRecurrence(const LinearRecurrenceCall& c) {
  const auto view = [&](Pointer p, size_t head_count, size_t dim) {
    return heads<const float>(p, c.tokens_first, c.batch, head_count, c.tokens, dim);
  };
  LinearRecurrenceInput input;
  input.rule = static_cast<UpdateRule>(c.rule);
  input.scale = c.scale;
  input.q = view(c.q, c.heads, c.head_dim);
  input.k = view(c.k, c.kv_heads, c.head_dim);
  input.v = view(c.v, c.kv_heads, c.value_dim);
  input.decay = view(c.decay, c.kv_heads, c.decay_dim);
  input.beta = view(c.beta, c.beta_heads, c.beta_heads == 0 ? 0 : 1);
  input.past = at<float>(c.past);
  return number(linearRecurrence(input,
                                 heads<float>(c.out, c.tokens_first, c.batch, c.heads, c.tokens, c.value_dim),
                                 at<float>(c.present)));
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(linear_attention) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

  value_object<LinearAttentionOptions>("LinearAttentionOptions")
      .field("kernel", ENUM_FIELD(LinearAttentionOptions, LinearKernel, kernel))
      .field("normalize", &LinearAttentionOptions::normalize)
      .field("rotateNormalizer", &LinearAttentionOptions::rotate_normalizer)
      .field("scale", &LinearAttentionOptions::scale);
  value_object<LinearStateShape>("LinearStateShape")
      .field("batch", &LinearStateShape::batch)
      .field("kvHeads", &LinearStateShape::kv_heads)
      .field("headDim", &LinearStateShape::head_dim)
      .field("valueDim", &LinearStateShape::value_dim);
  value_object<LinearAttentionCall>("LinearAttentionCall")
      .field("out", &LinearAttentionCall::out)
      .field("q", &LinearAttentionCall::q)
      .field("k", &LinearAttentionCall::k)
      .field("v", &LinearAttentionCall::v)
      .field("keep", &LinearAttentionCall::keep)
      .field("rmsWeight", &LinearAttentionCall::rms_weight)
      .field("denominators", &LinearAttentionCall::denominators)
      .field("report", &LinearAttentionCall::report)
      .field("keepBatchStride", &LinearAttentionCall::keep_batch_stride)
      .field("keepKeyStride", &LinearAttentionCall::keep_key_stride)
      .field("batch", &LinearAttentionCall::batch)
      .field("heads", &LinearAttentionCall::heads)
      .field("kvHeads", &LinearAttentionCall::kv_heads)
      .field("queries", &LinearAttentionCall::queries)
      .field("keys", &LinearAttentionCall::keys)
      .field("headDim", &LinearAttentionCall::head_dim)
      .field("valueDim", &LinearAttentionCall::value_dim)
      .field("tokensFirst", &LinearAttentionCall::tokens_first)
      .field("causal", &LinearAttentionCall::causal)
      .field("rmsNorm", &LinearAttentionCall::rms_norm)
      .field("rmsEps", &LinearAttentionCall::rms_eps)
      .field("queryPositions", &LinearAttentionCall::query_positions)
      .field("keyPositions", &LinearAttentionCall::key_positions);
  function("linearAttention", &runLinearAttention, allow_raw_pointers());
  class_<LinearAttentionState>("LinearAttentionState")
      .constructor<>()
      .property("bytes", &LinearAttentionState::bytes)
      .function("create", &createLinearState)
      .function("append", &appendToLinearState, allow_raw_pointers())
      .function("reset", &LinearAttentionState::reset)
      .function("save", &saveLinearState)
      .function("restore", &restoreLinearState);
  value_object<LinearRecurrenceCall>("LinearRecurrenceCall")
      .field("out", &LinearRecurrenceCall::out)
      .field("q", &LinearRecurrenceCall::q)
      .field("k", &LinearRecurrenceCall::k)
      .field("v", &LinearRecurrenceCall::v)
      .field("decay", &LinearRecurrenceCall::decay)
      .field("beta", &LinearRecurrenceCall::beta)
      .field("past", &LinearRecurrenceCall::past)
      .field("present", &LinearRecurrenceCall::present)
      .field("rule", &LinearRecurrenceCall::rule)
      .field("scale", &LinearRecurrenceCall::scale)
      .field("batch", &LinearRecurrenceCall::batch)
      .field("heads", &LinearRecurrenceCall::heads)
      .field("kvHeads", &LinearRecurrenceCall::kv_heads)
      .field("tokens", &LinearRecurrenceCall::tokens)
      .field("headDim", &LinearRecurrenceCall::head_dim)
      .field("valueDim", &LinearRecurrenceCall::value_dim)
      .field("decayDim", &LinearRecurrenceCall::decay_dim)
      .field("betaHeads", &LinearRecurrenceCall::beta_heads)
      .field("tokensFirst", &LinearRecurrenceCall::tokens_first);
  function("linearRecurrence", &runLinearRecurrence);
}
