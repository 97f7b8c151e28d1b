// Whole models: gradients of every parameter against central differences, in float against double, and what
// holds for each encoding.
#include "training/model.h"

#include <string>
#include <vector>

#include "catch.h"
#include "reference.h"
#include "training/central_differences.h"
#include "training/trainer.h"
#include "training/trainer_data.h"

namespace ropewalk::test {
namespace {

using namespace ropewalk::training;

// Nothing is at its usual start, where gradients may be 0 by symmetry.
template <class T>
void disturb(Trainer<T>& trainer) {
  Random random(17);
  for (size_t i = 0; i < trainer.layout().size(); ++i)
    trainer.parameters()[i] += static_cast<T>(random.uniform(-0.2, 0.2));
}

// Some numbers of each parameter, at most kSome apart from each other.
constexpr size_t kSome = 24;

double worstGradientError(const ModelOptions& model) {
  Random random(18);
  Trainer<double> trainer = trainerOf<double>(model);
  disturb(trainer);
  const BatchData<double> batch(random, model.vocab, 2, 5);
  double loss = 0;
  REQUIRE(trainer.differentiate(batch.view(), &loss) == Status::kOk);
  const std::vector<double> gradients(trainer.gradients(), trainer.gradients() + trainer.layout().size());
  const auto evaluated = [&] {
    double value = 0;
    REQUIRE(trainer.evaluate(batch.view(), &value) == Status::kOk);
    return value;
  };
  CHECK(evaluated() == loss);
  double worst = 0;
  for (size_t i = 0; i < trainer.layout().count(); ++i) {
    const Parameter& p = trainer.layout()[i];
    const size_t count = std::min(kSome, p.shape.size());
    const size_t first = p.offset + (p.shape.size() - count) / 2;
    const double error =
        gradientError(trainer.parameters() + first, gradients.data() + first, count, evaluated);
    INFO(p.name);
    CHECK(error < kGradientTolerance);
    worst = std::max(worst, error);
  }
  return worst;
}

// The distance of the gradients in float from those in double, by their length.
double floatError(const ModelOptions& model) {
  Random random(19);
  Random again(19);
  Trainer<float> floats = trainerOf<float>(model);
  disturb(floats);
  Trainer<double> doubles = trainerOf<double>(model);
  std::copy_n(floats.parameters(), floats.layout().size(), doubles.parameters());
  const BatchData<float> batch(random, model.vocab, 3, 9);
  const BatchData<double> same(again, model.vocab, 3, 9);
  double in_float = 0;
  double in_double = 0;
  REQUIRE(floats.differentiate(batch.view(), &in_float) == Status::kOk);
  REQUIRE(doubles.differentiate(same.view(), &in_double) == Status::kOk);
  CHECK(std::fabs(in_float - in_double) < 1e-6 * in_double);
  double difference = 0;
  double length = 0;
  for (size_t i = 0; i < floats.layout().size(); ++i) {
    const double g = doubles.gradients()[i];
    difference += std::pow(static_cast<double>(floats.gradients()[i]) - g, 2);
    length += g * g;
  }
  return std::sqrt(difference / length);
}

}  // namespace

TEST_CASE("Gradients of whole models, every parameter of every encoding", "[training]") {
  for (auto [name, model] : everyModel()) {
    INFO(name);
    reported(("a model, " + name).c_str(), worstGradientError(model));
    model.kept_tokens = 0;
    reported(("the same, weights computed again, " + name).c_str(), worstGradientError(model));
  }
}

TEST_CASE("A model has the same gradients whether attention weights are kept or computed again",
          "[training]") {
  constexpr size_t kTokens = 140;  // two blocks of queries
  for (auto [name, model] : everyModel()) {
    Random random(24);
    model.position.length = kTokens;
    const BatchData<double> batch(random, model.vocab, 2, kTokens);
    double loss = 0;
    double loss_again = 0;
    Trainer<double> kept = trainerOf<double>(model);
    disturb(kept);
    REQUIRE(kept.differentiate(batch.view(), &loss) == Status::kOk);
    model.kept_tokens = kTokens - 1;
    Trainer<double> again = trainerOf<double>(model);
    disturb(again);
    REQUIRE(again.differentiate(batch.view(), &loss_again) == Status::kOk);
    INFO(name);
    CHECK(loss_again == loss);
    double difference = 0;
    double length = 0;
    for (size_t i = 0; i < kept.layout().size(); ++i) {
      difference += std::pow(again.gradients()[i] - kept.gradients()[i], 2);
      length += std::pow(kept.gradients()[i], 2);
    }
    // FIRE adds up its heads in another order.
    CHECK(std::sqrt(difference / length) <= (model.position.kind == PositionKind::kFire ? 1e-14 : 0));
  }
}

TEST_CASE("Maps of the first layer by the definition of PoPE", "[training]") {
  constexpr size_t kTokens = 6;
  ModelOptions model = smallModel(PositionKind::kPope);
  model.layers = 1;
  const size_t dim = model.headDim();
  Trainer<double> trainer = trainerOf<double>(model);
  disturb(trainer);
  Random random(27);
  const BatchData<double> batch(random, model.vocab, 1, kTokens);
  std::vector<double> maps(model.heads * kTokens * kTokens);
  REQUIRE(trainer.capture(batch.sequences(), maps.data()) == Status::kOk);

  const auto parameter = [&](const char* name) { return trainer.parameter(name).data; };
  // softplus of a coordinate of a projection of a token's vector, after the norm.
  const auto magnitude = [&](const char* name, size_t t, size_t row) {
    const double* const x = parameter("embedding") + static_cast<size_t>(batch.ids[t]) * model.model_dim;
    double squares = 0;
    double sum = 0;
    for (size_t i = 0; i < model.model_dim; ++i) {
      squares += x[i] * x[i] / static_cast<double>(model.model_dim);
      sum += parameter(name)[row * model.model_dim + i] * parameter("layers.0.attention_norm")[i] * x[i];
    }
    return std::log1p(std::exp(sum / std::sqrt(squares + model.eps)));
  };
  Worst worst;
  for (size_t h = 0; h < model.heads; ++h) {
    for (size_t i = 0; i < kTokens; ++i) {
      std::vector<double> expected(kTokens, 0);
      double total = 0;
      for (size_t j = 0; j <= i; ++j) {
        double score = 0;
        for (size_t c = 0; c < dim; ++c) {
          const double theta = std::pow(100, -static_cast<double>(c) / static_cast<double>(dim));
          const double angle = (static_cast<double>(j) - static_cast<double>(i)) * theta +
                               parameter("layers.0.phases")[h * dim + c];
          score += magnitude("layers.0.query", i, h * dim + c) * magnitude("layers.0.key", j, h * dim + c) *
                   std::cos(angle);
        }
        total += expected[j] = std::exp(score / std::sqrt(static_cast<double>(dim)));
      }
      for (size_t j = 0; j < kTokens; ++j)
        worst.add(maps[(h * kTokens + i) * kTokens + j], expected[j] / total, 1e-13);
    }
  }
  CHECK(worst.share() < 1);
}

TEST_CASE("Gradients in float are those in double but for roundings", "[training]") {
  for (auto [name, model] : everyModel()) {
    INFO(name);
    CHECK(floatError(model) < 5e-6);  // some 80 roundings
    model.heads = 1;
    model.model_dim = 6;  // no number of vectors
    CHECK(floatError(model) < 5e-6);
  }
}

TEST_CASE("Models take sequences of one token, and of sizes that no vector has", "[training]") {
  for (const auto& [name, model] : everyModel()) {
    for (const size_t tokens : {size_t{1}, size_t{2}, size_t{7}}) {
      Random random(20);
      Trainer<float> trainer = trainerOf<float>(model);
      const BatchData<float> batch(random, model.vocab, tokens == 1 ? 1 : 3, tokens);
      INFO(name << ", " << tokens << " tokens");
      CHECK(trainer.step(batch.view()).made());
    }
  }
  ModelOptions smallest = smallModel();
  smallest.vocab = smallest.model_dim = smallest.heads = smallest.layers = smallest.hidden_dim = 1;
  Random random(21);
  Trainer<float> trainer = trainerOf<float>(smallest);
  const BatchData<float> batch(random, 1, 1, 1);
  const StepResult result = trainer.step(batch.view());
  CHECK(result.made());
  CHECK(result.loss == 0);
}

TEST_CASE("A causal model does not see later tokens, a bidirectional one does", "[training]") {
  for (const auto& [name, model] : everyModel()) {
    Random random(22);
    Trainer<float> trainer = trainerOf<float>(model);
    BatchData<float> batch(random, model.vocab, 1, 6);
    std::vector<float> before(6 * model.vocab), after(6 * model.vocab);
    double loss = 0;
    REQUIRE(trainer.evaluate(batch.view(), &loss, {nullptr, nullptr, before.data()}) == Status::kOk);
    batch.ids[5] = (batch.ids[5] + 1) % 5;
    REQUIRE(trainer.evaluate(batch.view(), &loss, {nullptr, nullptr, after.data()}) == Status::kOk);
    INFO(name);
    CHECK(sameBits(before.data(), after.data(), 5 * model.vocab) == model.causal);
    CHECK(!sameBits(before, after));
  }
}

TEST_CASE("Without positions a bidirectional model is equivariant to permutations", "[training]") {
  ModelOptions model = smallModel();
  model.causal = false;
  Random random(23);
  Trainer<double> trainer = trainerOf<double>(model);
  BatchData<double> batch(random, model.vocab, 1, 6);
  std::vector<double> before(6 * model.vocab), after(6 * model.vocab);
  double loss = 0;
  REQUIRE(trainer.evaluate(batch.view(), &loss, {nullptr, nullptr, before.data()}) == Status::kOk);
  std::reverse(batch.ids.begin(), batch.ids.end());
  REQUIRE(trainer.evaluate(batch.view(), &loss, {nullptr, nullptr, after.data()}) == Status::kOk);
  Worst worst;
  for (size_t t = 0; t < 6; ++t) {
    for (size_t c = 0; c < model.vocab; ++c)
      worst.add(before[t * model.vocab + c], after[(5 - t) * model.vocab + c], 1e-14);
  }
  CHECK(worst.share() < 1);
}

}  // namespace ropewalk::test
