// libFuzzer: trainers of any options, batches of any ids, and states that are restored with some bytes
// changed. A step that is not made, and a state that is refused, leave the parameters as they were.
#include <algorithm>

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
  m.kernel = static_cast<LinearKernel>(input.upTo(3));
  m.rotation = static_cast<LinearRotation>(input.upTo(3));
  PositionOptions& p = m.position;
  p.kind = static_cast<PositionKind>(input.upTo(13));
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
  OptimizerOptions& o = options.optimizer;
  o.kind = static_cast<OptimizerKind>(input.upTo(1));
  o.lr = input.flag() ? 1e-2 : input.number();
  o.clip = input.flag() ? 1 : input.number();
  o.warmup = input.upTo(3);
  options.seed = input.take<uint32_t>();
  return options;
}

std::vector<uint8_t> stateOf(const Trainer<float>& trainer) {
  std::vector<uint8_t> bytes(trainer.stateBytes());
  trainer.save(bytes.data());
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const TrainerOptions options = optionsOf(input);
  Trainer<float> trainer;
  if (trainer.create(options) != Status::kOk) return 0;
  for (size_t i = 0; i < 3; ++i) {
    const size_t batch = input.from(1, 2);
    const size_t tokens = input.upTo(9);
    std::vector<int32_t> ids(batch * tokens);
    std::vector<int32_t> targets(ids.size());
    for (std::vector<int32_t>* list : {&ids, &targets}) {
      for (int32_t& id : *list)
        id = input.flag() ? static_cast<int32_t>(input.upTo(options.model.vocab - 1)) : input.take<int8_t>();
    }
    const std::vector<uint8_t> before = stateOf(trainer);
    const StepResult result = trainer.step({{ids.data(), batch, tokens}, targets.data(), nullptr});
    require(result.made() || stateOf(trainer) == before);

    std::vector<uint8_t> changed = stateOf(trainer);
    const std::vector<uint8_t> kept = changed;
    for (size_t n = input.upTo(3); n > 0; --n)
      changed[input.upTo(changed.size() - 1)] ^= input.take<uint8_t>();
    const size_t bytes = input.flag() ? changed.size() : input.upTo(changed.size());
    const Status status = trainer.restore(changed.data(), bytes);
    require(status != Status::kOk || bytes == changed.size());
    require(stateOf(trainer) == (status == Status::kOk ? changed : kept));
  }
  return 0;
}
