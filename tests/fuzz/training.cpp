// libFuzzer: trainers of any options, batches of any ids, and states that are restored with some bytes
// changed, mostly with the checksum of what they are now. A step that is not made, and a state that is
// refused, leave the parameters as they were.
#include "checksum.h"
#include "fuzz.h"
#include "training/trainer.h"

namespace {

using namespace ropewalk;
using namespace ropewalk::training;

TrainerOptions optionsOf(Input& input) {
  TrainerOptions options;
  ModelOptions& m = options.model;
  m.vocab = input.from(1, 9);
  m.heads = input.from(1, 2);
  m.model_dim = input.flag() ? m.heads * 2 * input.from(1, 3) : input.upTo(12);
  m.layers = input.from(1, 2);
  m.hidden_dim = input.upTo(9);
  m.causal = input.flag();
  m.norm = static_cast<NormKind>(input.upTo(1));
  m.eps = input.flag() ? 1e-6 : input.number();
  m.activation = input.oneOf({Activation::kGelu, Activation::kSilu});
  m.attention = static_cast<AttentionKind>(input.upTo(1));
  m.kernel = static_cast<LinearKernel>(input.upTo(4));
  m.rotation = static_cast<LinearRotation>(input.upTo(3));
  PositionOptions& p = m.position;
  p.kind = static_cast<PositionKind>(input.upTo(15));
  p.length = input.upTo(12);
  p.mode = static_cast<LearnedMode>(input.upTo(2));
  p.position_dim = input.upTo(8);
  p.scale = input.flag() ? 1 : input.number();
  p.base = input.flag() ? 10000 : input.number();
  p.frequencies.base = p.base;
  p.frequencies.dim = input.upTo(6);
  p.frequencies.scaling = static_cast<Scaling>(input.upTo(4));
  p.frequencies.factor = input.flag() ? 2 : input.number();
  p.frequencies.original_length = p.frequencies.max_length = input.number();
  p.pairing = static_cast<Pairing>(input.upTo(1));
  p.trainable = input.flag();
  p.num_buckets = input.upTo(12);
  p.max_distance = static_cast<int64_t>(input.upTo(20));
  p.max_relative = input.upTo(6);
  p.width = input.upTo(6);
  p.threshold = input.flag() ? 4 : input.number();
  m.kept_tokens = input.flag() ? 256 : input.upTo(9);
  OptimizerOptions& o = options.optimizer;
  o.kind = static_cast<OptimizerKind>(input.upTo(1));
  o.lr = input.flag() ? 1e-2 : input.number();
  o.clip = input.flag() ? 1 : input.number();
  o.warmup = input.upTo(3);
  if (input.flag()) {
    o.beta1 = input.number();
    o.beta2 = input.number();
    o.eps = input.number();
    o.weight_decay = input.number();
    o.total_steps = input.upTo(9);
  }
  options.seed = input.take<uint32_t>();
  return options;
}

std::vector<uint8_t> stateOf(const Trainer<float>& trainer) {
  std::vector<uint8_t> bytes(trainer.stateBytes());
  trainer.save(bytes.data());
  return bytes;
}

// A state is a fingerprint, a number of steps, the checksum of what follows, and that: three arrays.
constexpr size_t kHeaderBytes = 24;

void seal(std::vector<uint8_t>& state) {
  const size_t size = state.size() - kHeaderBytes;
  Checksum sum;
  sum.add(state.data() + kHeaderBytes, size);
  uint32_t last = 0;
  if (size % 8 != 0) std::memcpy(&last, state.data() + state.size() - sizeof last, sizeof last);
  sum.add(uint64_t{last});
  const uint64_t value = sum.value();
  std::memcpy(state.data() + 16, &value, sizeof value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const TrainerOptions options = optionsOf(input);
  Trainer<float> trainer;
  if (trainer.create(options) != Status::kOk) return 0;
  std::vector<uint8_t> state = stateOf(trainer);
  for (size_t i = 0; i < 3 && input.left() > 0; ++i) {
    const size_t batch = input.from(1, 2);
    const size_t tokens = input.upTo(9);
    std::vector<int32_t> ids(batch * tokens);
    std::vector<int32_t> targets(ids.size());
    for (std::vector<int32_t>* list : {&ids, &targets}) {
      for (int32_t& id : *list)
        id = input.flag() ? static_cast<int32_t>(input.upTo(options.model.vocab - 1)) : input.take<int8_t>();
    }
    const StepResult result = trainer.step({{ids.data(), batch, tokens}, targets.data(), nullptr});
    std::vector<uint8_t> changed = stateOf(trainer);
    require(result.made() || changed == state);

    const std::vector<uint8_t> kept = changed;
    for (size_t n = input.upTo(3); n > 0; --n)
      changed[input.upTo(changed.size() - 1)] ^= input.take<uint8_t>();
    if (input.upTo(3) != 0) seal(changed);
    const size_t bytes = input.upTo(3) != 0 ? changed.size() : input.upTo(changed.size());
    const Status status = trainer.restore(changed.data(), bytes);
    require(status != Status::kOk || bytes == changed.size());
    state = stateOf(trainer);
    require(state == (status == Status::kOk ? changed : kept));
  }
  return 0;
}
