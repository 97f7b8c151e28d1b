// The attention of a layer: all heads of all sequences, from projected queries, keys and values to what the
// output projection reads, and back.
#pragma once

#include <cstddef>

#include "training/model_memory.h"
#include "training/model_parts.h"
#include "training/options.h"
#include "training/position_plan.h"

namespace ropewalk::training {

template <class T>
struct LayerContext {
  const ModelOptions& options;
  const PositionPlan<T>& plan;
  const ModelMemory<T>& memory;
  size_t layer;
  LayerParts<const T> parts;
};

// From qkv and gates of the layer's state, and the model's bias, to mixed. Turns queries and keys in place.
template <class T>
void layerAttentionForward(const LayerContext<T>& context);

// From d_mixed to d_qkv and d_gates; adds to d_bias and to the gradients of the layer's relative tables and
// phases, and to those of FIRE where its biases are made for each block.
template <class T>
void layerAttentionBackward(const LayerContext<T>& context, const LayerParts<T>& gradients);

}  // namespace ropewalk::training
