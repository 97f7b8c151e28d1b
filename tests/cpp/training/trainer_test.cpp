// The trainer: steps, what stops them, state, captures, evaluation, memory, and everything it refuses.
#include "training/trainer.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "catch.h"
#include "checksum.h"
#include "failing_memory.h"
#include "reference.h"
#include "training/trainer_data.h"

namespace ropewalk::test {
namespace {

using namespace ropewalk::training;

// Takes a step that has to stop, and to change nothing.
template <class T>
StepResult stopped(Trainer<T>& trainer, const BatchData<T>& batch) {
  const std::vector<unsigned char> before = stateOf(trainer);
  const StepResult result = trainer.step(batch.view());
  CHECK(!result.made());
  CHECK(sameBits(stateOf(trainer), before));
  return result;
}

constexpr double kSlopes[] = {2, 0.125};
constexpr double kUsualSlopes[] = {0.0625, 0.00390625};  // the paper's of two heads

}  // namespace

TEST_CASE("The same seed gives the same bits, another seed others", "[training]") {
  const ModelOptions model = smallModel(PositionKind::kLearned);
  Random random(30);
  const BatchData<float> batch(random, model.vocab, 3, 6);
  const auto trained = [&](uint64_t seed) {
    Trainer<float> trainer = trainerOf<float>(model, seed);
    for (int i = 0; i < 3; ++i) REQUIRE(trainer.step(batch.view()).made());
    CHECK(trainer.steps() == 3);
    return stateOf(trainer);
  };
  CHECK(sameBits(trained(7), trained(7)));
  CHECK(!sameBits(trained(7), trained(8)));
}

TEST_CASE("Parameters begin with their mean and deviation, whatever encoding stands beside them",
          "[training]") {
  ModelOptions model = smallModel();
  model.model_dim = 64;
  model.vocab = 100;
  Trainer<float> plain = trainerOf<float>(model);
  model.position.kind = PositionKind::kShaw;
  Trainer<float> shaw = trainerOf<float>(model);
  constexpr struct {
    const char* name;
    double deviation;
  } kExpected[] = {{"embedding", 0.5},
                   {"layers.0.query", 0.125},
                   {"layers.1.output", 0.0625},
                   {"unembedding", 0.0625},
                   {"layers.1.attention_norm", 0}};
  for (const auto& [name, deviation] : kExpected) {
    const TensorView<float> view = plain.parameter(name);
    const size_t n = view.shape.size();
    CHECK(sameBits(view.data, shaw.parameter(name).data, n));
    const double mean = deviation == 0 ? 1 : 0;
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(view.data[i]) - mean;
      sum += x;
      squares += x * x;
    }
    const auto count = static_cast<double>(n);
    CHECK(std::fabs(sum / count) <= 5 * deviation / std::sqrt(count));
    CHECK(std::fabs(std::sqrt(squares / count) - deviation) <= 5 * deviation / std::sqrt(2 * count));
  }
  CHECK(!sameBits(plain.parameter("layers.0.query").data, plain.parameter("layers.0.key").data, 64 * 64));
  CHECK(plain.parameter("layers.0.relative_keys").data == nullptr);
  CHECK(shaw.parameter("layers.0.relative_keys").shape.rows == 5);
  CHECK(shaw.parameter("layers.0.relative_keys").shape.columns == 32);
  model.position.kind = PositionKind::kAlibi;
  model.position.trainable = true;
  model.position.slopes = kSlopes;
  Trainer<float> alibi = trainerOf<float>(model);
  CHECK(alibi.parameter("alibi.slopes").data[0] == 2);
  CHECK(alibi.parameter("alibi.slopes").data[1] == 0.125f);
}

