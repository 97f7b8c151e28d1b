// Steps of the optimizers by their definition, and the learning rate over time.
#include "training/optimizer.h"

#include <vector>

#include "catch.h"
#include "reference.h"
#include "training/central_differences.h"
#include "training/trainer_data.h"

namespace ropewalk::test {
namespace {

using namespace ropewalk::training;

// A layout with parameters that decay and some that do not.
ParameterLayout layoutOf() {
  ParameterLayout layout;
  REQUIRE(layout.create(smallModel(PositionKind::kShaw)) == Status::kOk);
  return layout;
}

bool decays(const ParameterLayout& layout, size_t number) {
  for (size_t i = 0; i < layout.count(); ++i) {
    if (number < layout[i].offset + layout[i].shape.size()) return layout[i].decays;
  }
  return false;
}

}  // namespace

TEST_CASE("Three steps of each optimizer are those of its definition", "[training]") {
  const ParameterLayout layout = layoutOf();
  const size_t n = layout.size();
  for (const OptimizerKind kind : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    OptimizerOptions options;
    options.kind = kind;
    options.lr = 0.03;
    options.beta2 = 0.98;
    options.eps = 1e-3;
    options.weight_decay = 0.1;
    Random random(24);
    std::vector<double> p = randomDoubles(random, n), first(n, 0), second(n, 0);
    std::vector<double> expected = p, mean(n, 0), squares(n, 0);
    for (uint64_t step = 1; step <= 3; ++step) {
      const std::vector<double> g = randomDoubles(random, n);
      optimize<double>(options, layout, step, 0.5, g.data(), {p.data(), first.data(), second.data()});
      for (size_t i = 0; i < n; ++i) {
        const double limited = 0.5 * g[i];
        if (decays(layout, i)) expected[i] -= 0.03 * 0.1 * expected[i];
        if (kind == OptimizerKind::kSgd) {
          mean[i] = 0.9 * mean[i] + limited;
          expected[i] -= 0.03 * mean[i];
          continue;
        }
        mean[i] = 0.9 * mean[i] + 0.1 * limited;
        squares[i] = 0.98 * squares[i] + 0.02 * limited * limited;
        const double unbiased = mean[i] / (1 - std::pow(0.9, static_cast<double>(step)));
        const double size = std::sqrt(squares[i] / (1 - std::pow(0.98, static_cast<double>(step))));
        expected[i] -= 0.03 * unbiased / (size + 1e-3);
      }
    }
    CHECK(largestDifference(p, expected) < 1e-15);
  }
}

TEST_CASE("In float32 the steps are those of float64, also where a beta is near 1", "[training]") {
  const ParameterLayout layout = layoutOf();
  const size_t n = layout.size();
  for (const double beta2 : {0.98, 0.9999, 0.999999, 0.99999999}) {
    OptimizerOptions options;
    options.lr = 0.01;
    options.beta2 = beta2;
    options.eps = 1e-4;
    Random random(25);
    std::vector<double> p = randomDoubles(random, n), first(n, 0), second(n, 0);
    std::vector<float> p32(p.begin(), p.end()), first32(n, 0), second32(n, 0);
    for (uint64_t step = 1; step <= 10; ++step) {
      const std::vector<double> g = randomDoubles(random, n);
      const std::vector<float> g32(g.begin(), g.end());
      optimize<double>(options, layout, step, 1, g.data(), {p.data(), first.data(), second.data()});
      optimize<float>(options, layout, step, 1, g32.data(), {p32.data(), first32.data(), second32.data()});
    }
    const std::vector<double> found(p32.begin(), p32.end());
    CHECK(largestDifference(found, p) < 2e-6);
  }
}

TEST_CASE("Matrices decay, tables, norms and biases do not", "[training]") {
  ParameterLayout layout;
  ModelOptions model = smallModel(PositionKind::kForget);
  model.hidden_dim = 4;
  REQUIRE(layout.create(model) == Status::kOk);
  for (const char* name : {"layers.1.query", "layers.0.key", "layers.0.value", "layers.0.output",
                           "layers.0.up", "layers.1.down", "layers.0.forget", "unembedding"}) {
    REQUIRE(layout.find(name) != nullptr);
    CHECK(layout.find(name)->decays);
  }
  for (const char* name : {"embedding", "layers.0.attention_norm", "layers.0.forget_bias", "final_norm"}) {
    REQUIRE(layout.find(name) != nullptr);
    CHECK(!layout.find(name)->decays);
  }
  for (const PositionKind kind : {PositionKind::kLearned, PositionKind::kT5, PositionKind::kShaw,
                                  PositionKind::kRelativeKey, PositionKind::kM3, PositionKind::kPope}) {
    REQUIRE(layout.create(smallModel(kind)) == Status::kOk);
    for (const char* name : {"positions", "t5", "layers.0.relative_keys", "layers.0.relative_values",
                             "layers.0.relative", "layers.0.phases"}) {
      const Parameter* const found = layout.find(name);
      CHECK((found == nullptr || !found->decays));
    }
  }
}

TEST_CASE("The learning rate rises, falls by a cosine, and stays", "[training]") {
  OptimizerOptions options;
  options.lr = 2;
  CHECK(learningRate(options, 1) == 2);
  CHECK(learningRate(options, 1000000) == 2);
  options.warmup = 10;
  CHECK(learningRate(options, 1) == 0.2);
  CHECK(learningRate(options, 10) == 2);
  CHECK(learningRate(options, 11) == 2);
  options.total_steps = 110;
  options.final_share = 0.1;
  CHECK(learningRate(options, 10) == 2);
  CHECK(std::fabs(learningRate(options, 60) - 1.1) < 1e-15);
  CHECK(std::fabs(learningRate(options, 109) - 0.2) < 1e-3);
  CHECK(learningRate(options, 110) == 0.2);
  CHECK(learningRate(options, 500) == 0.2);
  options.warmup = options.total_steps = 5;
  CHECK(learningRate(options, 5) == 0.2);
}

TEST_CASE("Gradients are limited by their norm all together", "[training]") {
  const std::vector<float> g = {3, 4, 12};
  CHECK(lengthOf(g.data(), g.size()) == 13);
  CHECK(lengthOf(g.data(), 0) == 0);
  OptimizerOptions options;
  options.clip = 1;
  CHECK(std::fabs(clipFactor(options, 13) - 1 / 13.000001) < 1e-15);
  CHECK(clipFactor(options, 0.5) == 1);
  options.clip = 0;
  CHECK(clipFactor(options, 13) == 1);
}

}  // namespace ropewalk::test
