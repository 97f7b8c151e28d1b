// Linear attention as a recurrence that may forget and correct: ONNX LinearAttention (opset 27). Per token
//   S <- diag(e^g) S                 gated rules: g per head or per key coordinate
//   u  = v, or b (v - S^T k)         delta rules: writes what S does not hold yet (DeltaNet)
//   S <- S + k u^T
//   o  = scale S^T q
// in this order. Nothing is divided: arXiv:2312.06635 (gated), 2406.06484 (delta), 2412.06464 (gated delta).
#pragma once

#include <cstddef>

#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

// The numbers cross the wasm boundary: add at the end, never renumber.
enum class UpdateRule : int { kLinear = 0, kGated = 1, kDelta = 2, kGatedDelta = 3 };

struct LinearRecurrenceInput {
  UpdateRule rule = UpdateRule::kGatedDelta;
  float scale = 1;
  HeadView<const float> q;      // [B, H, T, D]; G divides H and query head h reads state h / (H / G)
  HeadView<const float> k;      // [B, G, T, D]
  HeadView<const float> v;      // [B, G, T, Dv]
  HeadView<const float> decay;  // g [B, G, T, 1 or D], gated rules only; logarithms, e^0 keeps all
  HeadView<const float> beta;   // b [B, 1 or G, T, 1], delta rules only
  const float* past = nullptr;  // S before the first token, [B, G, D, Dv]; null: zeros
};

// out [B, H, T, Dv]; present, S after the last token, [B, G, D, Dv]. Both apart from the inputs.
// kInvalidShape for sizes that do not fit, or a gate that the rule does not have.
Status linearRecurrence(const LinearRecurrenceInput& input, HeadView<float> out, float* present);

}  // namespace ropewalk