TEST_CASE("A gradient is found by the name of its parameter", "[training]") {
  const ModelOptions model = smallModel(PositionKind::kRope);
  Random random(32);
  const BatchData<float> batch(random, model.vocab, 2, 5);
  Trainer<float> trainer = trainerOf<float>(model);
  double loss = 0;
  REQUIRE(trainer.differentiate(batch.view(), &loss) == Status::kOk);
  for (const char* name : {"layers.0.query", "layers.0.key"}) {
    const TensorView<float> parameter = trainer.parameter(name);
    const TensorView<const float> gradient = trainer.gradient(name);
    CHECK(gradient.data - trainer.gradients() == parameter.data - trainer.parameters());
    CHECK(gradient.shape.rows == parameter.shape.rows);
    CHECK(gradient.shape.columns == parameter.shape.columns);
  }
  CHECK(trainer.gradient("layers.9.query").data == nullptr);
}

TEST_CASE("A restored state goes on with the same bits", "[training]") {
  for (const OptimizerKind kind : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    const ModelOptions model = smallModel(PositionKind::kRope);
    OptimizerOptions optimizer;
    optimizer.kind = kind;
    optimizer.warmup = 2;
    optimizer.total_steps = 9;
    Random random(31);
    const BatchData<float> batch(random, model.vocab, 2, 5);
    Trainer<float> trainer = trainerOf<float>(model, 1, optimizer);
    const auto train = [&](Trainer<float>& t) {
      for (int i = 0; i < 4; ++i) REQUIRE(t.step(batch.view()).made());
      return stateOf(t);
    };
    train(trainer);
    const std::vector<unsigned char> middle = stateOf(trainer);
    const std::vector<unsigned char> end = train(trainer);
    REQUIRE(trainer.restore(middle.data(), middle.size()) == Status::kOk);
    CHECK(trainer.steps() == 4);
    CHECK(sameBits(stateOf(trainer), middle));
    CHECK(sameBits(train(trainer), end));

    // Another seed is no obstacle, and neither is another scaling, as fine-tuning has it.
    Trainer<float> other = trainerOf<float>(model, 99, optimizer);
    REQUIRE(other.restore(middle.data(), middle.size()) == Status::kOk);
    CHECK(sameBits(train(other), end));
    ModelOptions scaled = model;
    scaled.position.frequencies.scaling = Scaling::kLinear;
    scaled.position.frequencies.factor = 4;
    Trainer<float> tuned = trainerOf<float>(scaled, 1, optimizer);
    REQUIRE(tuned.restore(middle.data(), middle.size()) == Status::kOk);
    CHECK(!sameBits(train(tuned), end));
  }
}

