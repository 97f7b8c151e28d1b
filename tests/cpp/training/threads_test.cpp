// Training has the same bits with any number of threads, also with more than there are cores.
#include <vector>

#include "catch.h"
#include "reference.h"
#include "thread_bits.h"
#include "training/activation.h"
#include "training/cross_entropy.h"
#include "training/norm.h"
#include "training/products.h"
#include "training/trainer_data.h"

namespace ropewalk::test {
namespace {

using namespace ropewalk::training;

// What a trainer comes to by some steps, and what it then says of a batch.
std::vector<unsigned char> courseOf(const ModelOptions& model, const BatchData<float>& batch, size_t steps) {
  Trainer<float> trainer = trainerOf<float>(model);
  for (size_t s = 0; s < steps; ++s) REQUIRE(trainer.step(batch.view()).made());
  std::vector<unsigned char> bytes = stateOf(trainer);
  const size_t rows = batch.batch * batch.tokens;
  std::vector<float> results(1 + rows * (1 + model.vocab) + model.layers * model.heads * rows * batch.tokens);
  double loss = 0;
  float* const logits = results.data() + 1 + rows;
  REQUIRE(trainer.evaluate(batch.view(), &loss, {results.data() + 1, nullptr, logits}) == Status::kOk);
  results[0] = static_cast<float>(loss);
  REQUIRE(trainer.capture(batch.sequences(), logits + rows * model.vocab) == Status::kOk);
  const auto* const data = reinterpret_cast<const unsigned char*>(results.data());
  bytes.insert(bytes.end(), data, data + results.size() * sizeof(float));
  return bytes;
}

void checkCourse(const ModelOptions& model, const BatchData<float>& batch, size_t steps) {
  checkThreadCounts({2, 3, 8}, [&] { return courseOf(model, batch, steps); });
}

}  // namespace

TEST_CASE("Products of training have the same bits with any number of threads", "[training]") {
  struct Shape {
    size_t m, n, k;
  };
  constexpr Triangle kTriangles[] = {Triangle::kNone, Triangle::kOut, Triangle::kLower, Triangle::kUpper};
  Random random(60);
  for (const auto& [m, n, k] :
       {Shape{500, 70, 140}, Shape{67, 300, 131}, Shape{40, 33, 3000}, Shape{3, 5, 0}}) {
    const std::vector<float> a = random.floats(m * k);
    const std::vector<float> b = random.floats(n * k);
    const std::vector<float> before = random.floats(m * n);
    for (const Triangle triangle : kTriangles) {
      for (const bool transposed : {false, true}) {
        for (const bool add : {false, true}) {
          checkThreads(m * n, [&](float* out) {
            std::copy(before.begin(), before.end(), out);
            product<float>(out, n, {a.data(), transposed ? m : k, transposed},
                           {b.data(), transposed ? k : n, transposed}, m, n, k, add, triangle, 20);
          });
        }
      }
    }
  }
}

TEST_CASE("Rows of training have the same bits with any number of threads", "[training]") {
  constexpr size_t kRows = 700;
  constexpr size_t kN = 75;
  Random random(61);
  const std::vector<float> x = random.floats(kRows * kN, 3);
  const std::vector<float> dout = random.floats(kRows * kN);
  const std::vector<float> weight = random.floats(kN);
  for (const bool centered : {false, true}) {
    const NormParts<const float> parts = {weight.data(), centered ? dout.data() : nullptr};
    checkThreads(kRows * (kN + 2), [&](float* out) {
      float* const mean = out + kRows * kN;
      normForward<float>(out, {mean, mean + kRows}, x.data(), parts, 1e-5f, kRows, kN);
    });
    checkThreads((kRows + 2) * kN, [&](float* out) {
      std::vector<float> normed(kRows * kN), mean(kRows), inverse(kRows);
      normForward<float>(normed.data(), {mean.data(), inverse.data()}, x.data(), parts, 1e-5f, kRows, kN);
      std::fill_n(out, (kRows + 2) * kN, 0.5f);
      float* const of_parts = out + kRows * kN;
      normBackward<float>(out, {of_parts, centered ? of_parts + kN : nullptr}, dout.data(), x.data(),
                          {mean.data(), inverse.data()}, parts, kRows, kN);
    });
  }
  for (const Activation f : {Activation::kGelu, Activation::kSilu}) {
    checkThreads(2 * x.size(),
                 [&](float* out) { activateWithSlope(f, out, out + x.size(), x.data(), x.size()); });
  }
  const BatchData<float> batch(random, kN, 1, kRows);
  for (const float* weights : {batch.weights.data(), static_cast<const float*>(nullptr)}) {
    checkThreads(x.size() + kRows + 2, [&](float* out) {
      std::copy(x.begin(), x.end(), out);
      const double loss =
          crossEntropy<float>(out, batch.targets.data(), weights, kRows, kN, {out + x.size() + 2, nullptr});
      std::memcpy(out + x.size(), &loss, sizeof loss);
    });
  }
}

TEST_CASE("A trainer has the same bits with any number of threads, for every encoding", "[training]") {
  for (auto [name, model] : everyModel()) {
    INFO(name);
    Random random(62);
    checkCourse(model, BatchData<float>(random, model.vocab, 3, 9), 3);
    // Two blocks of queries, of weights that are not kept.
    constexpr size_t kTokens = 140;
    model.position.length = kTokens;
    model.kept_tokens = kTokens - 1;
    checkCourse(model, BatchData<float>(random, model.vocab, 2, kTokens), 1);
  }
}

TEST_CASE("A trainer whose loops are long has the same bits with any number of threads", "[training]") {
  for (const PositionKind kind : {PositionKind::kRope, PositionKind::kT5, PositionKind::kShaw}) {
    ModelOptions model = smallModel(kind);
    model.vocab = 45;
    model.model_dim = 48;
    model.heads = 3;
    model.hidden_dim = 200;
    model.norm = NormKind::kLayer;
    Random random(63);
    checkCourse(model, BatchData<float>(random, model.vocab, 6, 70), 2);
  }
}

}  // namespace ropewalk::test
