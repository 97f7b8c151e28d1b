// Bindings of softmax attention.
#include <emscripten/bind.h>

#include "attention_call.h"

namespace ropewalk::binding {
namespace {

void rowsOfRelative(Pointer fields, size_t queries, size_t keys, double query_offset, Pointer out) {
  relativeRows(readCall<RelativeRows>(fields), queries, keys, static_cast<int64_t>(query_offset),
               at<double>(out));
}

int runAttention(Pointer fields) {
  const auto c = readCall<AttentionCall>(fields);
  return number(attention(outOf(c), queriesOf(c, c.q), keysOf(c, c.k, c.head_dim),
                          keysOf(c, c.v, c.value_dim),
                          withVisibility(c.options, c.visibility, c.batch, c.keys), scoresOf(c)));
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