TEST_CASE("A state of other parameters or of another size is refused", "[training]") {
  Trainer<float> trainer = trainerOf<float>(smallModel(PositionKind::kRope));
  const std::vector<unsigned char> before = stateOf(trainer);
  std::vector<unsigned char> bytes = before;
  bytes.pop_back();
  CHECK(trainer.restore(bytes.data(), bytes.size()) == Status::kInvalidShape);
  CHECK(trainer.restore(nullptr, 0) == Status::kInvalidShape);
  Trainer<double> doubles = trainerOf<double>(smallModel(PositionKind::kRope));
  const std::vector<unsigned char> wide = stateOf(doubles);
  CHECK(trainer.restore(wide.data(), wide.size()) == Status::kInvalidShape);
  bytes = before;
  bytes[0] ^= 1;  // another fingerprint
  CHECK(trainer.restore(bytes.data(), bytes.size()) == Status::kInvalidArgument);
  bytes = before;
  bytes[before.size() / 2] ^= 1;  // a damaged number
  CHECK(trainer.restore(bytes.data(), bytes.size()) == Status::kInvalidArgument);
  ModelOptions odd = smallModel();
  odd.vocab = odd.model_dim = odd.heads = odd.layers = odd.hidden_dim = 1;
  Trainer<float> tiny = trainerOf<float>(odd);
  bytes = stateOf(tiny);
  REQUIRE(bytes.size() % 8 == 4);
  bytes[bytes.size() - 4] ^= 1;  // the last number, which is half a word
  CHECK(tiny.restore(bytes.data(), bytes.size()) == Status::kInvalidArgument);
  // The count of steps, a parameter that is not a number, a second moment below 0; with the checksum that
  // they need.
  constexpr size_t kHeader = 24;
  const auto with = [&](size_t at, const auto& value) {
    std::vector<unsigned char> changed = before;
    std::memcpy(changed.data() + at, &value, sizeof value);
    Checksum sum;
    sum.add(changed.data() + kHeader, changed.size() - kHeader);
    uint32_t rest = 0;
    if (changed.size() % 8 != 0)
      std::memcpy(&rest, changed.data() + changed.size() - sizeof rest, sizeof rest);
    sum.add(uint64_t{rest});
    const uint64_t checksum = sum.value();
    std::memcpy(changed.data() + 16, &checksum, sizeof checksum);
    return changed;
  };
  REQUIRE(sameBits(with(8, uint64_t{0}), before));
  const size_t last = before.size() - sizeof(float);
  for (const std::vector<unsigned char>& wrong :
       {with(8, ~uint64_t{0}), with(kHeader, kNaN), with(last, -1.0f)}) {
    CHECK(trainer.restore(wrong.data(), wrong.size()) == Status::kInvalidArgument);
    CHECK(sameBits(stateOf(trainer), before));
  }
  OptimizerOptions sgd;
  sgd.kind = OptimizerKind::kSgd;
  Trainer<float> other = trainerOf<float>(smallModel(PositionKind::kRope), 1, sgd);
  CHECK(other.restore(before.data(), before.size()) == Status::kInvalidArgument);
  CHECK(sameBits(stateOf(trainer), before));
}

