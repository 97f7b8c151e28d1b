// Converts the capture calls of layers, alone and within a model: where a layer writes its intermediates.
#pragma once

#include "attention_call.h"
#include "layers/capture.h"

namespace ropewalk::binding {

inline BlockCapture captureOf(const CaptureCall& c) {
  BlockCapture capture;
  AttentionCapture& a = capture.attention;
  a.q = at<float>(c.q);
  a.k = at<float>(c.k);
  a.v = at<float>(c.v);
  a.q_rotated = at<float>(c.q_rotated);
  a.k_rotated = at<float>(c.k_rotated);
  a.v_rotated = at<float>(c.v_rotated);
  a.context = at<float>(c.context);
  a.scores = scoreOutputs(c.scores, {}, {});
  capture.normed = at<float>(c.normed);
  capture.attention_out = at<float>(c.attention_out);
  capture.hidden = at<float>(c.hidden);
  capture.mlp = at<float>(c.mlp);
  return capture;
}

}  // namespace ropewalk::binding
