// Rotation by cos and sin tables that someone else made: ONNX RotaryEmbedding (opset 23), for graphs and
// checkpoints that bring their own caches. A RopePlan makes better ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "encodings/rope.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

struct RotaryTables {
  const float* cos = nullptr;  // [rows, pairs]
  const float* sin = nullptr;  // [rows, pairs]
  size_t rows = 0;
  size_t pairs = 0;
};

// Turns the first 2 * pairs coordinates of every head of x in place; token t of batch entry b takes table row
// rows[b * tokens + t]. kInvalidShape: more pairs than a head has; kPositionOutOfRange: no such row. Then x
// is as it was.
Status rotateByTables(HeadView<float> x, const RotaryTables& tables, const int64_t* rows, Pairing pairing);

}  // namespace ropewalk