TEST_CASE("A state of a model that differs in one choice is refused, though its parameters are as many",
          "[training]") {
  struct Choice {
    const char* name;
    ModelOptions model;
    void (*change)(ModelOptions&);
  };
  ModelOptions fed = smallModel(PositionKind::kRope);
  fed.hidden_dim = 6;
  ModelOptions linear = smallModel(PositionKind::kRope);
  linear.attention = AttentionKind::kLinear;
  linear.rotation = LinearRotation::kNumerator;
  ModelOptions concatenated = smallModel(PositionKind::kLearned);
  concatenated.position.mode = LearnedMode::kConcatenate;
  concatenated.position.position_dim = 3;
  concatenated.position.length = concatenated.vocab;
  const Choice choices[] = {
      {"activation", fed, [](ModelOptions& m) { m.activation = Activation::kSilu; }},
      {"attention", smallModel(PositionKind::kRope),
       [](ModelOptions& m) { m.attention = AttentionKind::kLinear; }},
      {"kernel", linear, [](ModelOptions& m) { m.kernel = LinearKernel::kExp; }},
      {"rotation", linear, [](ModelOptions& m) { m.rotation = LinearRotation::kBoth; }},
      {"encoding", smallModel(PositionKind::kRope),
       [](ModelOptions& m) { m.position.kind = PositionKind::kNone; }},
      {"encoding", smallModel(PositionKind::kRope),
       [](ModelOptions& m) { m.position.kind = PositionKind::kAlibi; }},
      {"mode", smallModel(PositionKind::kLearned),
       [](ModelOptions& m) { m.position.mode = LearnedMode::kMultiply; }},
      {"pairing", smallModel(PositionKind::kRope),
       [](ModelOptions& m) { m.position.pairing = Pairing::kInterleaved; }},
      {"causal", smallModel(PositionKind::kRope), [](ModelOptions& m) { m.causal = false; }},
      {"heads", smallModel(PositionKind::kRope), [](ModelOptions& m) { m.heads = 4; }},
      // An id less and two positions more.
      {"rows", smallModel(PositionKind::kLearned),
       [](ModelOptions& m) {
         m.vocab -= 1;
         m.position.length += 2;
       }},
      // As many ids as positions, so that one's columns may be the other's.
      {"columns", concatenated, [](ModelOptions& m) { m.position.position_dim += 1; }},
      // What no shape tells of an encoding.
      {"base", smallModel(PositionKind::kSinusoidal), [](ModelOptions& m) { m.position.base = 1000; }},
      {"scale", smallModel(PositionKind::kSinusoidal), [](ModelOptions& m) { m.position.scale = 0.5; }},
      {"bits", smallModel(PositionKind::kBinary), [](ModelOptions& m) { m.position.length = 17; }},
      {"scale", smallModel(PositionKind::kBinary), [](ModelOptions& m) { m.position.scale = 0.5; }},
      {"rotary dim", smallModel(PositionKind::kRope),
       [](ModelOptions& m) { m.position.frequencies.dim = 2; }},
      {"slopes", smallModel(PositionKind::kAlibi), [](ModelOptions& m) { m.position.slopes = kSlopes; }},
      {"max distance", smallModel(PositionKind::kT5), [](ModelOptions& m) { m.position.max_distance = 7; }},
      {"base", smallModel(PositionKind::kPope), [](ModelOptions& m) { m.position.base = 1000; }},
      {"threshold", smallModel(PositionKind::kFire), [](ModelOptions& m) { m.position.threshold = 4; }},
      {"width", smallModel(PositionKind::kSandwich), [](ModelOptions& m) { m.position.width = 6; }},
      {"base", smallModel(PositionKind::kSandwich), [](ModelOptions& m) { m.position.base = 1000; }},
      {"base", smallModel(PositionKind::kTransformerXl), [](ModelOptions& m) { m.position.base = 1000; }},
      {"max distance", smallModel(PositionKind::kDeberta),
       [](ModelOptions& m) { m.position.max_distance = 4; }},
      {"max distance", smallModel(PositionKind::kDeberta),
       [](ModelOptions& m) { m.position.max_distance = 0; }},
      {"columns", smallModel(PositionKind::kRopeMixed), [](ModelOptions& m) { m.position.columns = 4; }},
      // A column more and a row less.
      {"columns", smallModel(PositionKind::kAxial), [](ModelOptions& m) {
         m.position.columns += 1;
         m.position.length -= 1;
       }}};
  for (const auto& [name, model, change] : choices) {
    INFO(name);
    ModelOptions changed = model;
    change(changed);
    Trainer<float> one = trainerOf<float>(model);
    Trainer<float> other = trainerOf<float>(changed);
    const std::vector<unsigned char> before = stateOf(one);
    const std::vector<unsigned char> after = stateOf(other);
    REQUIRE(before.size() == after.size());
    CHECK(one.restore(after.data(), after.size()) == Status::kInvalidArgument);
    CHECK(other.restore(before.data(), before.size()) == Status::kInvalidArgument);
    CHECK(sameBits(stateOf(one), before));
    CHECK(trainerOf<float>(model, 99).restore(before.data(), before.size()) == Status::kOk);
  }
}

