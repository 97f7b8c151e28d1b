// Rotary encodings: plans, and rotation by tables that the caller made.
#include <emscripten/bind.h>

#include <algorithm>

#include "calls.h"
#include "encodings/rope.h"
#include "encodings/rope_tables.h"

namespace ropewalk::binding {
namespace {

// In 32 bits, which a number of JavaScript holds.
unsigned fingerprintOf(const RopePlan& plan) {
  const uint64_t whole = plan.fingerprint();
  return static_cast<unsigned>(whole ^ whole >> 32);
}

Pointer addressOf(const RopePlan& plan) {
  return reinterpret_cast<Pointer>(&plan);
}

int createRope(RopePlan& plan, const RopeOptions& options) {
  return number(plan.create(options));
}

struct HeadsCall {
  Pointer x;
  bool tokens_first;
  size_t batch, heads, tokens;
};

// The call of every decoding step: plain numbers cost a microsecond less than objects.
int rotateRope(RopePlan& plan, Pointer x, bool tokens_first, size_t batch, size_t head_count, size_t tokens,
               Pointer values, size_t count, bool per_batch, double offset, int turn, int role) {
  return number(plan.rotate(heads<float>(x, tokens_first, batch, head_count, tokens, plan.headDim()),
                            positions({values, count, per_batch, offset}), static_cast<Turn>(turn),
                            static_cast<Role>(role)));
}

// Queries and keys of the same tokens, in one order: [T, H, D] of one head is [H, T, D] as well.
int rotateBothRope(RopePlan& plan, Pointer q, Pointer k, bool tokens_first, size_t batch, size_t q_heads,
                   size_t k_heads, size_t tokens, Pointer values, size_t count, bool per_batch,
                   double offset) {
  return number(plan.rotateBoth(heads<float>(q, tokens_first, batch, q_heads, tokens, plan.headDim()),
                                heads<float>(k, tokens_first, batch, k_heads, tokens, plan.headDim()),
                                positions({values, count, per_batch, offset})));
}

int rerotateRope(const RopePlan& plan, const HeadsCall& x, const PositionsCall& from, const RopePlan& target,
                 const PositionsCall& to) {
  return number(plan.rerotate(heads<float>(x.x, x.tokens_first, x.batch, x.heads, x.tokens, plan.headDim()),
                              positions(from), target, positions(to)));
}

struct TablesCall {
  Pointer cos, sin;
  size_t rows, pairs;
  Pointer places;  // [batch, tokens]
  int pairing;
};

int rotateByGivenTables(const HeadsCall& x, size_t head_dim, const TablesCall& t) {
  return number(rotateByTables(heads<float>(x.x, x.tokens_first, x.batch, x.heads, x.tokens, head_dim),
                               {at<float>(t.cos), at<float>(t.sin), t.rows, t.pairs},
                               integers(t.places, x.batch * x.tokens), static_cast<Pairing>(t.pairing)));
}

// places: [axes][rows]
int ropeTables(const RopePlan& plan, Pointer places, size_t rows, Pointer cos, Pointer sin) {
  return number(plan.tables(integers(places, plan.axes() * rows), rows, at<float>(cos), at<float>(sin)));
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

  value_object<PositionsCall>("PositionsCall")
      .field("values", &PositionsCall::values)
      .field("count", &PositionsCall::count)
      .field("perBatch", &PositionsCall::per_batch)
      .field("offset", &PositionsCall::offset);
  value_object<FrequencyOptions>("FrequencyOptions")
      .field("dim", &FrequencyOptions::dim)
      .field("base", &FrequencyOptions::base)
      .field("scaling", ENUM_FIELD(FrequencyOptions, Scaling, scaling))
      .field("factor", &FrequencyOptions::factor)
      .field("originalLength", &FrequencyOptions::original_length)
      .field("maxLength", &FrequencyOptions::max_length)
      .field("sequenceLength", &FrequencyOptions::sequence_length)
      .field("attentionFactor", &FrequencyOptions::attention_factor)
      .field("betaFast", &FrequencyOptions::beta_fast)
      .field("betaSlow", &FrequencyOptions::beta_slow)
      .field("mscale", &FrequencyOptions::mscale)
      .field("mscaleAllDim", &FrequencyOptions::mscale_all_dim)
      .field("truncate", &FrequencyOptions::truncate)
      .field("lowFreqFactor", &FrequencyOptions::low_freq_factor)
      .field("highFreqFactor", &FrequencyOptions::high_freq_factor)
      .field("rotaryFraction", &FrequencyOptions::rotary_fraction)
      .field("shortFactors", POINTER_FIELD(FrequencyOptions, double, short_factors))
      .field("longFactors", POINTER_FIELD(FrequencyOptions, double, long_factors))
      .field("custom", POINTER_FIELD(FrequencyOptions, double, custom));
  value_array<std::array<size_t, kMaxAxes>>("AxisSizes")
      .element(emscripten::index<0>())
      .element(emscripten::index<1>())
      .element(emscripten::index<2>())
      .element(emscripten::index<3>());
  value_object<AxisOptions>("AxisOptions")
      .field("layout", ENUM_FIELD(AxisOptions, AxisLayout, layout))
      .field("axes", &AxisOptions::axes)
      .field("sizes", &AxisOptions::sizes);
  value_object<XPosOptions>("XPosOptions")
      .field("scaleBase", &XPosOptions::scale_base)
      .field("center", &XPosOptions::center);
  value_object<HeadsCall>("HeadsCall")
      .field("x", &HeadsCall::x)
      .field("tokensFirst", &HeadsCall::tokens_first)
      .field("batch", &HeadsCall::batch)
      .field("heads", &HeadsCall::heads)
      .field("tokens", &HeadsCall::tokens);
  value_object<RopeOptions>("RopeOptions")
      .field("headDim", &RopeOptions::head_dim)
      .field("frequencies", &RopeOptions::frequencies)
      .field("pairing", ENUM_FIELD(RopeOptions, Pairing, pairing))
      .field("angles", ENUM_FIELD(RopeOptions, Angles, angles))
      .field("axes", &RopeOptions::axes)
      .field("xpos", &RopeOptions::xpos);
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

  value_object<TablesCall>("TablesCall")
      .field("cos", &TablesCall::cos)
      .field("sin", &TablesCall::sin)
      .field("rows", &TablesCall::rows)
      .field("pairs", &TablesCall::pairs)
      .field("places", &TablesCall::places)
      .field("pairing", &TablesCall::pairing);
  function("rotateByTables", &rotateByGivenTables);
}
