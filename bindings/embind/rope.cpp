// Bindings of rotary encodings: plans, and rotation by tables of the caller.
#include <emscripten/bind.h>

#include <algorithm>

#include "calls.h"
#include "encodings/rope.h"
#include "encodings/rope_tables.h"

namespace ropewalk::binding {
namespace {

// The fingerprint in 32 bits: JavaScript's numbers do not hold 64.
unsigned fingerprintOf(const RopePlan& plan) {
  const uint64_t whole = plan.fingerprint();
  return static_cast<unsigned>(whole ^ whole >> 32);
}

Pointer addressOf(const RopePlan& plan) {
  return reinterpret_cast<Pointer>(&plan);
}

int createRope(RopePlan& plan, Pointer fields) {
  return number(plan.create(readCall<RopeOptions>(fields)));
}

HeadView<float> viewOf(const HeadsCall& c, size_t head_dim) {
  return heads<float>(c.x, c.tokens_first, c.batch, c.heads, c.tokens, head_dim);
}

int rotateRope(RopePlan& plan, Pointer fields) {
  const auto c = readCall<RotateCall>(fields);
  return number(plan.rotate(viewOf(c.heads, plan.headDim()), positions(c.positions), c.turn, c.role));
}

int rotateBothRope(RopePlan& plan, Pointer fields) {
  const auto c = readCall<RotateBothCall>(fields);
  return number(
      plan.rotateBoth(heads<float>(c.q, c.tokens_first, c.batch, c.q_heads, c.tokens, plan.headDim()),
                      heads<float>(c.k, c.tokens_first, c.batch, c.k_heads, c.tokens, plan.headDim()),
                      positions(c.positions)));
}

int rerotateRope(const RopePlan& plan, Pointer fields, const RopePlan& target) {
  const auto c = readCall<RerotateCall>(fields);
  return number(plan.rerotate(viewOf(c.keys, plan.headDim()), positions(c.from), target, positions(c.to)));
}

int rotateByGivenTables(Pointer fields) {
  const auto c = readCall<RotateByTablesCall>(fields);
  return number(rotateByTables(viewOf(c.heads, c.head_dim), c.tables,
                               integers(c.table_rows, c.heads.batch * c.heads.tokens), c.pairing));
}

// positions: [axes][rows]
int ropeTables(const RopePlan& plan, Pointer positions, size_t rows, Pointer cos, Pointer sin) {
  return number(plan.tables(integers(positions, plan.axes() * rows), rows, at<float>(cos), at<float>(sin)));
}

void ropeFrequencies(const RopePlan& plan, Pointer out) {
  std::copy_n(plan.frequencies(), plan.pairs(), at<double>(out));
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(rope) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

  class_<RopePlan>("RopePlan")
      .constructor<>()
      .property("pairs", &RopePlan::pairs)
      .property("attentionFactor", &RopePlan::attentionFactor)
      .property("address", &addressOf)
      .property("fingerprint", &fingerprintOf)
      .function("create", &createRope)
      .function("rotate", &rotateRope)
      .function("rotateBoth", &rotateBothRope)
      .function("rerotate", &rerotateRope)
      .function("tables", &ropeTables)
      .function("frequencies", &ropeFrequencies);

  function("rotateByTables", &rotateByGivenTables);
}