// A state of before the options of an encoding were part of it: one that is known to fit goes on, one that
// may be of other options does not.
TEST_CASE("A state that an earlier build saved is taken where it cannot be one of another model",
          "[training]") {
  struct Earlier {
    const char* name;
    uint64_t fingerprint;
    Status expected = Status::kInvalidArgument;
  };
  constexpr Earlier kEarlier[] = {{"none", 0xc261a05bea58ea35, Status::kOk},
                                  {"sinusoidal", 0x8a1723711471a41e},
                                  {"binary", 0xb677d14269746cb6},
                                  {"learned", 0x441585f8449f9d3b, Status::kOk},
                                  {"rope", 0x8fc5e6bd2ad216ca},
                                  {"alibi", 0x3cb29276293de3ea},
                                  {"alibi, trainable", 0x309f7d960b9f5daa, Status::kOk},
                                  {"t5", 0x07753a20a7650d33},
                                  {"kerple", 0xee79d131e458e7fa, Status::kOk},
                                  {"shaw", 0xb11d30cc402a001c, Status::kOk},
                                  {"relative_key", 0x32710be65876c6df, Status::kOk},
                                  {"relative_key_query", 0x0cf252f8301c7944, Status::kOk},
                                  {"m3", 0x70d428a1edb70773, Status::kOk},
                                  {"pope", 0xbe09ad1f2e74a24e},
                                  {"forget", 0xf8572f6563d47f01, Status::kOk},
                                  {"fire", 0xcc525f1d489e1b8b},
                                  {"sandwich", 0xcbe662cf04a93e6f},
                                  {"transformer_xl", 0x5d7664356705eaba},
                                  {"deberta", 0xf62b866c9ced2482},
                                  {"cope", 0x53192f18380971a7, Status::kOk},
                                  {"rope_mixed", 0xfd9192195fa882e7},
                                  {"axial", 0x3045b773d3ee5619, Status::kOk}};
  const std::vector<NamedModel> models = everyModel();
  for (const Earlier& earlier : kEarlier) {
    INFO(earlier.name);
    const auto model = std::find_if(models.begin(), models.end(),
                                    [&](const NamedModel& each) { return each.name == earlier.name; });
    REQUIRE(model != models.end());
    Trainer<float> trainer = trainerOf<float>(model->options, 99);
    std::vector<unsigned char> state = stateOf(trainerOf<float>(model->options));
    std::memcpy(state.data(), &earlier.fingerprint, sizeof earlier.fingerprint);
    CHECK(trainer.restore(state.data(), state.size()) == earlier.expected);
    CHECK(sameBits(stateOf(trainer), state) == (earlier.expected == Status::kOk));
  }
}

// Options that say the same thing in another way, and those that a state leaves open.
TEST_CASE("A state is taken by a trainer whose encoding is the same, or may be another", "[training]") {
  struct Choice {
    const char* name;
    PositionKind kind;
    void (*change)(ModelOptions&);
  };
  const Choice choices[] = {
      {"the whole head", PositionKind::kRope, [](ModelOptions& m) { m.position.frequencies.dim = 4; }},
      {"another base", PositionKind::kRope, [](ModelOptions& m) { m.position.frequencies.base = 1000; }},
      {"another factor", PositionKind::kRope, [](ModelOptions& m) { m.position.attention_factor = 2; }},
      {"as many bits", PositionKind::kBinary, [](ModelOptions& m) { m.position.length = 16; }},
      {"the paper's slopes", PositionKind::kAlibi, [](ModelOptions& m) { m.position.slopes = kUsualSlopes; }},
      {"slopes to begin with", PositionKind::kAlibi,
       [](ModelOptions& m) {
         m.position.trainable = true;
         m.position.slopes = kSlopes;
       }},
      {"frequencies to begin with", PositionKind::kRopeMixed,
       [](ModelOptions& m) { m.position.base = 1000; }},
      {"eps", PositionKind::kShaw, [](ModelOptions& m) { m.eps = 1e-3; }},
      {"kept tokens", PositionKind::kFire, [](ModelOptions& m) { m.kept_tokens = 0; }}};
  for (const auto& [name, kind, change] : choices) {
    INFO(name);
    ModelOptions model = smallModel(kind);
    ModelOptions changed = model;
    change(changed);
    model.position.trainable = changed.position.trainable;
    const std::vector<unsigned char> state = stateOf(trainerOf<float>(model));
    Trainer<float> other = trainerOf<float>(changed, 99);
    CHECK(other.restore(state.data(), state.size()) == Status::kOk);
    CHECK(sameBits(stateOf(other), state));
  }
}

