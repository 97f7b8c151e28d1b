#include "attention/linear_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/compensated_sum.h"
#include "kernels/gemm.h"
#include "parallel.h"

namespace ropewalk {
namespace {

double dotDouble(const float* a, const double* b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

bool allFinite(const float* x, size_t n) {
  return std::all_of(x, x + n, [](float v) { return std::isfinite(v); });
}

void countDenominator(double denominator, DenominatorReport* report) {
  const double size = std::fabs(denominator);
  report->minimum = size < report->minimum ? size : report->minimum;
  report->negative += denominator < 0;
  report->zero += denominator == 0;
  report->non_finite += !std::isfinite(denominator);
}

void scaleRow(float* row, double factor, size_t n) {
  for (size_t d = 0; d < n; ++d) row[d] = static_cast<float>(static_cast<double>(row[d]) * factor);
}

void normalizeRms(float* row, const LinearAttentionOutput& output, size_t n) {
  double squares = 0;
  for (size_t d = 0; d < n; ++d) squares += static_cast<double>(row[d]) * static_cast<double>(row[d]);
  const double mean = squares / static_cast<double>(n) + static_cast<double>(output.rms_eps);
  if (mean == 0) return;  // a row of zeros, and no eps to divide by
  const double inverse = 1 / std::sqrt(mean);
  for (size_t d = 0; d < n; ++d) {
    const double weight = output.rms_weight == nullptr ? 1 : static_cast<double>(output.rms_weight[d]);
    row[d] = static_cast<float>(static_cast<double>(row[d]) * inverse * weight);
  }
}

}  // namespace

Status LinearAttentionState::create(const LinearAttentionOptions& options, const LinearStateShape& shape) {
  if (shape.head_dim == 0) return Status::kInvalidShape;
  LinearAttentionState state;
  state.options_ = options;
  state.shape_ = shape;
  state.dim_ = featureDim(options.kernel, shape.head_dim);
  size_t features = 0;
  size_t sums = 0;
  size_t update = 0;
  if (!multiply(shape.batch, shape.kv_heads, &features) || !multiply(features, state.dim_, &features) ||
      !multiply(features, shape.value_dim, &sums) ||
      !multiply(state.dim_ + shape.value_dim + kLinearBlock, kLinearBlock, &state.kept_size_) ||
      !multiply(state.dim_, shape.value_dim, &update) || update > SIZE_MAX - state.kept_size_) {
    return Status::kOutOfMemory;
  }
  state.kept_size_ += update;
  if (state.sums_.allocate(sums) != Status::kOk || state.lost_.allocate(sums) != Status::kOk ||
      state.normalizers_.allocate(options.normalize ? features : 0) != Status::kOk) {
    return Status::kOutOfMemory;
  }
  state.reset();
  *this = std::move(state);
  return Status::kOk;
}

void LinearAttentionState::reset() {
  std::fill_n(normalizers_.data(), normalizers_.size(), 0.0);
  std::fill_n(sums_.data(), sums_.size(), 0.0f);
  std::fill_n(lost_.data(), lost_.size(), 0.0f);
}

size_t LinearAttentionState::bytes() const {
  return normalizers_.size() * sizeof(double) + (sums_.size() + lost_.size()) * sizeof(float);
}

void LinearAttentionState::save(void* bytes) const {
  auto* to = static_cast<unsigned char*>(bytes);
  std::memcpy(to, normalizers_.data(), normalizers_.size() * sizeof(double));
  to += normalizers_.size() * sizeof(double);
  std::memcpy(to, sums_.data(), sums_.size() * sizeof(float));
  std::memcpy(to + sums_.size() * sizeof(float), lost_.data(), lost_.size() * sizeof(float));
}

void LinearAttentionState::restore(const void* bytes) {
  const auto* from = static_cast<const unsigned char*>(bytes);
  std::memcpy(normalizers_.data(), from, normalizers_.size() * sizeof(double));
  from += normalizers_.size() * sizeof(double);
  std::memcpy(sums_.data(), from, sums_.size() * sizeof(float));
  std::memcpy(lost_.data(), from + sums_.size() * sizeof(float), lost_.size() * sizeof(float));
}

FeatureSource LinearAttentionState::querySource(const LinearAttentionInput& input) const {
  const bool keeps_unturned = options_.normalize && !options_.rotate_normalizer;
  return {options_.kernel, input.q, input.query_positions, input.rope, Role::kQuery, keeps_unturned};
}

FeatureSource LinearAttentionState::keySource(const LinearAttentionInput& input) const {
  const bool keeps_unturned = options_.normalize && !options_.rotate_normalizer;
  return {options_.kernel, input.k, input.key_positions, input.rope, Role::kKey, keeps_unturned};
}

// Everything that can go wrong goes wrong here, before anything is changed.
Status LinearAttentionState::prepare(const LinearAttentionInput& input, const LinearAttentionOutput& output) {
  const HeadView<const float>& q = input.q;
  const HeadView<const float>& k = input.k;
  const HeadView<const float>& v = input.v;
  const bool fits = q.batch == shape_.batch && k.batch == shape_.batch && v.batch == shape_.batch &&
                    k.heads == shape_.kv_heads && v.heads == shape_.kv_heads && q.dim == shape_.head_dim &&
                    k.dim == shape_.head_dim && v.dim == shape_.value_dim && v.tokens == k.tokens &&
                    k.heads != 0 && q.heads % k.heads == 0 && output.out.batch == q.batch &&
                    output.out.heads == q.heads && output.out.tokens == q.tokens && output.out.dim == v.dim;
  if (!fits) return Status::kInvalidShape;
  if (input.rope != nullptr) {
    if (input.rope->headDim() != shape_.head_dim) return Status::kInvalidShape;
    if ((q.tokens != 0 && !input.rope->inRange(input.query_positions, q.batch, q.tokens)) ||
        (k.tokens != 0 && !input.rope->inRange(input.key_positions, k.batch, k.tokens))) {
      return Status::kPositionOutOfRange;
    }
  }
  const bool ok = queries_.reserve(querySource(input)) == Status::kOk &&
                  keys_.reserve(keySource(input)) == Status::kOk &&
                  kept_.reserve(threadsFor(k.heads, headGrain(input)), kept_size_) == Status::kOk &&
                  denominators_.reserve(q.heads, kLinearBlock) == Status::kOk;
  return ok ? Status::kOk : Status::kOutOfMemory;
}

Status LinearAttentionState::append(const LinearAttentionInput& input, const LinearAttentionOutput& output) {
  if (input.q.tokens > input.k.tokens) return Status::kInvalidShape;
  return run(input, output, true);
}

Status LinearAttentionState::attend(const LinearAttentionInput& input, const LinearAttentionOutput& output) {
  return run(input, output, false);
}

Status LinearAttentionState::run(const LinearAttentionInput& input, const LinearAttentionOutput& output,
                                 bool causal) {
  const Status status = prepare(input, output);
  if (status != Status::kOk) return status;
  if (output.report != nullptr) *output.report = {std::numeric_limits<double>::infinity(), 0, 0, 0};
  const size_t group = input.q.heads / input.k.heads;
  const size_t grain = headGrain(input);
  const size_t lead = input.k.tokens - (causal ? input.q.tokens : 0);  // keys before any query
  for (size_t b = 0; b < input.q.batch; ++b) {
    for (size_t start = 0; start < lead; start += kLinearBlock) {
      const TokenBlock block = {b, start, std::min(kLinearBlock, lead - start)};
      const Status filled = keys_.fill(keySource(input), block);
      if (filled != Status::kOk) return filled;
      parallelFor(input.k.heads, grain, [&](const Share& share) {
        for (size_t g = share.first; g < share.end; ++g) {
          const KeptKeys kept = gather(input, block, g, share.thread);
          normalizers(block, g, 0, kept);
          addKeys(b, g, kept);
        }
      });
    }
    for (size_t start = 0; start < input.q.tokens; start += kLinearBlock) {
      const TokenBlock block = {b, start, std::min(kLinearBlock, input.q.tokens - start)};
      const TokenBlock keys = {b, lead + start, causal ? block.count : 0};
      Status filled = queries_.fill(querySource(input), block);
      if (filled == Status::kOk && causal) filled = keys_.fill(keySource(input), keys);
      if (filled != Status::kOk) return filled;
      parallelFor(input.k.heads, grain, [&](const Share& share) {
        for (size_t g = share.first; g < share.end; ++g) {
          const KeptKeys kept = gather(input, keys, g, share.thread);
          normalizers(block, g, group, kept);
          for (size_t h = g * group; h < (g + 1) * group; ++h) {
            mix(block, g, h, kept, output.out);
            finish(block, h, output);
          }
          addKeys(b, g, kept);
        }
      });
      if (options_.normalize && output.report != nullptr) countDenominators(block, output);
    }
  }
  return Status::kOk;
}

// Heads whose blocks are worth another thread's while.
size_t LinearAttentionState::headGrain(const LinearAttentionInput& input) const {
  const size_t group = input.q.heads / input.k.heads;
  return grainOf(std::min(kLinearBlock, input.k.tokens), dim_, shape_.value_dim, group + 1);
}

// Side by side: a hidden key is nowhere, whatever it holds.
LinearAttentionState::KeptKeys LinearAttentionState::gather(const LinearAttentionInput& input,
                                                            const TokenBlock& block, size_t kv_head,
                                                            size_t thread) {
  const uint8_t* const keep =
      input.keep == nullptr
          ? nullptr
          : input.keep + block.batch_entry * input.keep_batch_stride + block.start * input.keep_key_stride;
  const size_t width = input.v.dim;
  KeptKeys kept;
  kept.transposed = kept_.data() + thread * kept_size_;
  kept.values = kept.transposed + dim_ * kLinearBlock;
  kept.weights = kept.values + width * kLinearBlock;
  kept.update = kept.weights + kLinearBlock * kLinearBlock;
  for (size_t t = 0; t < block.count; ++t) {
    if (keep == nullptr || keep[t * input.keep_key_stride] != 0) kept.tokens[kept.count++] = t;
  }
  const float* const features = keys_.turned(kv_head);
  for (size_t f = 0; f < dim_; ++f) {
    float* const row = kept.transposed + f * kLinearBlock;
    for (size_t j = 0; j < kept.count; ++j) row[j] = features[kept.tokens[j] * dim_ + f];
  }
  for (size_t j = 0; j < kept.count; ++j) {
    std::copy_n(input.v.row(block.batch_entry, kv_head, block.start + kept.tokens[j]), width,
                kept.values + j * width);
  }
  kept.values_finite = allFinite(kept.values, kept.count * width);
  return kept;
}

// z after each token of the block, and what it comes to for the queries of `group` heads (0: there are none).
void LinearAttentionState::normalizers(const TokenBlock& block, size_t kv_head, size_t group,
                                       const KeptKeys& kept) {
  if (!options_.normalize) return;
  double* const z = normalizer(block.batch_entry, kv_head);
  const float* const features = keys_.unturned(kv_head);
  size_t next = 0;
  for (size_t t = 0; t < block.count; ++t) {
    for (; next < kept.count && kept.tokens[next] <= t; ++next) {
      const float* const key = features + kept.tokens[next] * dim_;
      for (size_t f = 0; f < dim_; ++f) z[f] += static_cast<double>(key[f]);
    }
    for (size_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
      denominators_[h * kLinearBlock + t] = dotDouble(queries_.unturned(h) + t * dim_, z, dim_);
    }
  }
}

// Numerators: what earlier blocks left in the sum, and the keys of this block up to each query's own.
void LinearAttentionState::mix(const TokenBlock& block, size_t kv_head, size_t h, const KeptKeys& kept,
                               HeadView<float> out) {
  const size_t width = shape_.value_dim;
  const float* const queries = queries_.turned(h);
  float* const rows = out.row(block.batch_entry, h, block.start);
  const MatrixView earlier = {sum(block.batch_entry, kv_head), dim_, width, width};
  gemm(rows, out.token_stride, queries, dim_, earlier, block.count);
  if (kept.count == 0) return;
  float* const weights = kept.weights;
  gemm(weights, kLinearBlock, queries, dim_, {kept.transposed, dim_, kept.count, kLinearBlock}, block.count);
  GemmOptions added;
  added.accumulate = true;
  size_t seen = 0;
  for (size_t i = 0; i < block.count; ++i) {
    while (seen < kept.count && kept.tokens[seen] <= i) ++seen;
    float* const weight = weights + i * kLinearBlock;
    if (kept.values_finite) {
      std::fill(weight + seen, weight + kept.count, 0.0f);
    } else {  // a weight of 0 would spread NaN to queries before it
      gemm(rows + i * out.token_stride, out.token_stride, weight, kLinearBlock,
           {kept.values, seen, width, width}, 1, added);
    }
  }
  if (!kept.values_finite) return;
  gemm(rows, out.token_stride, weights, kLinearBlock, {kept.values, kept.count, width, width}, block.count,
       added);
}

void LinearAttentionState::finish(const TokenBlock& block, size_t h,
                                  const LinearAttentionOutput& output) const {
  const HeadView<float>& out = output.out;
  for (size_t t = 0; t < block.count; ++t) {
    float* const row = out.row(block.batch_entry, h, block.start + t);
    if (options_.normalize) {
      const double denominator = denominators_[h * kLinearBlock + t];
      if (output.denominators != nullptr) {
        output.denominators[(block.batch_entry * out.heads + h) * out.tokens + block.start + t] =
            static_cast<float>(denominator);
      }
      if (denominator == 0 || std::isinf(denominator)) {
        std::fill_n(row, out.dim, 0.0f);
      } else {
        scaleRow(row, 1 / denominator, out.dim);
      }
    } else if (options_.scale != 1) {
      scaleRow(row, static_cast<double>(options_.scale), out.dim);
    }
    if (output.rms_norm) normalizeRms(row, output, out.dim);
  }
}

void LinearAttentionState::countDenominators(const TokenBlock& block,
                                             const LinearAttentionOutput& output) const {
  for (size_t h = 0; h < output.out.heads; ++h) {
    for (size_t t = 0; t < block.count; ++t)
      countDenominator(denominators_[h * kLinearBlock + t], output.report);
  }
}

void LinearAttentionState::addKeys(size_t b, size_t kv_head, const KeptKeys& kept) {
  if (kept.count == 0) return;
  const size_t width = shape_.value_dim;
  float* const sums = sum(b, kv_head);
  gemm(kept.update, width, kept.transposed, kLinearBlock, {kept.values, kept.count, width, width}, dim_);
  addCompensated(sums, lost_.data() + (sums - sums_.data()), kept.update, dim_ * width);
}

Status linearAttention(const LinearAttentionOptions& options, bool causal, const LinearAttentionInput& input,
                       const LinearAttentionOutput& output) {
  LinearAttentionState state;
  const Status status = state.create(options, {input.k.batch, input.k.heads, input.k.dim, input.v.dim});
  if (status != Status::kOk) return status;
  return causal ? state.append(input, output) : state.attend(input, output);
}

}  // namespace ropewalk
