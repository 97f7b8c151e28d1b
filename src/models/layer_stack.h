// The layers of a model, one after the other over the same rows. Each is registered once, with the position
// encoding and the attention options that do not change between passes; a pass then runs any of them that
// follow one another, so that a caller can stop, look or report between two.
#pragma once

#include <cstddef>

#include "attention/attention.h"
#include "attention/kv_cache.h"
#include "encodings/rope.h"
#include "layers/capture.h"
#include "layers/transformer_block.h"
#include "memory.h"
#include "status.h"

namespace ropewalk {

// A layer as a model runs it. Neither the block, the plan nor the tables of the options are owned.
struct StackLayer {
  const TransformerBlock* block = nullptr;
  RopePlan* rope = nullptr;    // null: no rotary encoding
  bool turn_values = false;    // by rope as well
  AttentionOptions attention;  // all but what a StackInput tells
};

// The tokens of a pass. Without caches they are in order and attend to each other: token i of an entry has
// position i, for causal order and windows, and positions.offset + i for chunks, temperature and FIRE.
struct StackInput {
  size_t batch = 0;
  size_t tokens = 0;
  Positions positions;            // for rotary encodings; with caches they follow those of the caches
  MaskView<uint8_t> keep;         // [B, 1, 1, Tk] and what else broadcasts; 1 = may be attended to
  const double* types = nullptr;  // [B, T], for layers with SegmentTerms; null: none
  // By layer, one for each of the stack, the next token at the same position in all; null: none.
  KvCache* const* caches = nullptr;
};

class LayerStack {
 public:
  // Room for layers, to be set before the first pass.
  Status create(size_t layers);
  void set(size_t i, const StackLayer& layer) { layers_[i] = layer; }
  size_t size() const { return layers_.size(); }

  // Layers first ... end - 1 over x [B, T, M], in place. `capture` is what the last of them computes. Where a
  // layer fails, x and the caches of the layers before hold what those made of them.
  Status forward(float* x, size_t first, size_t end, const StackInput& input,
                 const BlockCapture& capture = {}) const;

 private:
  Buffer<StackLayer> layers_;
};

}  // namespace ropewalk