TEST_CASE("What is not finite stops a step, is named, and changes nothing", "[training]") {
  const ModelOptions model = smallModel(PositionKind::kRope);
  Random random(32);
  const BatchData<float> batch(random, model.vocab, 2, 5);
  for (const float value : {kNaN, kInfinity}) {
    Trainer<float> trainer = trainerOf<float>(model);
    REQUIRE(trainer.step(batch.view()).made());
    trainer.parameter("unembedding").data[3] = value;
    const StepResult result = stopped(trainer, batch);
    CHECK(result.status == Status::kOk);
    CHECK(result.not_finite == NotFinite::kParameter);
    CHECK(result.tensor == "unembedding");
    CHECK(result.step == 2);
    CHECK(trainer.steps() == 1);
  }

  // Every parameter is finite, the logits are not.
  Trainer<float> steepest = trainerOf<float>(model);
  const TensorView<float> unembedding = steepest.parameter("unembedding");
  std::fill_n(unembedding.data, unembedding.shape.size(), 3e38f);
  std::fill_n(steepest.parameter("final_norm").data, model.model_dim, 100.0f);
  const StepResult lost = stopped(steepest, batch);
  CHECK(lost.not_finite == NotFinite::kLoss);
  CHECK(lost.tensor == "loss");

  // A step so long that a parameter leaves float.
  OptimizerOptions far;
  far.lr = 1e300;
  far.weight_decay = 0;
  Trainer<float> leaving = trainerOf<float>(model, 1, far);
  const StepResult left = stopped(leaving, batch);
  CHECK(left.not_finite == NotFinite::kParameter);
  CHECK(left.tensor == "embedding");
  CHECK(left.step == 1);

  // Nothing comes in, and almost nothing is added to it in the norms: the loss is ln V, the slopes infinite.
  ModelOptions steep = model;
  steep.eps = 1e-37;
  steep.layers = 4;
  Trainer<float> climbing = trainerOf<float>(steep);
  const TensorView<float> embedding = climbing.parameter("embedding");
  std::fill_n(embedding.data, embedding.shape.size(), 0.0f);
  const StepResult climbed = stopped(climbing, batch);
  CHECK(std::fabs(climbed.loss - std::log(5.0)) < 1e-6);
  CHECK(climbed.not_finite == NotFinite::kGradient);
  CHECK(climbed.tensor == "embedding");
}

TEST_CASE("A batch that does not fit is refused, and nothing has changed", "[training]") {
  const ModelOptions model = smallModel(PositionKind::kLearned);  // at most 9 tokens
  Random random(33);
  Trainer<float> trainer = trainerOf<float>(model);
  const BatchData<float> good(random, model.vocab, 2, 5);
  const std::vector<unsigned char> before = stateOf(trainer);
  const auto refuses = [&](const BatchData<float>& batch, Status expected) {
    double loss = 0;
    CHECK(trainer.step(batch.view()).status == expected);
    CHECK(trainer.differentiate(batch.view(), &loss) == expected);
    CHECK(trainer.evaluate(batch.view(), &loss) == expected);
    CHECK(sameBits(stateOf(trainer), before));
  };
  const auto changed = [&](auto change) {
    BatchData<float> batch = good;
    change(batch);
    return batch;
  };
  refuses(changed([](auto& b) { b.ids[3] = 5; }), Status::kPositionOutOfRange);
  refuses(changed([](auto& b) { b.ids[3] = -1; }), Status::kPositionOutOfRange);
  refuses(changed([](auto& b) { b.targets[0] = 5; }), Status::kPositionOutOfRange);
  refuses(changed([](auto& b) { b.targets[0] = -1; }), Status::kPositionOutOfRange);
  refuses(changed([](auto& b) { b.weights[1] = -1; }), Status::kInvalidArgument);
  refuses(changed([](auto& b) { b.weights[1] = kNaN; }), Status::kInvalidArgument);
  refuses(changed([](auto& b) { b.weights[1] = kInfinity; }), Status::kInvalidArgument);
  refuses(changed([](auto& b) { b.weights.assign(10, 0); }), Status::kInvalidArgument);
  refuses(changed([](auto& b) { b.batch = 0; }), Status::kInvalidShape);
  refuses(changed([](auto& b) { b.tokens = 0; }), Status::kInvalidShape);
  refuses(BatchData<float>(random, model.vocab, 1, 10), Status::kPositionOutOfRange);
  refuses(changed([](auto& b) { b.batch = SIZE_MAX / 2; }), Status::kInvalidShape);
  Trainer<float> endless = trainerOf<float>(smallModel());
  const BatchData<float> longest(random, model.vocab, 1, kMostTokens + 1);
  CHECK(endless.step(longest.view()).status == Status::kOutOfMemory);

  // What has no weight need not have a target.
  const BatchData<float> padded = changed([](auto& b) {
    b.weights[4] = 0;
    b.targets[4] = -100;
  });
  CHECK(trainer.step(padded.view()).made());
}

