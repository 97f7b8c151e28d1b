#include "training/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "checksum.h"
#include "layers/init.h"

namespace ropewalk::training {
namespace {

constexpr size_t kMostShared = 10;    // parameters without a layer, norms' biases counted
constexpr size_t kMostOfLayer = 13;   // those of a layer
constexpr size_t kMostLayers = 1024;  // of which names have room
constexpr Start kOnes = {1, 0};

}  // namespace

struct ParameterLayout::Spec {
  const char* prefix;
  const char* name;
  ParameterShape shape;
  Start start;
  bool decays = false;
};

void ParameterLayout::add(const Spec& spec) {
  Parameter& p = list_[count_++];
  p = {};
  std::snprintf(p.name, sizeof p.name, "%s%s", spec.prefix, spec.name);
  p.shape = spec.shape;
  p.offset = size_;
  p.start = spec.start;
  p.decays = spec.decays;
  size_t size = 0;
  fits_ = fits_ && multiply(spec.shape.rows, std::max<size_t>(spec.shape.columns, 1), &size) &&
          size <= SIZE_MAX / 64 - size_;
  if (fits_) size_ += size;
}

void ParameterLayout::addNorm(const char* prefix, const char* name, const ModelOptions& options) {
  add({prefix, name, {options.model_dim, 0}, kOnes});
  if (options.norm != NormKind::kLayer) return;
  char bias[32];
  std::snprintf(bias, sizeof bias, "%s_bias", name);
  add({prefix, bias, {options.model_dim, 0}, {}});
}

void ParameterLayout::addShared(const ModelOptions& options) {
  const PositionOptions& position = options.position;
  switch (position.kind) {
    case PositionKind::kLearned:
      add({"",
           "positions",
           {position.length, options.positionDim()},
           {position.mode == LearnedMode::kMultiply ? 1.0 : 0.0, 0.1}});
      return;
    case PositionKind::kAlibi:
      if (position.trainable) add({"", "alibi.slopes", {options.heads, 0}, {}});
      return;
    case PositionKind::kT5:
      add({"", "t5", {position.num_buckets, options.heads}, {}});
      return;
    case PositionKind::kKerple:
      add({"", "kerple.r1", {options.heads, 0}, kOnes});
      add({"", "kerple.r2", {options.heads, 0}, kOnes});
      return;
    case PositionKind::kFire:  // in the order of training/fire_bias.h
      add({"", "fire.c", {1, 0}, {0.1, 0}});
      add({"", "fire.threshold_factor", {1, 0}, kOnes});
      add({"", "fire.hidden_weights", {position.width, 0}, {0, 0.5}});
      add({"", "fire.hidden_bias", {position.width, 0}, {0, 0.5}});
      add({"",
           "fire.out_weights",
           {options.heads, position.width},
           {0, 1 / std::sqrt(static_cast<double>(position.width))}});
      add({"", "fire.out_bias", {options.heads, 0}, {}});
      return;
    case PositionKind::kAxial:
      add({"", "axial.rows", {position.length, options.model_dim}, {0, 0.1}});
      add({"", "axial.columns", {position.columns, options.model_dim}, {0, 0.1}});
      return;
    case PositionKind::kDeberta:
      add({"", "relative_embeddings", {2 * position.max_relative, options.model_dim}, {0, 0.1}});
      return;
    default:
      return;
  }
}

void ParameterLayout::addOfLayer(const char* prefix, const ModelOptions& options) {
  const PositionOptions& position = options.position;
  const size_t dim = options.headDim();
  switch (position.kind) {
    case PositionKind::kShaw:
      add({prefix, "relative_keys", {2 * position.max_relative + 1, dim}, {0, 0.1}});
      add({prefix, "relative_values", {2 * position.max_relative + 1, dim}, {0, 0.02}});
      return;
    case PositionKind::kRelativeKey:
    case PositionKind::kRelativeKeyQuery:
      add({prefix, "relative", {2 * position.length - 1, dim}, {0, 0.1}});
      return;
    case PositionKind::kM3:
      add({prefix, "relative", {2 * position.length - 1, dim}, {1, 0.1}});
      return;
    case PositionKind::kPope:
      add({prefix, "phases", {options.heads, dim}, {}});
      return;
    case PositionKind::kForget:
      add({prefix, "forget", {options.heads, options.model_dim}, {0, 0.02}, true});
      add({prefix, "forget_bias", {options.heads, 0}, {}});
      return;
    case PositionKind::kCope:
      add({prefix, "cope", {position.length, dim}, {}});
      return;
    case PositionKind::kRopeMixed:  // what they begin as, startMixed makes of these
      add({prefix, "frequencies_x", {options.heads, dim / 2}, {0, 1}});
      add({prefix, "frequencies_y", {options.heads, dim / 2}, {0, 1}});
      return;
    case PositionKind::kTransformerXl: {
      const size_t d = options.model_dim;
      add({prefix, "relative_projection", {d, d}, {0, 1 / std::sqrt(static_cast<double>(d))}, true});
      add({prefix, "content_bias", {options.heads, dim}, {}});
      add({prefix, "position_bias", {options.heads, dim}, {}});
      return;
    }
    default:
      return;
  }
}

void ParameterLayout::addLayer(const char* prefix, const ModelOptions& options) {
  const size_t d = options.model_dim;
  // What adds to the residual sum begins smaller, the more of it there is.
  const double depth = std::sqrt(2 * static_cast<double>(options.layers));
  const auto inputs = [](size_t n) { return 1 / std::sqrt(static_cast<double>(n)); };
  addNorm(prefix, "attention_norm", options);
  for (const char* name : {"query", "key", "value"}) add({prefix, name, {d, d}, {0, inputs(d)}, true});
  add({prefix, "output", {d, d}, {0, inputs(d) / depth}, true});
  addOfLayer(prefix, options);
  if (options.hidden_dim == 0) return;
  addNorm(prefix, "feed_forward_norm", options);
  add({prefix, "up", {options.hidden_dim, d}, {0, inputs(d)}, true});
  add({prefix, "down", {d, options.hidden_dim}, {0, inputs(options.hidden_dim) / depth}, true});
}

Status ParameterLayout::create(const ModelOptions& options) {
  if (options.layers > kMostLayers) return Status::kInvalidShape;
  ParameterLayout made;
  if (made.list_.allocate(kMostShared + kMostOfLayer * options.layers) != Status::kOk)
    return Status::kOutOfMemory;
  made.add({"", "embedding", {options.vocab, options.tokenDim()}, {0, 0.5}});
  made.addShared(options);
  made.first_of_layers_ = made.count_;
  for (size_t l = 0; l < options.layers; ++l) {
    char prefix[16];
    std::snprintf(prefix, sizeof prefix, "layers.%u.", static_cast<unsigned>(l));
    made.addLayer(prefix, options);
  }
  made.per_layer_ = (made.count_ - made.first_of_layers_) / options.layers;
  made.addNorm("", "final_norm", options);
  made.add({"",
            "unembedding",
            {options.vocab, options.model_dim},
            {0, 0.5 / std::sqrt(static_cast<double>(options.model_dim))},
            true});
  if (!made.fits_) return Status::kOutOfMemory;
  *this = std::move(made);
  return Status::kOk;
}

const Parameter* ParameterLayout::find(std::string_view name) const {
  const Parameter* const end = list_.data() + count_;
  const Parameter* const found =
      std::find_if(list_.data(), end, [&](const Parameter& p) { return p.name == name; });
  return found == end ? nullptr : found;
}

const Parameter* ParameterLayout::find(size_t layer, const char* name) const {
  // All layers have the same, and lie one after the other. A name is "layers.", a number, "." and the rest.
  const Parameter* const first = list_.data() + first_of_layers_ + layer * per_layer_;
  const Parameter* const end = first + per_layer_;
  const auto is_named = [&](const Parameter& p) {
    return std::strcmp(std::strchr(p.name + std::strlen("layers."), '.') + 1, name) == 0;
  };
  const Parameter* const found = std::find_if(first, end, is_named);
  return found == end ? nullptr : found;
}

uint64_t ParameterLayout::fingerprint() const {
  Checksum sum;
  for (size_t i = 0; i < count_; ++i) {
    for (const char c : list_[i].name) sum.add(static_cast<uint64_t>(static_cast<unsigned char>(c)));
    sum.add(uint64_t{list_[i].shape.rows});
    sum.add(uint64_t{list_[i].shape.columns});
  }
  return sum.value();
}

// The sum of 12 uniform numbers is normally distributed but for its far tails, and needs no function that
// platforms round differently.
template <class T>
void startParameters(const ParameterLayout& layout, uint64_t seed, T* out) {
  constexpr size_t kTerms = 12;
  constexpr size_t kPiece = 64;
  float uniform[kPiece * kTerms];
  for (size_t i = 0; i < layout.count(); ++i) {
    const Parameter& p = layout[i];
    Checksum sum;
    sum.add(seed);
    for (const char c : p.name) sum.add(static_cast<uint64_t>(static_cast<unsigned char>(c)));
    const size_t n = p.shape.size();
    for (size_t start = 0; start < n; start += kPiece) {
      const size_t count = std::min(kPiece, n - start);
      const uint64_t next = (sum.value() >> 11) + start * kTerms * kUniformStep;
      fillUniform(next, 0, 0.5f, uniform, count * kTerms);  // each of variance 1 / 12
      for (size_t e = 0; e < count; ++e) {
        double normal = 0;
        for (size_t t = 0; t < kTerms; ++t) normal += static_cast<double>(uniform[e * kTerms + t]);
        out[p.offset + start + e] = static_cast<T>(p.start.mean + p.start.deviation * normal);
      }
    }
  }
}

template void startParameters(const ParameterLayout&, uint64_t, float*);
template void startParameters(const ParameterLayout&, uint64_t, double*);

}  // namespace ropewalk::training
