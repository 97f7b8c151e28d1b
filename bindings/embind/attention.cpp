// Attention by softmax.
#include <emscripten/bind.h>

#include "attention_call.h"

namespace ropewalk::binding {
namespace {

void rowsOfRelative(Pointer fields, size_t queries, size_t keys, double query_offset, Pointer out) {
  Fields f(fields);
  const RelativeRows rows = relativeRows(f);
  auto* row = at<double>(out);
  const auto offset = static_cast<int64_t>(query_offset);
  for (size_t i = 0; i < queries; ++i) {
    for (size_t j = 0; j < keys; ++j) {
      const int64_t distance = static_cast<int64_t>(j) - static_cast<int64_t>(i) - offset;
      *row++ = static_cast<double>(rows.row(distance));
    }
  }
}

int runAttention(Pointer fields) {
  const AttentionCall c = attentionCall(Fields(fields));
  return number(attention(outOf(c), queriesOf(c, c.q), keysOf(c, c.k, c.head_dim),
                          keysOf(c, c.v, c.value_dim), withSight(c.options, c.sight, c.batch, c.keys),
                          scoresOf(c)));
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(attention) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

  function("relativeRows", &rowsOfRelative);
  function("attention", &runAttention);
}