TEST_CASE("A step allocates nothing once one of its size was made", "[training]") {
  for (const auto& [name, model] : everyModel()) {
    Random random(34);
    const BatchData<float> batch(random, model.vocab, 3, 7);
    const BatchData<float> smaller(random, model.vocab, 2, 4);
    Trainer<float> trainer = trainerOf<float>(model);
    REQUIRE(trainer.step(batch.view()).made());
    double loss = 0;
    INFO(name);
    failAllocationAfter(0);
    CHECK(trainer.step(batch.view()).made());
    CHECK(trainer.step(smaller.view()).made());
    CHECK(trainer.evaluate(batch.view(), &loss) == Status::kOk);
    CHECK(trainer.step(batch.view()).made());
    CHECK(!stopFailing());
  }
}

TEST_CASE("Where memory is short a trainer says so and stays as it was", "[training]") {
  for (const auto& [name, model] : everyModel()) {
    INFO(name);
    Random random(35);
    const BatchData<float> batch(random, model.vocab, 3, 7);
    const size_t held = liveAllocations();
    {
      Trainer<float> trainer = trainerOf<float>(smallModel(), 3);
      const std::vector<unsigned char> before = stateOf(trainer);
      const size_t live = liveAllocations();
      for (size_t n = 0;; ++n) {
        failAllocationAfter(n);
        const Status status = trainer.create({model, {}, 1});
        if (!stopFailing()) {
          CHECK(status == Status::kOk);
          break;
        }
        CHECK(status == Status::kOutOfMemory);
        CHECK(liveAllocations() == live);
        CHECK(sameBits(stateOf(trainer), before));
      }
      const std::vector<unsigned char> made = stateOf(trainer);
      for (size_t n = 0;; ++n) {
        failAllocationAfter(n);
        const Status status = trainer.step(batch.view()).status;
        if (!stopFailing()) {
          CHECK(status == Status::kOk);
          break;
        }
        CHECK(status == Status::kOutOfMemory);
        CHECK(sameBits(stateOf(trainer), made));
      }
    }
    CHECK(liveAllocations() == held);
  }
}

TEST_CASE("Captured maps are the weights of every head", "[training]") {
  for (const auto& [name, model] : everyModel()) {
    Random random(36);
    const BatchData<float> batch(random, model.vocab, 2, 5);
    Trainer<float> trainer = trainerOf<float>(model);
    const std::vector<unsigned char> before = stateOf(trainer);
    std::vector<float> maps(model.layers * 2 * model.heads * 25, kNaN);
    REQUIRE(trainer.capture(batch.sequences(), maps.data()) == Status::kOk);
    CHECK(sameBits(stateOf(trainer), before));
    INFO(name);
    const bool sums_to_one =
        model.attention == AttentionKind::kSoftmax || model.rotation != LinearRotation::kNumerator;
    for (size_t row = 0; row < maps.size() / 5; ++row) {
      double sum = 0;
      for (size_t j = 0; j < 5; ++j) {
        const float w = maps[row * 5 + j];
        if (model.causal && j > row % 5) CHECK(w == 0);
        sum += static_cast<double>(w);
      }
      CHECK(std::isfinite(sum));
      if (sums_to_one) CHECK(std::fabs(sum - 1) < 1e-5);
    }
  }
  Trainer<float> trainer = trainerOf<float>(smallModel());
  const int32_t id = 5;
  float map = 0;
  CHECK(trainer.capture({&id, 1, 1}, &map) == Status::kPositionOutOfRange);
}

