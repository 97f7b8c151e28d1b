// Intermediates of a layer, each written where the caller asks for it; null: not wanted. Each is the
// number that the pass itself goes on with, or a copy of it: asking for it changes no result.
#pragma once

#include "attention/attention.h"

namespace ropewalk {

// [B, T, H, D] for queries, [B, T, G, D] for keys, [B, T, G, Dv] for values.
struct AttentionCapture {
  // after bias and norm, before a rotary encoding turns them
  float* q = nullptr;
  float* k = nullptr;
  float* v = nullptr;
  // as attention takes them
  float* q_rotated = nullptr;
  float* k_rotated = nullptr;
  float* v_rotated = nullptr;
  float* context = nullptr;  // [B, T, H, Dv]: the heads' results, before the output projection
  ScoreOutputs scores;       // plain_q and plain_k are the layer's business
};

// [B, T, M] each.
struct BlockCapture {
  AttentionCapture attention;
  float* normed = nullptr;         // what attention reads: x after its norm, where that comes before
  float* attention_out = nullptr;  // after the output projection, before any norm or sum
  float* hidden = nullptr;         // what the second residual starts from; parallel blocks have none
  float* mlp = nullptr;            // of the feed-forward part, before any norm or sum
};

}  // namespace ropewalk
