// Small trainers and batches for the tests: every encoding, and sequences of random tokens.
#pragma once

#include <string>
#include <vector>

#include "catch.h"
#include "reference.h"
#include "training/trainer.h"

namespace ropewalk::test {

struct NamedModel {
  std::string name;
  training::ModelOptions options;
};

inline training::ModelOptions smallModel(training::PositionKind kind = training::PositionKind::kNone) {
  training::ModelOptions model;
  model.vocab = 5;
  model.model_dim = 8;
  model.heads = 2;
  model.layers = 2;
  model.position.kind = kind;
  model.position.length = 9;
  model.position.num_buckets = 6;
  model.position.max_distance = 5;
  model.position.max_relative = 2;
  model.position.width = 4;
  model.position.columns = 3;
  model.position.threshold = 3.3;
  model.position.base = 100;
  model.position.frequencies.base = 100;
  return model;
}

// Every encoding, both directions, and the choices that go with some of them.
inline std::vector<NamedModel> everyModel() {
  using namespace training;
  constexpr const char* kNames[] = {"none",
                                    "sinusoidal",
                                    "binary",
                                    "learned",
                                    "rope",
                                    "alibi",
                                    "t5",
                                    "kerple",
                                    "shaw",
                                    "relative_key",
                                    "relative_key_query",
                                    "m3",
                                    "pope",
                                    "forget",
                                    "fire",
                                    "sandwich",
                                    "transformer_xl",
                                    "deberta",
                                    "cope",
                                    "rope_mixed",
                                    "axial"};
  std::vector<NamedModel> models;
  for (size_t kind = 0; kind < std::size(kNames); ++kind) {
    ModelOptions model = smallModel(static_cast<PositionKind>(kind));
    models.push_back({kNames[kind], model});
    if (model.position.kind == PositionKind::kForget) continue;
    model.causal = false;
    models.push_back({std::string(kNames[kind]) + ", bidirectional", model});
  }
  const auto add = [&](const char* name, PositionKind kind, auto change) {
    ModelOptions model = smallModel(kind);
    change(model);
    models.push_back({name, model});
  };
  add("learned, multiply", PositionKind::kLearned, [](auto& m) { m.position.mode = LearnedMode::kMultiply; });
  add("learned, concatenate", PositionKind::kLearned, [](auto& m) {
    m.position.mode = LearnedMode::kConcatenate;
    m.position.position_dim = 3;
  });
  add("sinusoidal, concatenate", PositionKind::kSinusoidal, [](auto& m) {
    m.position.mode = LearnedMode::kConcatenate;
    m.position.position_dim = 4;
  });
  add("rope, interleaved, part of the head, YaRN", PositionKind::kRope, [](auto& m) {
    m.position.pairing = Pairing::kInterleaved;
    m.position.frequencies.dim = 2;
    m.position.frequencies.scaling = Scaling::kYarn;
    m.position.frequencies.factor = 4;
    m.position.frequencies.original_length = 32;
  });
  add("alibi, trainable", PositionKind::kAlibi, [](auto& m) { m.position.trainable = true; });
  add("deberta, a row for each distance", PositionKind::kDeberta, [](auto& m) {
    m.position.max_distance = 0;
    m.causal = false;
  });
  add("rope_mixed, interleaved", PositionKind::kRopeMixed,
      [](auto& m) { m.position.pairing = Pairing::kInterleaved; });
  add("GELU, layer norm", PositionKind::kRope, [](auto& m) {
    m.hidden_dim = 6;
    m.norm = NormKind::kLayer;
  });
  add("SiLU", PositionKind::kNone, [](auto& m) {
    m.hidden_dim = 6;
    m.activation = Activation::kSilu;
  });
  constexpr const char* kKernelNames[] = {"elu + 1", "relu", "exp", "cosine"};
  constexpr const char* kRotationNames[] = {"no rotation", "numerator", "both"};
  constexpr LinearKernel kKernels[] = {LinearKernel::kElu1, LinearKernel::kExp, LinearKernel::kCosine};
  for (const LinearKernel kernel : kKernels) {
    for (const LinearRotation rotation :
         {LinearRotation::kNone, LinearRotation::kNumerator, LinearRotation::kBoth}) {
      ModelOptions model = smallModel(PositionKind::kRope);
      model.attention = AttentionKind::kLinear;
      model.kernel = kernel;
      model.rotation = rotation;
      model.position.frequencies.scaling = Scaling::kLinear;
      model.position.frequencies.factor = 50;  // slow, so that no denominator comes near 0
      models.push_back({std::string("linear, ") + kKernelNames[static_cast<size_t>(kernel)] + ", " +
                            kRotationNames[static_cast<size_t>(rotation)],
                        model});
    }
  }
  return models;
}

template <class T>
struct BatchData {
  std::vector<int32_t> ids, targets;
  std::vector<T> weights;
  size_t batch, tokens;

  BatchData(Random& random, size_t vocab, size_t sequences, size_t length)
      : batch(sequences), tokens(length) {
    const auto last = static_cast<int64_t>(vocab) - 1;
    for (size_t i = 0; i < batch * tokens; ++i) {
      ids.push_back(static_cast<int32_t>(random.between(0, last)));
      targets.push_back(static_cast<int32_t>(random.between(0, last)));
      weights.push_back(static_cast<T>(random.between(0, 3)) / 2);
    }
    weights[0] = 1;
  }

  training::Sequences sequences() const { return {ids.data(), batch, tokens}; }
  training::Batch<T> view() const { return {sequences(), targets.data(), weights.data()}; }
};

template <class T>
training::Trainer<T> trainerOf(const training::ModelOptions& model, uint64_t seed = 1,
                               const training::OptimizerOptions& optimizer = {}) {
  training::Trainer<T> trainer;
  REQUIRE(trainer.create({model, optimizer, seed}) == Status::kOk);
  return trainer;
}

template <class T>
std::vector<unsigned char> stateOf(const training::Trainer<T>& trainer) {
  std::vector<unsigned char> bytes(trainer.stateBytes());
  trainer.save(bytes.data());
  return bytes;
}

}  // namespace ropewalk::test
