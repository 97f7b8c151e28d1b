// The state of a trainer: what is saved, what goes on from it, and what it refuses.
#include <algorithm>
#include <cstring>
#include <vector>

#include "catch.h"
#include "checksum.h"
#include "reference.h"
#include "training/trainer.h"
#include "training/trainer_data.h"

namespace ropewalk::test {
namespace {

using namespace ropewalk::training;

constexpr double kSlopes[] = {2, 0.125};
constexpr double kUsualSlopes[] = {0.0625, 0.00390625};  // the paper's of two heads

}  // namespace

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
  bytes[8] ^= 1;  // another count of steps
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
    sum.add(changed.data() + 8, 8);  // the steps
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

}  // namespace ropewalk::test
