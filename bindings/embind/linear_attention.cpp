// Bindings of attention without softmax: whole sequences, states and recurrences.
#include <emscripten/bind.h>

#include "attention/linear_attention.h"
#include "attention/linear_recurrence.h"
#include "calls.h"

namespace ropewalk::binding {
namespace {

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
  writeResult(c.report, report);
  return number(status);
}

int runLinearAttention(Pointer option_fields, Pointer fields, RopePlan* rope) {
  const auto options = readCall<LinearAttentionOptions>(option_fields);
  const auto c = readCall<LinearAttentionCall>(fields);
  return withLinearCall(c, rope, [&](const LinearAttentionInput& in, const LinearAttentionOutput& out) {
    return linearAttention(options, c.causal, in, out);
  });
}

int createLinearState(LinearAttentionState& state, Pointer fields) {
  const auto c = readCall<LinearStateCall>(fields);
  return number(state.create(c.form, c.shape));
}
int appendToLinearState(LinearAttentionState& state, Pointer fields, RopePlan* rope) {
  const auto c = readCall<LinearAttentionCall>(fields);
  return withLinearCall(c, rope, [&](const LinearAttentionInput& in, const LinearAttentionOutput& out) {
    return state.append(in, out);
  });
}
void saveLinearState(const LinearAttentionState& state, Pointer bytes) {
  state.save(at<void>(bytes));
}
void restoreLinearState(LinearAttentionState& state, Pointer bytes) {
  state.restore(at<void>(bytes));
}

int runLinearRecurrence(Pointer fields) {
  const auto c = readCall<LinearRecurrenceCall>(fields);
  const auto view = [&](Pointer p, size_t head_count, size_t dim) {
    return heads<const float>(p, c.tokens_first, c.batch, head_count, c.tokens, dim);
  };
  LinearRecurrenceInput input;
  input.rule = c.rule;
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

  function("linearAttention", &runLinearAttention, allow_raw_pointers());
  class_<LinearAttentionState>("LinearAttentionState")
      .constructor<>()
      .property("bytes", &LinearAttentionState::bytes)
      .function("create", &createLinearState)
      .function("append", &appendToLinearState, allow_raw_pointers())
      .function("reset", &LinearAttentionState::reset)
      .function("save", &saveLinearState)
      .function("restore", &restoreLinearState);
  function("linearRecurrence", &runLinearRecurrence);
}
