#include "layers/self_attention.h"

#include <algorithm>
#include <utility>

#include "attention/visible_keys.h"

namespace ropewalk {
namespace {

bool hasShape(const Linear& linear, size_t n, size_t k) {
  return linear.weight().rows() == n && linear.weight().columns() == k;
}

bool normFits(const NormLayer& norm, size_t heads, size_t dim) {
  if (norm.kind() == NormKind::kNone) return true;
  if (norm.sets() == 1) return norm.size() == dim || norm.size() == heads * dim;
  return norm.sets() == heads && norm.size() == dim;
}

size_t sizeOf(HeadView<float> x) {
  return x.batch * x.heads * x.tokens * x.dim;
}

// Copies a view to where a caller asks for it, contiguous.
void show(float* captured, HeadView<float> x) {
  if (captured != nullptr) std::copy_n(x.data, sizeOf(x), captured);
}

Status listFrom(int64_t first, size_t tokens, Buffer<int64_t>* list) {
  if (list->allocate(tokens) != Status::kOk) return Status::kOutOfMemory;
  for (size_t t = 0; t < tokens; ++t) (*list)[t] = first + static_cast<int64_t>(t);
  return Status::kOk;
}

// Where a cache is to keep the tokens; a list of them, where one is needed, in `list`.
Status positionsInCache(const SelfAttentionInput& input, Buffer<int64_t>* list, AppendPositions* at) {
  const Positions& given = input.positions;
  const size_t tokens = input.tokens;
  if (input.rope != nullptr && input.rope->axes() > 1) {
    at->axis_positions = given.values;
    return given.values == nullptr ? Status::kInvalidArgument : Status::kOk;
  }
  if (given.values != nullptr) {
    const int64_t last = tokens == 0 ? 0 : given.values[tokens - 1] - given.values[0] + 1;
    at->positions = given.values;
    return last == static_cast<int64_t>(tokens) ? Status::kOk : Status::kInvalidArgument;
  }
  if (given.offset == input.cache->nextPosition()) return Status::kOk;
  if (given.offset > kMaxPosition - static_cast<int64_t>(tokens) + 1) return Status::kPositionOutOfRange;
  const Status status = listFrom(given.offset, tokens, list);
  at->positions = list->data();
  return status;
}

}  // namespace

// What one call works on, [B, T, heads, D] each.
struct SelfAttention::Work {
  Buffer<float> memory;
  HeadView<float> q;
  HeadView<float> k;
  HeadView<float> v;
  HeadView<float> context;
  // Copies from before the rotation, for parts of the scores; null data: not asked for.
  HeadView<float> plain_q;
  HeadView<float> plain_k;
};

Status SelfAttention::create(const SelfAttentionOptions& options, SelfAttentionParts&& parts) {
  const auto& [model, heads, kv_heads, dim, value_dim] = options;
  size_t width = 0;
  if (model == 0 || heads == 0 || kv_heads == 0 || dim == 0 || value_dim == 0 || heads % kv_heads != 0 ||
      !multiply(heads, std::max(dim, value_dim), &width)) {
    return Status::kInvalidShape;
  }
  if (!hasShape(parts.query, heads * dim, model) || !hasShape(parts.key, kv_heads * dim, model) ||
      !hasShape(parts.value, kv_heads * value_dim, model) ||
      !hasShape(parts.output, model, heads * value_dim) || !normFits(parts.query_norm, heads, dim) ||
      !normFits(parts.key_norm, kv_heads, dim)) {
    return Status::kInvalidShape;
  }
  options_ = options;
  parts_ = std::move(parts);
  return Status::kOk;
}

size_t SelfAttention::bytes() const {
  return parts_.query.bytes() + parts_.key.bytes() + parts_.value.bytes() + parts_.output.bytes() +
         parts_.query_norm.bytes() + parts_.key_norm.bytes();
}

Status SelfAttention::allocate(const SelfAttentionInput& input, const AttentionCapture& capture,
                               Work* work) const {
  const auto& [model, heads, kv_heads, dim, value_dim] = options_;
  const bool parts = capture.scores.content != nullptr || capture.scores.position != nullptr;
  const bool plain = input.rope != nullptr && parts;
  const bool plain_keys = plain && input.cache == nullptr;  // a cache has its own
  // Numbers of each per token; those that are captured lie with the caller.
  const size_t q = heads * dim;
  const size_t k = kv_heads * dim;
  const size_t v = kv_heads * value_dim;
  const size_t context = capture.context == nullptr ? heads * value_dim : 0;
  const size_t plain_q = plain && capture.q == nullptr ? q : 0;
  const size_t plain_k = plain_keys && capture.k == nullptr ? k : 0;
  size_t rows = 0;
  size_t cells = 0;
  if (!multiply(input.batch, input.tokens, &rows) ||
      !multiply(rows, q + k + v + context + plain_q + plain_k, &cells) ||
      !multiply(rows, std::max(model, heads * value_dim), &rows)) {
    return Status::kInvalidShape;
  }
  if (work->memory.allocate(cells) != Status::kOk) return Status::kOutOfMemory;
  float* free = work->memory.data();
  const auto view = [&](float* given, size_t head_count, size_t head_size) {
    const auto made =
        tokensFirst(given != nullptr ? given : free, input.batch, head_count, input.tokens, head_size);
    if (given == nullptr) free += sizeOf(made);
    return made;
  };
  work->q = view(nullptr, heads, dim);
  work->k = view(nullptr, kv_heads, dim);
  work->v = view(nullptr, kv_heads, value_dim);
  work->context = view(capture.context, heads, value_dim);
  if (plain) work->plain_q = view(capture.q, heads, dim);
  if (plain_keys) work->plain_k = view(capture.k, kv_heads, dim);
  return Status::kOk;
}

void SelfAttention::project(const float* x, const AttentionCapture& capture, const Work& work) const {
  const size_t rows = work.q.batch * work.q.tokens;
  parts_.query.apply(work.q.data, x, rows);
  parts_.key.apply(work.k.data, x, rows);
  parts_.value.apply(work.v.data, x, rows);
  const auto normalize = [](const NormLayer& norm, HeadView<float> heads) {
    if (norm.kind() != NormKind::kNone) norm.apply(heads.data, heads.data, sizeOf(heads) / norm.size());
  };
  normalize(parts_.query_norm, work.q);
  normalize(parts_.key_norm, work.k);
  show(work.plain_q.data != nullptr ? work.plain_q.data : capture.q, work.q);
  show(work.plain_k.data != nullptr ? work.plain_k.data : capture.k, work.k);
  show(capture.v, work.v);
}

Status SelfAttention::attendAlone(const SelfAttentionInput& input, const AttentionCapture& capture,
                                  const Work& work) const {
  if (input.rope != nullptr) {
    RopePlan& rope = *input.rope;
    Status status = rope.rotate(work.q, input.positions, Turn::kForward, Role::kQuery);
    if (status == Status::kOk) status = rope.rotate(work.k, input.positions, Turn::kForward, Role::kKey);
    if (status == Status::kOk && input.turn_values) status = rope.rotate(work.v, input.positions);
    if (status != Status::kOk) return status;
  }
  show(capture.q_rotated, work.q);
  show(capture.k_rotated, work.k);
  show(capture.v_rotated, work.v);
  ScoreOutputs scores = capture.scores;
  scores.plain_q = work.plain_q.readOnly();
  scores.plain_k = work.plain_k.readOnly();
  AttentionOptions options = input.attention;
  const int64_t first = input.positions.offset;
  Buffer<int64_t> at;
  if (first != 0 && countsPositions(options)) {
    if (listFrom(first, input.tokens, &at) != Status::kOk) return Status::kOutOfMemory;
    options.query_offset = first;
    options.key_positions = at.data();
  }
  return attention(work.context, work.q.readOnly(), work.k.readOnly(), work.v.readOnly(), options, scores);
}

Status SelfAttention::attendCached(const SelfAttentionInput& input, const AttentionCapture& capture,
                                   const Work& work) const {
  KvCache& cache = *input.cache;
  const size_t tokens = input.tokens;
  if (cache.plan() != input.rope || input.turn_values || input.positions.per_batch) {
    return Status::kInvalidArgument;
  }
  Buffer<int64_t> list;
  AppendPositions at;
  Status status = positionsInCache(input, &list, &at);
  if (status != Status::kOk) return status;
  status = cache.append(work.k.readOnly(), work.v.readOnly(), at);
  if (status != Status::kOk) return status;

  // A rebased window may have moved the tokens up.
  Positions positions = input.positions;
  if (positions.values == nullptr) positions.offset = cache.nextPosition() - static_cast<int64_t>(tokens);
  if (input.rope != nullptr) status = input.rope->rotate(work.q, positions, Turn::kForward, Role::kQuery);
  show(capture.q_rotated, work.q);
  show(capture.v_rotated, work.v);
  if (status == Status::kOk && capture.k_rotated != nullptr) {
    const HeadView<float>& k = work.k;
    status = cache.copyKeys(cache.length() - tokens,
                            tokensFirst(capture.k_rotated, k.batch, k.heads, tokens, k.dim));
  }
  ScoreOutputs scores = capture.scores;
  scores.plain_q = work.plain_q.readOnly();
  if (status == Status::kOk) {
    status = cache.attend(work.context, {work.q.readOnly(), true, true}, input.attention, scores);
  }
  if (status == Status::kOk) return status;
  // Tokens that have left the window would be missed by none of the queries: with or without them, whoever
  // tries again gets the same.
  const Status taken_back = cache.drop(cache.length() - tokens, tokens);
  return taken_back == Status::kOk ? status : taken_back;
}

Status SelfAttention::forward(float* out, const float* x, const SelfAttentionInput& input,
                              const AttentionCapture& capture) const {
  // 1. memory for all of it
  Work work;
  Status status = allocate(input, capture, &work);
  if (status != Status::kOk) return status;

  // 2. queries, keys and values, and their norms
  project(x, capture, work);

  // 3. rotary positions and attention
  status = input.cache == nullptr ? attendAlone(input, capture, work) : attendCached(input, capture, work);
  if (status != Status::kOk) return status;

  // 4. back to the model's width
  parts_.output.apply(out, work.context.data, work.q.batch * work.q.tokens);
  return Status::kOk;
}

}  // namespace ropewalk
