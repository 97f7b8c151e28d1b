// Bindings of the parts of a model between ids and logits: token vectors, the stack of layers, norms and
// heads.
#include <emscripten/bind.h>

#include <algorithm>
#include <utility>

#include "kernels/weight_format.h"
#include "layer_call.h"
#include "layers/norm_layer.h"
#include "models/layer_stack.h"
#include "models/logits_head.h"
#include "models/token_vectors.h"

namespace ropewalk::binding {
namespace {

int createNorm(NormLayer& norm, Pointer fields) {
  const auto c = readCall<NormCall>(fields);
  return number(norm.create(c.options, c.weights));
}
void applyNorm(const NormLayer& norm, Pointer out, Pointer x, size_t rows) {
  norm.apply(at<float>(out), at<float>(x), rows);
}

// --- token vectors

void setTokens(TokenTables& tables, PackedMatrix& table) {
  tables.tokens = std::move(table);
}
void setTypes(TokenTables& tables, PackedMatrix& table) {
  tables.types = std::move(table);
}
void setPositions(TokenTables& tables, PackedMatrix& table) {
  tables.positions = std::move(table);
}
void setTokenNorm(TokenTables& tables, NormLayer& norm) {
  tables.norm = std::move(norm);
}
void setProjection(TokenTables& tables, Linear& projection) {
  tables.projection = std::move(projection);
}
int createTokenVectors(TokenVectors& vectors, float scale, TokenTables& tables) {
  return number(vectors.create(scale, std::move(tables)));
}
// Ids, types and positions are doubles; null: none.
int embedTokens(const TokenVectors& vectors, Pointer fields) {
  const auto c = readCall<TokenVectorsCall>(fields);
  const auto list = [&](Pointer p) { return p == 0 ? nullptr : integers(p, c.batch * c.tokens); };
  return number(
      vectors.embed(at<float>(c.out), {c.batch, c.tokens, list(c.ids), list(c.types), list(c.positions)}));
}

// --- heads

void setTransform(HeadParts& parts, Linear& transform) {
  parts.transform = std::move(transform);
}
void setHeadNorm(HeadParts& parts, NormLayer& norm) {
  parts.norm = std::move(norm);
}
void setWeight(HeadParts& parts, PackedMatrix& weight) {
  parts.weight = std::move(weight);
}
int setHeadBias(HeadParts& parts, int type, Pointer bias, size_t n) {
  if (parts.bias.allocate(n) != Status::kOk) return number(Status::kOutOfMemory);
  widen(static_cast<WeightType>(type), at<void>(bias), n, parts.bias.data());
  return number(Status::kOk);
}
int createHead(LogitsHead& head, Pointer fields, HeadParts& parts, const TokenVectors& tied) {
  return number(head.create(readCall<HeadOptions>(fields), std::move(parts), &tied.tokens()));
}
int applyHead(const LogitsHead& head, Pointer out, Pointer x, size_t rows) {
  return number(head.apply(at<float>(out), at<float>(x), rows));
}

// --- layers

// The KV caches of all layers; none is owned.
struct LayerCaches {
  Buffer<KvCache*> list;
};
int createLayerCaches(LayerCaches& caches, size_t layers) {
  return number(caches.list.allocate(layers));
}
void setCache(LayerCaches& caches, size_t i, KvCache& cache) {
  caches.list[i] = &cache;
}
// Whether the next token has the same position in all caches, and the tokens of each are one behind another.
bool agree(const LayerCaches& caches) {
  const Buffer<KvCache*>& list = caches.list;
  return std::all_of(list.data(), list.data() + list.size(), [&](const KvCache* each) {
    const auto length = static_cast<int64_t>(each->length());
    const int64_t next = list[0]->nextPosition();
    return each->nextPosition() == next && (length == 0 || each->positions()[0] == next - length);
  });
}

int createStack(LayerStack& stack, size_t layers) {
  return number(stack.create(layers));
}
void setLayer(LayerStack& stack, size_t i, const TransformerBlock& block, RopePlan* rope, Pointer fields) {
  const auto c = readCall<StackLayerCall>(fields);
  AttentionOptions options = withVisibility(c.options, c.visibility, 0, 0);
  options.chunked = c.chunked;
  options.temperature = {c.temperature_step, c.temperature_scale};
  options.segments = {at<float>(c.segment_table), at<float>(c.segment_bias)};
  stack.set(i, {&block, rope, c.turn_values, options});
}

int forwardStack(const LayerStack& stack, Pointer fields, const LayerCaches* caches) {
  const auto c = readCall<StackCall>(fields);
  const StackInput input = {c.batch,
                            c.tokens,
                            positions(c.positions),
                            c.keep,
                            at<double>(c.types),
                            caches == nullptr ? nullptr : caches->list.data()};
  const BlockCapture capture = c.capture == 0 ? BlockCapture{} : captureOf(readCall<CaptureCall>(c.capture));
  return number(stack.forward(at<float>(c.x), c.first, c.end, input, capture));
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(model_parts) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

  class_<NormLayer>("NormLayer")
      .constructor<>()
      .property("bytes", &NormLayer::bytes)
      .function("create", &createNorm)
      .function("apply", &applyNorm);
  class_<TokenTables>("TokenTables")
      .constructor<>()
      .function("setTokens", &setTokens)
      .function("setTypes", &setTypes)
      .function("setPositions", &setPositions)
      .function("setNorm", &setTokenNorm)
      .function("setProjection", &setProjection);
  class_<TokenVectors>("TokenVectors")
      .constructor<>()
      .property("bytes", &TokenVectors::bytes)
      .function("create", &createTokenVectors)
      .function("embed", &embedTokens);
  class_<HeadParts>("HeadParts")
      .constructor<>()
      .function("setTransform", &setTransform)
      .function("setNorm", &setHeadNorm)
      .function("setWeight", &setWeight)
      .function("setBias", &setHeadBias);
  class_<LogitsHead>("LogitsHead")
      .constructor<>()
      .property("bytes", &LogitsHead::bytes)
      .function("create", &createHead)
      .function("apply", &applyHead);
  class_<LayerCaches>("LayerCaches")
      .constructor<>()
      .property("agree", &agree)
      .function("create", &createLayerCaches)
      .function("set", &setCache);
  class_<LayerStack>("LayerStack")
      .constructor<>()
      .function("create", &createStack)
      .function("setLayer", &setLayer, allow_raw_pointers())
      .function("forward", &forwardStack, allow_raw_pointers());
}
