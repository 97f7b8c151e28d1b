// libFuzzer: any options of a rotary plan, and rotations at any positions. What a plan refuses leaves
// everything as it was; what it rotates keeps its norm, and comes back.
#include "encodings/rope.h"

#include <cmath>

#include "fuzz.h"

namespace {

using namespace ropewalk;

double normOf(const std::vector<float>& x) {
  double total = 0;
  for (const float value : x) total += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(total);
}

struct Lists {
  std::vector<double> one;
  std::vector<double> two;
};

RopeOptions optionsOf(Input& input, Lists* lists) {
  RopeOptions o;
  o.head_dim = input.from(1, 40);
  FrequencyOptions& f = o.frequencies;
  f.dim = input.flag() ? o.head_dim : input.upTo(42);
  f.base = input.number();
  f.scaling = static_cast<Scaling>(input.upTo(8));
  f.factor = input.number();
  f.original_length = input.number();
  f.max_length = input.number();
  f.sequence_length = input.number();
  f.attention_factor = input.flag() ? input.number() : 0;
  f.beta_fast = input.flag() ? input.number() : 32;
  f.beta_slow = input.flag() ? input.number() : 1;
  f.mscale = input.flag() ? input.number() : 0;
  f.mscale_all_dim = input.flag() ? input.number() : 0;
  f.truncate = input.flag();
  f.low_freq_factor = input.number();
  f.high_freq_factor = input.number();
  f.rotary_fraction = input.number();
  for (std::vector<double>* list : {&lists->one, &lists->two}) {
    list->resize(f.dim / 2 + 1);
    for (double& value : *list) value = input.number();
  }
  f.short_factors = lists->one.data();
  f.long_factors = lists->two.data();
  f.inverse_frequencies = lists->one.data();
  o.pairing = static_cast<Pairing>(input.upTo(1));
  o.angles = static_cast<Angles>(input.upTo(1));
  o.axes.layout = static_cast<AxisLayout>(input.upTo(5));
  o.axes.axes = input.from(1, kMaxAxes);
  for (size_t& size : o.axes.sizes) size = input.upTo(20);
  if (input.flag()) o.xpos = {input.number(), input.number()};
  return o;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  Lists lists;
  const RopeOptions options = optionsOf(input, &lists);
  RopePlan plan;
  if (plan.create(options) != Status::kOk) {
    require(plan.pairs() == 0);
    return 0;
  }
  require(plan.pairs() <= options.head_dim / 2);
  const size_t tokens = input.from(1, 40);
  const size_t heads = input.from(1, 3);
  const bool listed = input.flag();
  std::vector<int64_t> list(listed ? plan.axes() * tokens : 0);
  for (int64_t& position : list) position = input.position();
  const Positions positions = {listed ? list.data() : nullptr, false, listed ? 0 : input.position()};
  const bool has_xpos = options.xpos.scale_base != 0;
  const Role role = has_xpos && input.flag() ? Role::kQuery : Role::kAny;
  const std::vector<float> before = input.floats(tokens * heads * options.head_dim);
  std::vector<float> x = before;
  const HeadView<float> view = headsFirst(x.data(), 1, heads, tokens, options.head_dim);
  const Status status = plan.rotate(view, positions, Turn::kForward, role);
  if (status != Status::kOk) {
    require(x == before);
    require(status == Status::kPositionOutOfRange || (has_xpos && role == Role::kAny));
    return 0;
  }
  const double factor = plan.attentionFactor();
  const bool plain = !has_xpos && factor > 1e-3 && factor < 1e3;
  const double norm = normOf(before);
  // Coordinates that do not turn keep their length; those that turn get the factor.
  if (plain && 2 * plan.pairs() == options.head_dim)
    require(std::fabs(normOf(x) - factor * norm) <= 1e-5 * factor * norm);
  require(plan.rotate(view, positions, Turn::kBack, role) == Status::kOk);
  for (size_t i = 0; plain && i < x.size(); ++i) require(std::fabs(x[i] - before[i]) <= 1e-5 * norm);
  return 0;
}
