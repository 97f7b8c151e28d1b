// The parameters of a model by their use, or their gradients: pointers into an array that a layout describes.
// Null where the model has no such part.
#pragma once

#include <cstddef>

#include "training/axial.h"
#include "training/distance_bias.h"
#include "training/head_tables.h"
#include "training/mixed_rope.h"
#include "training/norm.h"
#include "training/parameters.h"

namespace ropewalk::training {

template <class T>
struct LayerParts {
  NormParts<T> attention_norm;
  T* qkv = nullptr;  // [3 d, d]: query, key and value lie one after the other
  T* output = nullptr;
  T* relative = nullptr;  // of keys, or factors
  T* relative_values = nullptr;
  T* phases = nullptr;
  T* forget = nullptr;
  T* forget_bias = nullptr;
  T* cope = nullptr;
  MixedFrequencies<T> mixed;
  T* relative_projection = nullptr;
  QueryBiases<T> query_biases;
  NormParts<T> forward_norm;
  T* up = nullptr;
  T* down = nullptr;
};

template <class T>
struct ModelParts {
  T* embedding = nullptr;
  T* positions = nullptr;
  BiasParts<T> bias;
  T* relative_embeddings = nullptr;
  AxialTables<T> axial;
  NormParts<T> final_norm;
  T* unembedding = nullptr;
};

template <class T>
T* partAt(T* base, const Parameter* parameter) {
  return parameter == nullptr ? nullptr : base + parameter->offset;
}

template <class T>
LayerParts<T> layerParts(const ParameterLayout& layout, T* base, size_t layer) {
  const auto part = [&](const char* name) { return partAt(base, layout.find(layer, name)); };
  LayerParts<T> parts;
  parts.attention_norm = {part("attention_norm"), part("attention_norm_bias")};
  parts.qkv = part("query");
  parts.output = part("output");
  parts.relative = part("relative");
  if (parts.relative == nullptr) parts.relative = part("relative_keys");
  parts.relative_values = part("relative_values");
  parts.phases = part("phases");
  parts.forget = part("forget");
  parts.forget_bias = part("forget_bias");
  parts.cope = part("cope");
  parts.mixed = {part("frequencies_x"), part("frequencies_y")};
  parts.relative_projection = part("relative_projection");
  parts.query_biases = {part("content_bias"), part("position_bias")};
  parts.forward_norm = {part("feed_forward_norm"), part("feed_forward_norm_bias")};
  parts.up = part("up");
  parts.down = part("down");
  return parts;
}

template <class T>
ModelParts<T> modelParts(const ParameterLayout& layout, T* base) {
  const auto part = [&](const char* name) { return partAt(base, layout.find(name)); };
  ModelParts<T> parts;
  parts.embedding = part("embedding");
  parts.positions = part("positions");
  for (const char* name : {"alibi.slopes", "t5", "kerple.r1", "fire.c"}) {
    if (parts.bias.first == nullptr) parts.bias.first = part(name);
  }
  parts.relative_embeddings = part("relative_embeddings");
  parts.axial = {part("axial.rows"), part("axial.columns")};
  parts.bias.second = part("kerple.r2");
  parts.final_norm = {part("final_norm"), part("final_norm_bias")};
  parts.unembedding = part("unembedding");
  return parts;
}

}  // namespace ropewalk::training
