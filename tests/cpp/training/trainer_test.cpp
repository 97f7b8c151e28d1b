// The trainer: steps, what stops them, captures, evaluation, memory, and everything it refuses.
#include "training/trainer.h"

#include <algorithm>
#include <vector>

#include "catch.h"
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
  const double slopes[] = {2, 0.125};
  model.position.slopes = slopes;
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
  CHECK(endless.step(longest.view()).status == Status::kInvalidShape);

  // What has no weight need not have a target.
  const BatchData<float> padded = changed([](auto& b) {
    b.weights[4] = 0;
    b.targets[4] = -100;
  });
  CHECK(trainer.step(padded.view()).made());
}

TEST_CASE("What lies behind a batch is not looked at", "[training]") {
  const ModelOptions model = smallModel(PositionKind::kRope);
  Random random(39);
  const BatchData<float> batch(random, model.vocab, 2, 5);
  BatchData<float> longer = batch;
  longer.ids.push_back(-1);
  longer.targets.push_back(-1);
  for (const float next : {kNaN, -1.0f, 1.0f}) {
    longer.weights.resize(batch.weights.size());
    longer.weights.push_back(next);
    Trainer<float> one = trainerOf<float>(model);
    Trainer<float> other = trainerOf<float>(model);
    REQUIRE(one.step(batch.view()).made());
    REQUIRE(other.step(longer.view()).made());
    CHECK(sameBits(stateOf(one), stateOf(other)));
  }
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

TEST_CASE("Where memory was short for a long batch a short one has the same bits", "[training]") {
  for (auto [name, model] : everyModel()) {
    INFO(name);
    model.position.length = 40;
    Random random(40);
    const BatchData<float> batch(random, model.vocab, 2, 5);
    const BatchData<float> longer(random, model.vocab, 2, 40);
    Trainer<float> plain = trainerOf<float>(model);
    REQUIRE(plain.step(batch.view()).made());
    double of_longer = 0;
    REQUIRE(plain.evaluate(longer.view(), &of_longer) == Status::kOk);
    REQUIRE(plain.step(batch.view()).made());
    const std::vector<unsigned char> expected = stateOf(plain);
    for (size_t n = 0;; ++n) {
      Trainer<float> trainer = trainerOf<float>(model);
      REQUIRE(trainer.step(batch.view()).made());
      double loss = 0;
      failAllocationAfter(n);
      const Status status = trainer.evaluate(longer.view(), &loss);
      const bool failed = stopFailing();
      // Tables of sinusoids are made without the memory that makes them faster.
      CHECK((status == Status::kOk ? loss == of_longer : failed && status == Status::kOutOfMemory));
      REQUIRE(trainer.step(batch.view()).made());
      CHECK(sameBits(stateOf(trainer), expected));
      if (!failed) break;
    }
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

TEST_CASE("KERPLE's r1 and r2 stay above 0, however far a step goes", "[training]") {
  const ModelOptions model = smallModel(PositionKind::kKerple);
  OptimizerOptions far;
  far.lr = 0.7;
  Random random(39);
  Trainer<float> trainer = trainerOf<float>(model, 1, far);
  float least = 1;
  for (int s = 0; s < 20; ++s) {
    const BatchData<float> batch(random, model.vocab, 2, 9);
    REQUIRE(trainer.step(batch.view()).made());
    for (const char* name : {"kerple.r1", "kerple.r2"}) {
      const TensorView<float> r = trainer.parameter(name);
      least = std::min(least, *std::min_element(r.data, r.data + r.shape.size()));
    }
  }
  CHECK(least == 0.01f);
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
