// Bindings of layers and their parts.
#include <emscripten/bind.h>

#include <memory>
#include <new>
#include <utility>

#include "attention_call.h"
#include "kernels/activation.h"
#include "kernels/norm.h"
#include "kernels/softmax.h"
#include "kernels/weight_type.h"
#include "layer_call.h"
#include "layers/embedding.h"
#include "layers/init.h"
#include "layers/linear.h"
#include "layers/transformer_block.h"

namespace ropewalk::binding {
namespace {

NormOptions normOptions(const RowNormCall& c) {
  return {at<float>(c.weight), at<float>(c.bias), c.eps, c.unit_offset};
}
void layerNormOf(Pointer fields) {
  const auto c = readCall<RowNormCall>(fields);
  layerNorm(at<float>(c.out), at<float>(c.x), c.rows, c.size, normOptions(c));
}
void rmsNormOf(Pointer fields) {
  const auto c = readCall<RowNormCall>(fields);
  rmsNorm(at<float>(c.out), at<float>(c.x), c.rows, c.size, normOptions(c));
}
void activateAt(int activation, Pointer out, Pointer x, size_t n) {
  activate(static_cast<Activation>(activation), at<float>(out), at<float>(x), n);
}
void softmaxRowsAt(Pointer out, Pointer x, size_t rows, size_t n) {
  softmaxRows(at<float>(out), n, at<float>(x), n, rows, n);
}
int embedOf(Pointer fields) {
  const auto c = readCall<EmbedCall>(fields);
  return number(embed(at<float>(c.out), c.type, at<void>(c.table), c.table_rows, c.dim,
                      integers(c.ids, c.count), c.count, c.scale));
}

// Weights arrive one matrix at a time, in slices of rows. The parts of a layer take over each complete
// matrix.

int allocateMatrix(PackedMatrix& matrix, size_t n, size_t k, int stored, bool in_floats) {
  return number(matrix.allocate(n, k, static_cast<WeightType>(stored), in_floats));
}
int packRowsOf(PackedMatrix& matrix, size_t first, size_t count, int type, Pointer w) {
  return number(matrix.packRows(first, count, static_cast<WeightType>(type), at<void>(w)));
}
int createLinear(Linear& linear, PackedMatrix& matrix, int bias_type, Pointer bias) {
  return number(linear.create(std::move(matrix), static_cast<WeightType>(bias_type), at<const void>(bias)));
}
template <Activation f>
void activateRow(float* row, size_t n) {
  activate(f, row, row, n);
}
auto rowsOf(Activation activation) -> void (*)(float*, size_t) {
  switch (activation) {
    case Activation::kGelu:
      return activateRow<Activation::kGelu>;
    case Activation::kGeluTanh:
      return activateRow<Activation::kGeluTanh>;
    case Activation::kSilu:
      return activateRow<Activation::kSilu>;
    case Activation::kRelu:
      return activateRow<Activation::kRelu>;
    case Activation::kTanh:
      return activateRow<Activation::kTanh>;
  }
}
// activation: the number of an Activation, negative for none.
void applyLinear(const Linear& linear, Pointer out, Pointer x, size_t rows, int activation) {
  linear.apply(at<float>(out), at<float>(x), rows,
               activation < 0 ? nullptr : rowsOf(static_cast<Activation>(activation)));
}

Linear& linearOf(BlockParts& parts, BlockLinear which) {
  switch (which) {
    case BlockLinear::kQuery:
      return parts.attention.query;
    case BlockLinear::kKey:
      return parts.attention.key;
    case BlockLinear::kValue:
      return parts.attention.value;
    case BlockLinear::kOutput:
      return parts.attention.output;
    case BlockLinear::kGate:
      return parts.feed_forward.gate;
    case BlockLinear::kUp:
      return parts.feed_forward.up;
    case BlockLinear::kDown:
      return parts.feed_forward.down;
    case BlockLinear::kRouter:
      return parts.feed_forward.router;
  }
}
int setLinear(BlockParts& parts, int which, PackedMatrix& matrix, int bias_type, Pointer bias) {
  return number(linearOf(parts, static_cast<BlockLinear>(which))
                    .create(std::move(matrix), static_cast<WeightType>(bias_type), at<const void>(bias)));
}
NormLayer& normOf(BlockParts& parts, BlockNorm which) {
  switch (which) {
    case BlockNorm::kAttentionNorm:
      return parts.attention_norm;
    case BlockNorm::kFeedForwardNorm:
      return parts.feed_forward_norm;
    case BlockNorm::kAttentionAfterNorm:
      return parts.attention_after_norm;
    case BlockNorm::kFeedForwardAfterNorm:
      return parts.feed_forward_after_norm;
    case BlockNorm::kQueryNorm:
      return parts.attention.query_norm;
    case BlockNorm::kKeyNorm:
      return parts.attention.key_norm;
  }
}
int setNorm(BlockParts& parts, int which, Pointer fields) {
  const auto c = readCall<NormCall>(fields);
  return number(normOf(parts, static_cast<BlockNorm>(which)).create(c.options, c.weights));
}

// Puts the maps of the feed-forward part behind those that come next, as another expert.
int addExpert(BlockParts& parts, int activation) {
  std::unique_ptr<FeedForward> made(new (std::nothrow) FeedForward);
  if (made == nullptr) return number(Status::kOutOfMemory);
  const Status status = made->create({static_cast<Activation>(activation)}, std::move(parts.feed_forward));
  parts.feed_forward.next = std::move(made);
  return number(status);
}

int createSelfAttention(SelfAttention& layer, Pointer fields, BlockParts& parts) {
  return number(layer.create(readCall<SelfAttentionOptions>(fields), std::move(parts.attention)));
}
int createBlock(TransformerBlock& block, Pointer fields, BlockParts& parts) {
  return number(block.create(readCall<BlockOptions>(fields), std::move(parts)));
}

// What the map of queries, or of keys, makes of any rows.
void projectByBlock(const TransformerBlock& block, bool keys, Pointer out, Pointer x, size_t rows) {
  const SelfAttentionParts& parts = block.attentionParts();
  (keys ? parts.key : parts.query).apply(at<float>(out), at<float>(x), rows);
}

SelfAttentionInput inputOf(const LayerCall& c, RopePlan* rope, KvCache* cache) {
  SelfAttentionInput input;
  input.batch = c.batch;
  input.tokens = c.tokens;
  input.rope = rope;
  input.positions = positions(c.positions);
  input.turn_values = c.turn_values;
  input.attention = withVisibility(c.options, c.visibility, c.batch, c.tokens);
  input.cache = cache;
  return input;
}

int forwardSelfAttention(const SelfAttention& layer, Pointer fields, RopePlan* rope, KvCache* cache) {
  const auto c = readCall<LayerCall>(fields);
  return number(layer.forward(at<float>(c.out), at<float>(c.x), inputOf(c, rope, cache),
                              captureOf(c.capture).attention));
}
int forwardBlock(const TransformerBlock& block, Pointer fields, RopePlan* rope, KvCache* cache) {
  const auto c = readCall<LayerCall>(fields);
  return number(
      block.forward(at<float>(c.out), at<float>(c.x), inputOf(c, rope, cache), captureOf(c.capture)));
}

void fillUniformAt(double seed, unsigned stream, float bound, Pointer out, size_t n) {
  fillUniform(static_cast<uint64_t>(seed), stream, bound, at<float>(out), n);
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(layers) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

  function("layerNorm", &layerNormOf);
  function("rmsNorm", &rmsNormOf);
  function("activate", &activateAt);
  function("softmaxRows", &softmaxRowsAt);
  function("embed", &embedOf);

  class_<PackedMatrix>("PackedMatrix")
      .constructor<>()
      .function("allocate", &allocateMatrix)
      .property("bytes", &PackedMatrix::bytes)
      .function("packRows", &packRowsOf);
  class_<Linear>("Linear")
      .constructor<>()
      .property("bytes", &Linear::bytes)
      .function("create", &createLinear)
      .function("apply", &applyLinear);
  class_<BlockParts>("BlockParts")
      .constructor<>()
      .function("setLinear", &setLinear)
      .function("setNorm", &setNorm)
      .function("addExpert", &addExpert);
  class_<SelfAttention>("SelfAttention")
      .constructor<>()
      .property("bytes", &SelfAttention::bytes)
      .function("create", &createSelfAttention)
      .function("forward", &forwardSelfAttention, allow_raw_pointers());
  class_<TransformerBlock>("TransformerBlock")
      .constructor<>()
      .property("bytes", &TransformerBlock::bytes)
      .function("create", &createBlock)
      .function("project", &projectByBlock)
      .function("forward", &forwardBlock, allow_raw_pointers());
  function("fillUniform", &fillUniformAt);
}