TEST_CASE("Evaluation gives losses, predictions and logits, and takes other frequencies", "[training]") {
  const ModelOptions model = smallModel(PositionKind::kRope);
  Random random(37);
  const BatchData<float> batch(random, model.vocab, 2, 8);
  Trainer<float> trainer = trainerOf<float>(model);
  std::vector<float> losses(16), logits(16 * model.vocab);
  std::vector<int32_t> predictions(16);
  double loss = 0;
  REQUIRE(trainer.evaluate(batch.view(), &loss, {losses.data(), predictions.data(), logits.data()}) ==
          Status::kOk);
  double sum = 0;
  double weight = 0;
  for (size_t r = 0; r < 16; ++r) {
    const float* const row = logits.data() + r * model.vocab;
    double total = 0;
    for (size_t c = 0; c < model.vocab; ++c) total += std::exp(static_cast<double>(row[c]));
    const double expected = std::log(total) - static_cast<double>(row[batch.targets[r]]);
    CHECK(std::fabs(static_cast<double>(losses[r]) - (batch.weights[r] == 0 ? 0 : expected)) < 1e-6);
    CHECK(predictions[r] == std::max_element(row, row + model.vocab) - row);
    sum += static_cast<double>(batch.weights[r]) * expected;
    weight += static_cast<double>(batch.weights[r]);
  }
  CHECK(std::fabs(loss - sum / weight) < 1e-6);
  const StepResult result = trainer.step(batch.view());
  CHECK(result.loss == loss);

  double again = 0;
  PositionOptions position = model.position;
  REQUIRE(trainer.evaluate(batch.view(), &loss) == Status::kOk);
  REQUIRE(trainer.evaluate(batch.view(), &again, {}, &position) == Status::kOk);
  CHECK(again == loss);
  position.frequencies.scaling = Scaling::kLinear;
  position.frequencies.factor = 2;
  REQUIRE(trainer.evaluate(batch.view(), &again, {}, &position) == Status::kOk);
  CHECK(again != loss);
  position.frequencies.factor = -1;
  CHECK(trainer.evaluate(batch.view(), &again, {}, &position) == Status::kInvalidArgument);
  position = {};
  CHECK(trainer.evaluate(batch.view(), &again, {}, &position) == Status::kInvalidArgument);
  position.kind = PositionKind::kRope;
  Trainer<float> alibi = trainerOf<float>(smallModel(PositionKind::kAlibi));
  CHECK(alibi.evaluate(batch.view(), &again, {}, &position) == Status::kInvalidArgument);
}

TEST_CASE("A small model learns to name the token before", "[training]") {
  ModelOptions model = smallModel(PositionKind::kRope);
  model.model_dim = 16;
  model.layers = 1;
  OptimizerOptions optimizer;
  optimizer.lr = 2e-2;
  Random random(38);
  Trainer<float> trainer = trainerOf<float>(model, 1, optimizer);
  double loss = 0;
  for (int s = 0; s < 150; ++s) {
    BatchData<float> batch(random, model.vocab, 8, 8);
    for (size_t i = 0; i < batch.ids.size(); ++i) {
      batch.targets[i] = i % 8 == 0 ? 0 : batch.ids[i - 1];
      batch.weights[i] = i % 8 == 0 ? 0.0f : 1.0f;
    }
    const StepResult result = trainer.step(batch.view());
    REQUIRE(result.made());
    loss = result.loss;
  }
  CHECK(loss < 0.2);  // it begins at ln 5 = 1.61
}

}  // namespace ropewalk::test
