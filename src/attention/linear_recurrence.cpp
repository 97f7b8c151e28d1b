#include "attention/linear_recurrence.h"

#include <algorithm>
#include <cmath>

#include "attention/linear_attention.h"
#include "kernels/gemm.h"
#include "memory.h"
#include "parallel.h"

namespace ropewalk {
namespace {

bool isGated(UpdateRule rule) {
  return rule == UpdateRule::kGated || rule == UpdateRule::kGatedDelta;
}
bool isDelta(UpdateRule rule) {
  return rule == UpdateRule::kDelta || rule == UpdateRule::kGatedDelta;
}

bool fits(const LinearRecurrenceInput& in, const HeadView<float>& out) {
  const auto same = [&](const HeadView<const float>& x) {
    return x.batch == in.q.batch && x.tokens == in.q.tokens;
  };
  if (!same(in.k) || !same(in.v) || in.q.dim == 0 || in.k.dim != in.q.dim || in.v.heads != in.k.heads ||
      in.k.heads == 0 || in.q.heads % in.k.heads != 0) {
    return false;
  }
  if (out.batch != in.q.batch || out.heads != in.q.heads || out.tokens != in.q.tokens || out.dim != in.v.dim)
    return false;
  if (isGated(in.rule) != (in.decay.dim != 0) || isDelta(in.rule) != (in.beta.dim != 0)) return false;
  if (isGated(in.rule) &&
      (!same(in.decay) || in.decay.heads != in.k.heads || (in.decay.dim != 1 && in.decay.dim != in.k.dim))) {
    return false;
  }
  return !isDelta(in.rule) ||
         (same(in.beta) && in.beta.dim == 1 && (in.beta.heads == 1 || in.beta.heads == in.k.heads));
}

// Without gates the state is a plain sum, for which there are blocks.
Status plainSum(const LinearRecurrenceInput& in, HeadView<float> out, float* present, size_t state_size) {
  LinearAttentionOptions options;
  options.kernel = LinearKernel::kProduct;
  options.normalize = false;
  options.scale = in.scale;
  LinearAttentionState state;
  Status status = state.create(options, {in.q.batch, in.k.heads, in.q.dim, in.v.dim});
  if (status != Status::kOk) return status;
  if (in.past != nullptr) std::copy_n(in.past, state_size, state.sums());
  LinearAttentionInput input;
  input.q = in.q;
  input.k = in.k;
  input.v = in.v;
  LinearAttentionOutput output;
  output.out = out;
  status = state.append(input, output);
  if (status != Status::kOk) return status;
  std::copy_n(state.sums(), state_size, present);
  return Status::kOk;
}

void forget(float* state, const float* decay, bool per_key, size_t dim, size_t width) {
  for (size_t d = 0; d < dim; ++d) {
    const float factor = std::exp(decay[per_key ? d : 0]);
    for (size_t m = 0; m < width; ++m) state[d * width + m] *= factor;
  }
}

// All tokens of key head g. state [D, Dv]; written: room for [Dv].
void runHead(const LinearRecurrenceInput& in, HeadView<float> out, size_t b, size_t g, float* state,
             float* written) {
  const size_t dim = in.q.dim;
  const size_t width = in.v.dim;
  const size_t group = in.q.heads / in.k.heads;
  GemmOptions added;
  added.accumulate = true;
  const MatrixView state_view = {state, dim, width, width};
  for (size_t t = 0; t < in.q.tokens; ++t) {
    const float* const key = in.k.row(b, g, t);
    const float* const value = in.v.row(b, g, t);
    if (isGated(in.rule)) forget(state, in.decay.row(b, g, t), in.decay.dim != 1, dim, width);
    std::copy_n(value, width, written);
    if (isDelta(in.rule)) {
      const float beta = *in.beta.row(b, in.beta.heads == 1 ? 0 : g, t);
      gemm(written, width, key, dim, state_view, 1);
      for (size_t m = 0; m < width; ++m) written[m] = beta * (value[m] - written[m]);
    }
    gemm(state, width, key, 1, {written, 1, width, width}, dim, added);
    const size_t first = g * group;
    gemm(out.row(b, first, t), out.head_stride, in.q.row(b, first, t), in.q.head_stride, state_view, group);
    for (size_t h = first; h < first + group; ++h) {
      float* const row = out.row(b, h, t);
      for (size_t m = 0; m < width; ++m) row[m] *= in.scale;
    }
  }
}

}  // namespace

Status linearRecurrence(const LinearRecurrenceInput& in, HeadView<float> out, float* present) {
  if (!fits(in, out)) return Status::kInvalidShape;
  const size_t dim = in.q.dim;
  const size_t width = in.v.dim;
  const size_t group = in.q.heads / in.k.heads;
  const size_t state_size = in.q.batch * in.k.heads * dim * width;
  if (in.rule == UpdateRule::kLinear) return plainSum(in, out, present, state_size);

  const size_t heads = in.q.batch * in.k.heads;
  const size_t grain = grainOf(in.q.tokens, dim, width, group + 1);
  Buffer<float> lines;
  if (lines.allocate(threadsFor(heads, grain), width) != Status::kOk) return Status::kOutOfMemory;
  if (in.past != nullptr) {
    std::copy_n(in.past, state_size, present);
  } else {
    std::fill_n(present, state_size, 0.0f);
  }
  parallelFor(heads, grain, [&](const Share& share) {
    float* const line = lines.data() + share.thread * width;
    for (size_t n = share.first; n < share.end; ++n)
      runHead(in, out, n / in.k.heads, n % in.k.heads, present + n * dim * width, line);
  });
  return Status::kOk;
}

}  // namespace ropewalk
