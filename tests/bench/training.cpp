// Steps per second of the trainer, for models of the sizes that experiments in a page have.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "training/trainer.h"

namespace {

using namespace ropewalk::training;
using ropewalk::Status;

struct Experiment {
  const char* name;
  size_t vocab, model_dim, heads, layers, hidden_dim, batch, tokens;
  bool causal;
  AttentionKind attention;
  PositionKind position;
};

constexpr Experiment kExperiments[] = {
    {"order, bidirectional, RoPE", 16, 32, 2, 1, 0, 32, 32, false, AttentionKind::kSoftmax,
     PositionKind::kRope},
    {"induction, RoPE", 32, 32, 2, 2, 0, 32, 48, true, AttentionKind::kSoftmax, PositionKind::kRope},
    {"length, RoPE", 16, 32, 4, 2, 0, 32, 32, true, AttentionKind::kSoftmax, PositionKind::kRope},
    {"length, Shaw", 16, 32, 4, 2, 0, 32, 32, true, AttentionKind::kSoftmax, PositionKind::kShaw},
    {"length, T5", 16, 32, 4, 2, 0, 32, 32, true, AttentionKind::kSoftmax, PositionKind::kT5},
    {"linear attention, RoPE", 16, 32, 2, 2, 0, 32, 32, true, AttentionKind::kLinear, PositionKind::kRope},
    {"text, RoPE", 64, 64, 4, 2, 256, 16, 64, true, AttentionKind::kSoftmax, PositionKind::kRope}};

// Steps per second in the quickest of five rounds; 0 where a step was not made.
double stepsPerSecond(const Experiment& experiment) {
  TrainerOptions options;
  ModelOptions& model = options.model;
  model.vocab = experiment.vocab;
  model.model_dim = experiment.model_dim;
  model.heads = experiment.heads;
  model.layers = experiment.layers;
  model.hidden_dim = experiment.hidden_dim;
  model.causal = experiment.causal;
  model.attention = experiment.attention;
  model.rotation = LinearRotation::kNumerator;
  model.position.kind = experiment.position;
  Trainer<float> trainer;
  if (trainer.create(options) != Status::kOk) return 0;
  std::vector<int32_t> ids(experiment.batch * experiment.tokens);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>((i * i + i / 7) % experiment.vocab);
  const Batch<float> batch = {{ids.data(), experiment.batch, experiment.tokens}, ids.data(), nullptr};
  if (!trainer.step(batch).made()) return 0;
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    std::chrono::duration<double> passed{};
    size_t steps = 0;
    for (; passed.count() < 0.5; ++steps) {
      if (!trainer.step(batch).made()) return 0;
      passed = std::chrono::steady_clock::now() - start;
    }
    best = std::max(best, static_cast<double>(steps) / passed.count());
  }
  return best;
}

}  // namespace

int main() {
  for (const Experiment& experiment : kExperiments)
    std::printf("%-28s %8.1f steps/s\n", experiment.name, stepsPerSecond(experiment));
  return EXIT_SUCCESS;
}
